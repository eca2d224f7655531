package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/indusagi/indus/internal/jsontree"
)

// Limits of Check's report on one schema. They are enough for a reader and bound the report on an untrusted schema.
const (
	maxFindings     = 1_000
	maxFindingsText = 1 << 20 // total bytes of paths and messages
)

// Sources of rules that come from this package or from the formats, and from no provider.
var (
	sourceJSON = documentedAt("https://www.rfc-editor.org/rfc/rfc8259")
	sourceSize = asConservative(documentedAt("https://pkg.go.dev/github.com/indusagi/indus/schema#Limits"))
)

// Check returns the parts of a schema that the profile's consumer would not accept, in the order of the document. It
// returns nil if the consumer accepts the schema. Faults of the whole schema, such as its number of properties, come
// last. A missing keyword is reported before the keywords of the same schema.
//
// Check is written from [Profile.Rules]. It shares with [Adapt] the code that reads schemas and rules, but no decision,
// so that each can find the faults of the other. Inside a refused keyword, Check checks only the form of values. It
// does not enter a schema beyond [Limits], and it stops after 1,000 findings or a mebibyte of findings. [Original] and
// [Seed] have no rules, so Check requires only a JSON object within bounds.
func Check(raw json.RawMessage, p *Profile) []Finding {
	c := &checker{rules: p.Rules(), circular: map[*node]bool{}}
	top, err := readTree(raw)
	if err != nil {
		c.reportUnreadable(err)
		return c.findings
	}
	if top.Kind != '{' {
		c.reportAs(nil, RuleJSON, sourceJSON, "the schema is %s; one JSON object is accepted", describeValue(top))
		return c.findings
	}
	if p == nil || p.transform != nil {
		return nil
	}
	if hasLoneSurrogate(raw) {
		c.checkSurrogates(top)
	}
	c.Document = jsontree.NewDocument(top)
	if c.rules.NoRecursion {
		c.cycles = c.findCycles()
	}
	c.schema(top, position{root: true})
	c.totals(raw)
	return c.findings
}

// checker checks one schema against one profile.
type checker struct {
	*jsontree.Document
	rules  Rules
	cycles map[*node]bool // schemas with a $ref to a schema around them

	circular map[*node]bool // whether a visited reference belongs to an endless chain

	findings []Finding
	text     int // bytes of paths and messages
	sum      sums
}

// reportUnreadable reports the error of Measure.
func (c *checker) reportUnreadable(err error) {
	if limitErr := (*LimitError)(nil); errors.As(err, &limitErr) {
		path := limitErr.Pointer
		if strings.HasSuffix(path, "…") { // a clipped pointer leads nowhere
			path = ""
		}
		c.add(Finding{Path: path, Rule: RuleSize, Message: oneLine(err), Source: sourceSize.At, Class: sourceSize.Class})
		return
	}
	c.reportAs(nil, RuleJSON, sourceJSON, "%s", oneLine(err))
}

func oneLine(err error) string { return strings.TrimPrefix(err.Error(), "schema: ") }

// checkSurrogates reports halves of surrogate pairs in strings and names.
func (c *checker) checkSurrogates(t *node) {
	report := func(at *node) {
		c.reportAs(at, RuleJSON, cmp.Or(c.rules.Sources[RuleJSON], asConservative(sourceJSON)),
			"half a surrogate pair, which is no character; whole ones are accepted")
	}
	if t.Kind == '"' && hasLoneSurrogate(t.Text) {
		report(t)
	}
	for _, e := range t.Elems {
		c.checkSurrogates(e)
	}
	for _, m := range t.Fields {
		if hasLoneSurrogate(m.Key) {
			report(m.Value)
		}
		c.checkSurrogates(m.Value)
	}
}

// isFull reports whether the report has reached its limit.
func (c *checker) isFull() bool { return len(c.findings) >= maxFindings || c.text >= maxFindingsText }

// report adds a finding about a value of the schema. If the value is nil, the finding is about the whole.
func (c *checker) report(at *node, rule Rule, format string, args ...any) {
	c.reportAs(at, rule, c.rules.Sources[rule], format, args...)
}

func (c *checker) reportAs(at *node, rule Rule, s Source, format string, args ...any) {
	if !c.isFull() { // saves formatting
		c.add(Finding{Path: pathOf(at), Rule: rule, Message: fmt.Sprintf(format, args...), Source: s.At, Class: s.Class,
			Date: s.Date})
	}
}

func (c *checker) add(f Finding) {
	if !c.isFull() {
		c.text += len(f.Path) + len(f.Message)
		c.findings = append(c.findings, f)
	}
}

// pathOf returns the JSON Pointer (RFC 6901) of a value, or "" for nil.
func pathOf(at *node) string {
	if at == nil {
		return ""
	}
	return validText(at.Path())
}
