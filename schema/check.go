package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"

	"github.com/indusagi/indus/internal/jsontree"
)

// What Check reports of one schema at most: enough for a person, and a bound for a stranger's schema.
const (
	maxFindings     = 1_000
	maxFindingsText = 1 << 20 // bytes of all their paths and messages
)

// Where rules come from that are this package's own or the formats', and no provider's.
var (
	sourceJSON = documentedAt("https://www.rfc-editor.org/rfc/rfc8259")
	sourceSize = asConservative(documentedAt("https://pkg.go.dev/github.com/indusagi/indus/schema#Limits"))
)

// Check finds what the profile's consumer would not accept of a schema, in the order of the document; nil where it accepts
// all of it. What concerns the schema as a whole, such as how many properties it has, is at the end, and what a schema
// lacks is before what it has.
//
// Check is written from [Profile.Rules]. It shares with [Adapt] how a schema is read and no decision, so that the one can catch
// the other. Of a keyword that is refused the inside is only asked for its form. A schema beyond [Limits] is not looked into, and after 1,000
// findings, or a mebibyte of them, Check stops. [Original] and [Seed] have no rules: they ask for a JSON object within bounds.
func Check(raw json.RawMessage, p *Profile) []Finding {
	c := &checker{rules: p.Rules(), circling: map[*node]bool{}}
	top, err := readTree(raw)
	if err != nil {
		c.unreadable(err)
		return c.findings
	}
	if top.Kind != '{' {
		c.findAs(nil, RuleJSON, sourceJSON, "the schema is %s; one JSON object is accepted", describeValue(top))
		return c.findings
	}
	if p == nil || p.transform != nil {
		return nil
	}
	if hasHalf(raw) {
		c.halves(top, nil)
	}
	c.Document = jsontree.NewDocument(top)
	if c.rules.NoRecursion {
		c.cycles = c.findCycles()
	}
	c.schema(top, nil, position{root: true})
	c.totals(raw)
	return c.findings
}

// checker looks at one schema for one profile.
type checker struct {
	*jsontree.Document
	rules  Rules
	cycles map[*node]bool // schemas with a $ref to a schema around them

	circling map[*node]bool // of the references looked at, whether they end nowhere

	findings []Finding
	text     int // bytes of their paths and messages
	sum      sums
}

// unreadable reports what Measure found.
func (c *checker) unreadable(err error) {
	if over := (*LimitError)(nil); errors.As(err, &over) {
		path := over.Pointer
		if strings.HasSuffix(path, "…") { // which leads nowhere
			path = ""
		}
		c.add(Finding{Path: path, Rule: RuleSize, Message: oneLine(err), Source: sourceSize.At, Class: sourceSize.Class})
		return
	}
	c.findAs(nil, RuleJSON, sourceJSON, "%s", oneLine(err))
}

func oneLine(err error) string { return strings.TrimPrefix(err.Error(), "schema: ") }

// halves finds halves of surrogate pairs in strings and names.
func (c *checker) halves(t *node, at *spot) {
	find := func(at *spot) {
		c.findAs(at, RuleJSON, cmp.Or(c.rules.Sources[RuleJSON], asConservative(sourceJSON)), "half a surrogate pair, which is no character; whole ones are accepted")
	}
	if t.Kind == '"' && hasHalf(t.Text) {
		find(at)
	}
	for i, e := range t.Elems {
		c.halves(e, at.at(strconv.Itoa(i)))
	}
	for _, m := range t.Fields {
		if hasHalf(m.Key) {
			find(at.at(m.Name))
		}
		c.halves(m.Value, at.at(m.Name))
	}
}

// full reports whether enough has been found.
func (c *checker) full() bool { return len(c.findings) >= maxFindings || c.text >= maxFindingsText }

func (c *checker) find(at *spot, rule Rule, format string, args ...any) {
	c.findAs(at, rule, c.rules.Sources[rule], format, args...)
}

func (c *checker) findAs(at *spot, rule Rule, s Source, format string, args ...any) {
	if !c.full() { // which saves formatting
		c.add(Finding{Path: at.path(), Rule: rule, Message: fmt.Sprintf(format, args...), Source: s.At, Class: s.Class, Date: s.Date})
	}
}

func (c *checker) add(f Finding) {
	if !c.full() {
		c.text += len(f.Path) + len(f.Message)
		c.findings = append(c.findings, f)
	}
}

// spot is a place in the schema. nil is the root.
type spot struct {
	up   *spot
	step string
}

func (s *spot) at(step string) *spot { return &spot{up: s, step: step} }

// path is the JSON Pointer (RFC 6901) of s.
func (s *spot) path() string {
	var steps []string
	for ; s != nil; s = s.up {
		steps = append(steps, s.step)
	}
	slices.Reverse(steps)
	return wholeText(text.Pointer(steps...))
}
