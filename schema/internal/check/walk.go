package check

import (
	"slices"
	"unicode/utf8"

	"github.com/indusagi/indus/schema/rule"
)

// position is the place of a schema.
type position struct {
	root     bool
	depth    int  // number of objects and arrays around it
	formOnly bool // it is inside a refused keyword, so only forms are checked
	closing  bool // it is the value of a closing keyword, in which true and false are accepted
}

// schema checks one schema and all schemas inside it.
func (c *checker) schema(t *node, p position) {
	if c.isFull() {
		return
	}
	switch t.Kind {
	case '{':
	case 't', 'f':
		if !c.rules.Booleans && !p.formOnly && !p.closing {
			c.report(t, rule.Boolean, "%s stands for a schema; an object is accepted", describeValue(t))
		}
		return
	default:
		c.report(t, rule.Form, "%s stands where a schema belongs; draft 2020-12 takes an object, true or false",
			describeValue(t))
		return
	}
	if !p.formOnly {
		c.checkMissing(t, p)
		p.depth = c.depth(t, p.depth)
	}
	for _, m := range t.Fields {
		c.keyword(t, m, p)
	}
}

// keyword checks one member of the schema t.
func (c *checker) keyword(t *node, m field, p position) {
	if !p.formOnly && !c.accepts(m, p) {
		if c.rules.Ignores {
			return
		}
		p.formOnly = true
	} else if c.hasForm(m.Name, m.Value) && !p.formOnly {
		c.checkNeighbors(t, m, p)
		c.value(t, m, p)
	}
	p.root = false
	p.closing = slices.Contains(closingKeywords, m.Name)
	if m.Name == "$defs" || m.Name == "definitions" {
		p.depth = 0
	}
	for _, child := range subschemas(m) {
		c.schema(child, p)
	}
}

var closingKeywords = []string{"additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems"}

// allowed returns the keywords accepted at the position.
func (c *checker) allowed(p position) rule.Keywords {
	if p.root {
		return c.rules.Root
	}
	return c.rules.Nested
}

// accepts reports whether the keyword is accepted, and adds a finding if not.
func (c *checker) accepts(m field, p position) bool {
	allowed, place := c.allowed(p), "there"
	if allowed.Takes(m.Name) {
		return true
	}
	if p.root {
		place = "at the root"
	}
	message := shownKeyword(m.Name) + " cannot stand " + place
	if c.rules.Ignores {
		message = shownKeyword(m.Name) + " is dropped " + place
	}
	if len(allowed.Only) > 0 {
		message += "; accepted are " + joinNames(allowed.Only)
	}
	broken := rule.Unlisted
	if slices.Contains(allowed.Never, m.Name) || p.root && c.rules.RootListed {
		broken = rule.Keyword
	}
	f := c.rules.Sources[broken].Finding(pathOf(m.Value), broken, message)
	f.Ignored = c.rules.Ignores
	c.add(f)
	return false
}

// value checks the value of a keyword. The value must have the right form.
func (c *checker) value(t *node, m field, p position) {
	switch m.Name {
	case "type":
		c.typeNamed(m.Value, p)
	case "properties":
		c.properties(t, m.Value, p)
	case "required":
		c.required(t, m.Value)
	case "additionalProperties":
		if c.rules.Closed && m.Value.Kind != 'f' {
			c.report(m.Value, rule.Closed, "additionalProperties is %s; it must be false", describeValue(m.Value))
		}
	case "items":
		if c.rules.ArrayItems && m.Value.Kind == '[' {
			c.report(m.Value, rule.Items, "items is a list; one schema is accepted")
		}
	case "enum":
		c.enum(t, m.Value)
	case "const":
		c.sum.text += m.Value.Characters()
	case "format":
		if len(c.rules.Formats) > 0 && !slices.Contains(c.rules.Formats, m.Value.ValidText()) {
			c.report(m.Value, rule.Format, "the format %s is not accepted; accepted are %s", describeValue(m.Value),
				joinNames(c.rules.Formats))
		}
	case "pattern":
		c.pattern(m.Value)
	case "$ref":
		c.ref(t, m.Value)
	case "anyOf", "oneOf":
		c.branches(m)
	case "$defs", "definitions":
		for _, d := range m.Value.Fields {
			c.sum.text += utf8.RuneCountInString(d.Name)
		}
	}
	c.bound(m)
	c.repeats(m)
}
