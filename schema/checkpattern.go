package schema

import "strings"

// pattern looks for what only backtracking can match.
func (c *checker) pattern(v *tree, at *spot) {
	if !c.rules.PlainPattern {
		return
	}
	if found := beyondRegular(v.text); found != "" {
		c.find(at, RulePattern, "pattern has %s; neither look-around nor a back-reference is accepted", shortQuote(found))
	}
}

// beyondRegular is the first look-around or back-reference of a regular expression, "" if it has none.
func beyondRegular(pattern string) string {
	inClass := false
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case c == '\\' && len(rest) > 1:
			if next := rest[1]; !inClass && ('1' <= next && next <= '9' || strings.HasPrefix(rest, `\k<`)) {
				return rest[:2]
			}
			i++
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
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
