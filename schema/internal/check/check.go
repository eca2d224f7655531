// Package check finds the parts of a tool's schema, name and description that a consumer would refuse. It decides by a
// [rule.Set] alone and imports nothing of the code that adapts schemas, so that each can find the faults of the other.
//
// Any number of goroutines may call any function at once. No function changes its arguments. A schema must be within
// the default limits of the package schema, which bounds the recursion. The functions return findings and no errors.
package check

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/schema/rule"
)

// node is a value of a schema, and field is a member of an object.
type (
	node  = jsontree.Node
	field = jsontree.Field
)

// Limits of the report on one schema. They are enough for a reader and bound the report on an untrusted schema.
const (
	maxFindings     = 1_000
	maxFindingsText = 1 << 20 // total bytes of paths and messages
)

// SourceJSON is the source of the rules that come from JSON, and from no provider.
var SourceJSON = rule.Source{At: "https://www.rfc-editor.org/rfc/rfc8259", Class: rule.Documented}

// Schema checks the schema top, which was read from raw. If rules is nil, top must only be an object.
func Schema(top *jsontree.Node, raw []byte, rules *rule.Set) []rule.Finding {
	c := newChecker(top, rules)
	if top.Kind != '{' {
		c.reportAs(nil, rule.JSON, SourceJSON, "the schema is %s; one JSON object is accepted", describeValue(top))
		return c.findings
	}
	if rules == nil {
		return nil
	}
	if wire.HasLoneSurrogate(raw) {
		c.checkSurrogates(top)
	}
	if rules.NoRecursion {
		c.cycles = c.findCycles()
	}
	c.schema(top, position{root: true})
	c.totals(raw)
	return c.findings
}

// checker checks one schema against one profile.
type checker struct {
	*jsontree.Document
	rules  *rule.Set
	cycles map[*node]bool // schemas with a $ref to a schema around them

	circular map[*node]bool // whether a visited reference belongs to an endless chain

	findings []rule.Finding
	text     int // bytes of paths and messages
	sum      sums
}

func newChecker(top *node, rules *rule.Set) *checker {
	return &checker{Document: jsontree.NewDocument(top), rules: rules, circular: map[*node]bool{}}
}

// checkSurrogates reports halves of surrogate pairs in strings and names.
func (c *checker) checkSurrogates(t *node) {
	source := cmp.Or(c.rules.Sources[rule.JSON], rule.Source{At: SourceJSON.At, Class: rule.Conservative})
	report := func(at *node) {
		c.reportAs(at, rule.JSON, source, "half a surrogate pair, which is no character; whole ones are accepted")
	}
	if t.Kind == '"' && wire.HasLoneSurrogate(t.Text) {
		report(t)
	}
	for _, e := range t.Elems {
		c.checkSurrogates(e)
	}
	for _, m := range t.Fields {
		if wire.HasLoneSurrogate(m.Key) {
			report(m.Value)
		}
		c.checkSurrogates(m.Value)
	}
}

// isFull reports whether the report has reached its limit.
func (c *checker) isFull() bool { return len(c.findings) >= maxFindings || c.text >= maxFindingsText }

// report adds a finding about a value of the schema. If the value is nil, the finding is about the whole.
func (c *checker) report(at *node, broken rule.Rule, format string, args ...any) {
	c.reportAs(at, broken, c.rules.Sources[broken], format, args...)
}

func (c *checker) reportAs(at *node, broken rule.Rule, s rule.Source, format string, args ...any) {
	if !c.isFull() { // saves formatting
		c.add(s.Finding(pathOf(at), broken, fmt.Sprintf(format, args...)))
	}
}

func (c *checker) add(f rule.Finding) {
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
	return strings.ToValidUTF8(at.Path(), "\uFFFD")
}
