package schema

import "strings"

// pattern checks a pattern for constructs that only a backtracking engine can match.
func (c *checker) pattern(v *node) {
	r := c.rules
	if found := unsupportedSyntax(contentOf(v), r.RustPattern); r.PlainPattern && found != "" {
		expected := "neither look-around nor a back-reference is accepted"
		if r.RustPattern {
			expected = `no look-around, no back-reference, no \0 and no [ in a class is accepted`
		}
		c.report(v, RulePattern, "pattern has %s; %s", shortQuote(found), expected)
	} else if r.AnchoredPattern && !(len(contentOf(v)) > 1 && contentOf(v)[0] == '^' &&
		contentOf(v)[len(contentOf(v))-1] == '$') {
		c.report(v, RulePattern, "pattern is %s; it must begin with ^ and end with $", describeValue(v))
	}
}

// unsupportedSyntax returns the first look-around or back-reference of a regular expression, or "". If rust is set, the
// first \0 and the first class within a class count too.
func unsupportedSyntax(pattern string, rust bool) string {
	inClass := false
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case c == '\\' && len(rest) > 1:
			if next := rest[1]; !inClass && ('1' <= next && next <= '9' || strings.HasPrefix(rest, `\k<`)) {
				return rest[:2]
			} else if rust && next == '0' {
				return rest[:2]
			}
			i++
		case inClass && c == '[' && rust:
			return "["
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
			if strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]") { // a leading ] is literal
				i += strings.IndexByte(rest, ']')
			}
		case c == '(':
			for _, opening := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
				if strings.HasPrefix(rest, opening) {
					return opening
				}
			}
		}
	}
	return ""
}
