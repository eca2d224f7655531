package schema

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/text"

	"github.com/indusagi/indus/internal/jsontree"
)

// CheckHidden reports characters that a model reads but no person sees, in a tool's description and in every string and
// name of its schema. These are control characters other than line feed and tab, and characters that change the
// direction of text. Invisible characters count too, unless a script or an emoji needs them. No provider refuses such
// characters. Paths lead into the schema; "" is the description.
func CheckHidden(description string, raw json.RawMessage) []Finding {
	c := &checker{}
	c.checkHiddenText(description, nil)
	if top, err := readTree(raw); err == nil {
		c.checkHidden(top)
	}
	return c.findings
}

func (c *checker) checkHidden(t *node) {
	c.checkHiddenText(contentOf(t), t)
	for _, e := range t.Elems {
		c.checkHidden(e)
	}
	for _, m := range t.Fields {
		c.checkHiddenText(m.Name, m.Value)
		c.checkHidden(m.Value)
	}
}

var sourceHidden = asConservative(documentedAt("https://www.unicode.org/reports/tr36/"))

func (c *checker) checkHiddenText(s string, at *node) {
	if _, hidden := text.Visible(s); hidden != nil {
		c.reportAs(at, RuleHidden, sourceHidden, "%s that no reader sees, U+%04X first", countNoun(len(hidden), "character"),
			hidden[0])
	}
}

// CheckTool reports the faults for which the profile's consumer would refuse a tool's name or description. It returns
// nil if the consumer accepts both. It does not report hidden characters; see [CheckHidden]. Paths are "". Original and
// Seed have no rules.
func CheckTool(name, description string, p *Profile) []Finding {
	if p == nil || p.transform != nil {
		return nil
	}
	c := &checker{rules: p.Rules()}
	if fault := c.rules.Tool.Name.fault(name); fault != "" {
		c.report(nil, RuleName, "the tool's name %s", fault)
	}
	c.description(description)
	return c.findings
}

// CheckCount adds a finding if n tools exceed the limit of one request to the profile's consumer.
func CheckCount(n int, p *Profile) []Finding {
	c := &checker{rules: p.Rules()}
	if limit := c.rules.Tool.MaxTools; limit > 0 && n > limit {
		c.report(nil, RuleCount,
			"there are %d tools; one request has %d at most: allow or deny tools for each server, or configure fewer servers",
			n, limit)
	}
	return c.findings
}

// CheckRequest checks all tools of one request against the limits of the profile's consumer, given their adapted
// schemas. It checks the number of tools and the totals in [ProviderLimits].
func CheckRequest(schemas []json.RawMessage, p *Profile) []Finding {
	c := &checker{rules: p.Rules()}
	c.request(schemas)
	found := append(CheckCount(len(schemas), p), c.findings...)
	c.findings = nil
	if !c.rules.Limits.Together {
		return found
	}
	for _, raw := range schemas {
		each := &checker{rules: c.rules, circular: map[*node]bool{}}
		if top, err := readTree(raw); err == nil {
			each.Document = jsontree.NewDocument(top)
			each.schema(top, position{root: true})
		}
		c.sum.optional += each.sum.optional
		c.sum.unions += each.sum.unions
	}
	c.counts("the tools of the request have", []limitedCount{
		{c.sum.optional, c.rules.Limits.Optional, "properties that are not required"},
		{c.sum.unions, c.rules.Limits.Unions, "schemas with anyOf or a list of types"},
	})
	return append(found, c.findings...)
}

// request checks the total size of the schemas of all tools.
func (c *checker) request(schemas []json.RawMessage) {
	limit, size := c.rules.Limits.Request, 0
	if limit == 0 {
		return
	}
	for _, raw := range schemas {
		size += compactSize(raw)
	}
	if size > limit {
		c.report(nil, RuleRequest, "the schemas of all tools have %d bytes, and become one grammar; %d are accepted: "+
			"allow or deny tools for each server, or configure fewer servers", size, limit)
	}
}

// CheckGrowth reports an adapted schema that is larger than its original by more than half and by more than 4 KB. Every
// request to a model contains the schema. No provider refuses it. The message gives sizes in tokens, estimated at four
// bytes each.
func CheckGrowth(original, adapted json.RawMessage) []Finding {
	before, after := compactSize(original), compactSize(adapted)
	c := &checker{}
	if growsBeyond(before, after, referenceLevels[0].percent) {
		c.reportAs(nil, RuleSize, sourceGrowth, "the schema grows from about %d to %d tokens for models",
			before/text.BytesPerToken, after/text.BytesPerToken)
	}
	return c.findings
}

var sourceGrowth = asConservative(documentedAt("https://github.com/indusagi/indus/blob/main/docs/context.md"))

func (c *checker) description(text string) {
	if !utf8.ValidString(text) {
		c.reportAs(nil, RuleDescription, sourceJSON, "the description is not UTF-8")
	}
	n, rules := utf8.RuneCountInString(text), c.rules.Tool
	if n < rules.MinDescription {
		// no provider requires more
		c.report(nil, RuleDescription, "the description is empty; it must have a character at least")
	}
	if rules.MaxDescription > 0 && n > rules.MaxDescription {
		c.report(nil, RuleDescription, "the description has %d characters; %d are accepted", n, rules.MaxDescription)
	}
}

// fault describes the fault of a name. It is "" if the name follows the grammar.
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

// hasByte reports whether a class such as "a-zA-Z_" contains b.
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
