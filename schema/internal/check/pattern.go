package check

import "github.com/indusagi/indus/schema/rule"

// pattern checks a pattern for constructs that only a backtracking engine can match.
func (c *checker) pattern(v *node) {
	r := c.rules
	if found := r.Unsupported(v.ValidText()); found != "" {
		expected := "neither look-around nor a back-reference is accepted"
		if r.RustPattern {
			expected = `no look-around, no back-reference, no \0 and no [ in a class is accepted`
		}
		c.report(v, rule.Pattern, "pattern has %s; %s", shortQuote(found), expected)
	} else if r.AnchoredPattern && !(len(v.ValidText()) > 1 && v.ValidText()[0] == '^' &&
		v.ValidText()[len(v.ValidText())-1] == '$') {
		c.report(v, rule.Pattern, "pattern is %s; it must begin with ^ and end with $", describeValue(v))
	}
}
