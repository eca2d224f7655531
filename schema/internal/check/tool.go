package check

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/schema/rule"
)

// Hidden reports characters that no person sees, in a description and in a schema. The schema may be nil.
func Hidden(description string, schema *jsontree.Node) []rule.Finding {
	c := &checker{}
	c.checkHiddenText(description, nil)
	if schema != nil {
		c.checkHidden(schema)
	}
	return c.findings
}

func (c *checker) checkHidden(t *node) {
	c.checkHiddenText(t.ValidText(), t)
	for _, e := range t.Elems {
		c.checkHidden(e)
	}
	for _, m := range t.Fields {
		c.checkHiddenText(m.Name, m.Value)
		c.checkHidden(m.Value)
	}
}

var sourceHidden = rule.Source{At: "https://www.unicode.org/reports/tr36/", Class: rule.Conservative}

func (c *checker) checkHiddenText(s string, at *node) {
	if _, hidden := text.Visible(s); hidden != nil {
		c.reportAs(at, rule.Hidden, sourceHidden, "%s that no reader sees, U+%04X first",
			signature.Count(strconv.Itoa(len(hidden)), "character"), hidden[0])
	}
}

// Tool checks a tool's name and description.
func Tool(name, description string, rules *rule.Set) []rule.Finding {
	c := &checker{rules: rules}
	if fault := nameFault(rules.Tool.Name, name); fault != "" {
		c.report(nil, rule.Name, "the tool's name %s", fault)
	}
	c.description(description)
	return c.findings
}

// Count checks the number of tools of one request.
func Count(n int, rules *rule.Set) []rule.Finding {
	c := &checker{rules: rules}
	if limit := rules.Tool.MaxTools; limit > 0 && n > limit {
		c.report(nil, rule.Count,
			"there are %d tools; one request has %d at most: allow or deny tools for each server, or configure fewer servers",
			n, limit)
	}
	return c.findings
}

// Request checks the totals of one request, without the number of tools. The trees hold the readable schemas. They are
// used only if rules.Limits.Together is set.
func Request(schemas []json.RawMessage, trees []*jsontree.Node, rules *rule.Set) []rule.Finding {
	c := &checker{rules: rules}
	c.request(schemas)
	if !rules.Limits.Together {
		return c.findings
	}
	for _, top := range trees {
		each := newChecker(top, rules)
		each.schema(top, position{root: true})
		c.sum.optional += each.sum.optional
		c.sum.unions += each.sum.unions
	}
	c.counts("the tools of the request have", []limitedCount{
		{c.sum.optional, c.rules.Limits.Optional, "properties that are not required"},
		{c.sum.unions, c.rules.Limits.Unions, "schemas with anyOf or a list of types"},
	})
	return c.findings
}

// request checks the total size of the schemas of all tools.
func (c *checker) request(schemas []json.RawMessage) {
	limit, size := c.rules.Limits.Request, 0
	if limit == 0 {
		return
	}
	for _, raw := range schemas {
		size += jsontree.CompactSize(raw)
	}
	if size > limit {
		c.report(nil, rule.Request, "the schemas of all tools have %d bytes, and become one grammar; %d are accepted: "+
			"allow or deny tools for each server, or configure fewer servers", size, limit)
	}
}

func (c *checker) description(text string) {
	if !utf8.ValidString(text) {
		c.reportAs(nil, rule.Description, SourceJSON, "the description is not UTF-8")
	}
	n, rules := utf8.RuneCountInString(text), c.rules.Tool
	if n < rules.MinDescription {
		// no provider requires more
		c.report(nil, rule.Description, "the description is empty; it must have a character at least")
	}
	if rules.MaxDescription > 0 && n > rules.MaxDescription {
		c.report(nil, rule.Description, "the description has %d characters; %d are accepted", n, rules.MaxDescription)
	}
}

// nameFault describes the fault of a name. It is "" if the name follows the grammar.
func nameFault(g rule.Grammar, name string) string {
	switch {
	case g == rule.Grammar{}:
		return ""
	case name == "":
		return "is empty"
	case !g.Has(0, name[0]):
		first, _ := utf8.DecodeRuneInString(name)
		return fmt.Sprintf("%s begins with %q; it must begin with one of %s", shortQuote(name), first, g.First)
	}
	for _, r := range name {
		if r >= utf8.RuneSelf || !g.Has(1, byte(r)) {
			return fmt.Sprintf("%s has %q; accepted are %s", shortQuote(name), r, g.Rest)
		}
	}
	if n := len(name); g.Max > 0 && n > g.Max {
		return fmt.Sprintf("%s has %d characters; %d are accepted", shortQuote(name), n, g.Max)
	}
	return ""
}
