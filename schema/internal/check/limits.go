package check

import (
	"slices"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/schema/rule"
)

// sums holds the counts for the whole schema.
type sums struct {
	properties, values, text, optional, unions int
}

// depth returns the depth of t, counted in objects and arrays. It adds a finding for the first schema that is too deep.
func (c *checker) depth(t *node, around int) int {
	types := namedTypes(t)
	if list := t.Get("type").Is("["); list || t.Get("anyOf").Is("[") {
		c.sum.unions++
	}
	nests := slices.Contains(types, "object") || slices.Contains(types, "array") ||
		len(types) == 0 && (t.Get("properties") != nil || t.Get("items") != nil)
	if !nests {
		return around
	}
	if limit := c.rules.Limits.Depth; limit > 0 && around == limit {
		c.report(t, rule.Limit, "an object or array stands %d deep; %d is accepted", around+1, limit)
	}
	return around + 1
}

// branches checks the number of branches of a union.
func (c *checker) branches(m field) {
	if limit := c.rules.Limits.Branches; limit > 0 && len(m.Value.Elems) > limit {
		c.report(m.Value, rule.Limit, "%s has %d branches; %d are accepted", m.Name, len(m.Value.Elems), limit)
	}
}

// totals adds a finding for each count of the whole schema that exceeds its limit.
func (c *checker) totals(raw []byte) {
	limits := c.rules.Limits
	size := 0
	if limits.Bytes > 0 {
		size = jsontree.CompactSize(raw)
	}
	c.counts("the schema has", []limitedCount{
		{c.sum.properties, limits.Properties, "properties"},
		{c.sum.values, limits.EnumValues, "values in all enums"},
		{c.sum.text, limits.Text, "characters in the names of properties and definitions, enum and const"},
		{c.sum.optional, limits.Optional, "properties that are not required"},
		{c.sum.unions, limits.Unions, "schemas with anyOf or a list of types"},
		{size, limits.Bytes, "bytes"},
	})
}

type limitedCount struct {
	found, limit int
	noun         string
}

func (c *checker) counts(subject string, all []limitedCount) {
	for _, s := range all {
		if s.limit > 0 && s.found > s.limit {
			c.report(nil, rule.Limit, "%s %d %s; %d are accepted", subject, s.found, s.noun, s.limit)
		}
	}
}

// repeats checks a bound on lengths. A consumer that builds a grammar repeats a rule as often as the bound requires.
func (c *checker) repeats(m field) {
	limit := c.rules.Limits.Repeat(m.Name)
	if limit > 0 && m.Value.Kind == '0' && m.Value.Number() > float64(limit) {
		c.report(m.Value, rule.Limit, "%s is %s; %d is accepted", m.Name, describeValue(m.Value), limit)
	}
}
