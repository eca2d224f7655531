package schema

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sourceText is why characters that nobody sees are told of, for every profile.
const sourceText = "https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing"

// CheckTool finds what the profile's consumer would not accept of a tool's name and description, nil where it accepts both.
// In a description it also tells of what no reader sees: invalid UTF-8, control characters other than line feed and tab, and
// the characters that change the direction of text. Paths are "". Original and Seed have no rules.
func CheckTool(name, description string, p *Profile) []Finding {
	if p == nil || p.whole != nil {
		return nil
	}
	c := &checker{rules: p.Rules()}
	if fault := c.rules.Tool.Name.fault(name); fault != "" {
		c.find(nil, RuleName, "the tool's name %s", fault)
	}
	c.description(description)
	return c.findings
}

// CheckCount finds whether n tools are more than one request to the profile's consumer may have.
func CheckCount(n int, p *Profile) []Finding {
	c := &checker{rules: p.Rules()}
	if limit := c.rules.Tool.MaxTools; limit > 0 && n > limit {
		c.find(nil, RuleCount, "there are %d tools; one request has %d at most: allow or deny tools for each server, or configure fewer servers",
			n, limit)
	}
	return c.findings
}

func (c *checker) description(text string) {
	if !utf8.ValidString(text) {
		c.findAs(nil, RuleDescription, sourceJSON, "the description is not UTF-8")
	}
	if r, ok := firstOf(text, isHiddenControl); ok {
		c.findAs(nil, RuleDescription, sourceText, "the description has the control character U+%04X", r)
	}
	if r, ok := firstOf(text, isBidirectional); ok {
		c.findAs(nil, RuleDescription, sourceText, "the description has U+%04X, which changes the direction of text", r)
	}
	n, rules := utf8.RuneCountInString(text), c.rules.Tool
	if n < rules.MinDescription {
		c.find(nil, RuleDescription, "the description is empty; it must have %s", plural(rules.MinDescription))
	}
	if rules.MaxDescription > 0 && n > rules.MaxDescription {
		c.find(nil, RuleDescription, "the description has %d characters; %d are accepted", n, rules.MaxDescription)
	}
}

func plural(characters int) string {
	if characters == 1 {
		return "a character at least"
	}
	return fmt.Sprintf("%d characters at least", characters)
}

func firstOf(text string, is func(rune) bool) (rune, bool) {
	i := strings.IndexFunc(text, is)
	if i < 0 {
		return 0, false
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return r, true
}

func isHiddenControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// isBidirectional reports whether r is one of the characters with Bidi_Control.
func isBidirectional(r rune) bool {
	return '\u202A' <= r && r <= '\u202E' || '\u2066' <= r && r <= '\u2069' || r == '\u200E' || r == '\u200F' || r == '\u061C'
}

// fault says what is wrong with a name, "" if it follows the grammar.
func (g Grammar) fault(name string) string {
	switch {
	case g == Grammar{}:
		return ""
	case name == "":
		return "is empty"
	case !hasByte(g.First, name[0]):
		first, _ := utf8.DecodeRuneInString(name)
		return fmt.Sprintf("%s begins with %q; it must begin with one of %s", shortQuote(name), first, g.First)
	}
	for _, r := range name {
		if r >= utf8.RuneSelf || !hasByte(g.Rest, byte(r)) {
			return fmt.Sprintf("%s has %q; accepted are %s", shortQuote(name), r, g.Rest)
		}
	}
	if n := len(name); g.Max > 0 && n > g.Max {
		return fmt.Sprintf("%s has %d characters; %d are accepted", shortQuote(name), n, g.Max)
	}
	return ""
}

// hasByte reports whether a class such as "a-zA-Z_" has b.
func hasByte(class string, b byte) bool {
	for i := 0; i < len(class); i++ {
		if i+2 < len(class) && class[i+1] == '-' {
			if class[i] <= b && b <= class[i+2] {
				return true
			}
			i += 2
			continue
		}
		if class[i] == b {
			return true
		}
	}
	return false
}
