package schema

import (
	"slices"
	"strconv"
	"strings"
)

// lacks finds what a schema does not say and must.
func (c *checker) lacks(t *node, at *spot, p position) {
	r := c.rules
	types := t.types()
	object := slices.Contains(types, "object")
	switch {
	case t.get("type") != nil:
	case p.root && r.RootObject:
		c.find(at, RuleRoot, `the root has no type; it must be "object"`)
	case r.TypeAlways && !c.typedElsewhere(t, p):
		c.find(at, RuleType, "the schema has no type; it must have one, or anyOf whose branches have one")
	}
	if t.get("properties") == nil && (r.ObjectProperties && object || p.root && r.RootProperties) {
		rule := RuleObjects
		if p.root {
			rule = RuleProperties
		}
		c.find(at, rule, "an object has no properties; it must have them, if only as {}")
	}
	if r.RequiredBeside && t.get("required") != nil && t.get("properties") == nil {
		c.find(at, RuleRequired, "required stands without properties; properties must be there, if only as {}")
	}
	if r.ArrayItems && slices.Contains(types, "array") && t.get("items") == nil {
		c.find(at, RuleItems, "an array has no items; it must have them")
	}
	if r.Closed && t.get("additionalProperties") == nil && (object || t.get("type") == nil && t.get("properties") != nil) {
		c.find(at, RuleClosed, "an object has no additionalProperties; it must be there, and false")
	}
}

// typedElsewhere reports whether the type of a schema without one is in the branches of anyOf, or in what else it takes
// that leads to schemas. Where anyOf is refused, that has been found.
func (c *checker) typedElsewhere(t *node, p position) bool {
	for _, keyword := range []string{"anyOf", "$ref", "oneOf", "allOf"} {
		if t.get(keyword) != nil && (keyword == "anyOf" || c.allowed(p).Takes(keyword)) {
			return true
		}
	}
	return false
}

// typeNamed looks at type.
func (c *checker) typeNamed(v *node, at *spot, p position) {
	if p.root && c.rules.RootObject {
		if v.content() != "object" {
			c.find(at, RuleRoot, `the root's type is %s; it must be "object"`, v.describe())
		}
		return
	}
	if c.rules.TypeSingle && v.kind == '[' {
		c.find(at, RuleType, "type is a list; one name is accepted")
	}
	names := v.strings()
	if v.kind == '"' {
		names = []string{v.content()}
	}
	for _, name := range names {
		if len(c.rules.Types) > 0 && !slices.Contains(c.rules.Types, name) {
			c.find(at, RuleType, "the type %s is not accepted; accepted are %s", shortQuote(name), sentence(c.rules.Types))
		}
	}
}

// annotates are the keywords that may be beside anyOf where types may not: they restrict nothing.
var annotates = []string{"title", "description", "default", "$id", "$defs"}

// ofTypes are the keywords that speak of some types only.
var ofTypes = map[string][]string{
	"properties": {"object"}, "required": {"object"}, "additionalProperties": {"object"}, "minProperties": {"object"},
	"maxProperties": {"object"}, "propertyOrdering": {"object"},
	"items": {"array"}, "prefixItems": {"array"}, "minItems": {"array"}, "maxItems": {"array"},
	"minLength": {"string"}, "maxLength": {"string"}, "pattern": {"string"},
	"minimum": {"number", "integer"}, "maximum": {"number", "integer"},
}

// speaksOf are the types that a keyword speaks of; empty if it speaks of all.
func speaksOf(m field) []string {
	if m.name != "format" {
		return ofTypes[m.name]
	}
	switch m.value.content() {
	case "float", "double":
		return []string{"number"}
	case "int32", "int64":
		return []string{"integer"}
	}
	return []string{"string"}
}

// beside looks at what a keyword is with.
func (c *checker) beside(t *node, m field, at *spot, p position) {
	r := c.rules
	if (r.TypeInBranches || r.UnionAlone) && m.name != "anyOf" && t.get("anyOf") != nil && c.allowed(p).Takes("anyOf") {
		switch {
		case m.name == "type" && (r.TypeInBranches || r.UnionAlone):
			c.find(at, RuleType, "type stands beside anyOf; it must stand in the branches")
		case r.UnionAlone:
			c.find(at, RuleKeyword, "%s stands beside anyOf; nothing is accepted there", shownKeyword(m.name))
		case r.TypeInBranches && !slices.Contains(annotates, m.name):
			c.find(at, RuleKeyword, "%s stands beside anyOf; accepted there are %s", shownKeyword(m.name), sentence(annotates))
		}
	}
	if speaks, types := speaksOf(m), t.types(); r.TypedKeywords && len(speaks) > 0 && len(types) > 0 {
		if !slices.ContainsFunc(types, func(name string) bool { return slices.Contains(speaks, name) }) {
			c.find(at, RuleKeyword, "%s stands beside the type %s; it is accepted beside %s", m.name, shortQuote(types[0]), sentence(speaks))
		}
	}
}

// properties looks at the names of properties, and counts them.
func (c *checker) properties(t, properties *node, at *spot, p position) {
	required := make(map[string]bool, len(properties.fields))
	for _, name := range t.get("required").strings() {
		required[name] = true
	}
	grammar := c.rules.Key
	if p.root && c.rules.RootKey != (Grammar{}) {
		grammar = c.rules.RootKey
	}
	for _, m := range properties.fields {
		c.sum.properties++
		c.sum.text += runes(m.name)
		here := at.at(m.name)
		if fault := grammar.fault(m.name); fault != "" {
			c.find(here, RuleKey, "the property's name %s", fault)
		} else if slices.Contains(c.rules.NotKeys, m.name) {
			c.find(here, RuleKey, "no property may have the name %s", shortQuote(m.name))
		}
		if required[m.name] {
			continue
		}
		c.sum.optional++
		if c.rules.RequiredAll {
			c.find(here, RuleRequired, "the property is not required; every property must be")
		}
	}
}

// required looks at the names in required.
func (c *checker) required(t, v *node, at *spot) {
	if c.rules.RequiredFilled && len(v.elems) == 0 {
		c.find(at, RuleRequired, "required is empty; it must name a property, or not be there")
	}
	if !c.rules.RequiredDeclared {
		return
	}
	declared := t.get("properties")
	for i, e := range v.elems {
		if e.kind == '"' && declared.get(e.content()) == nil {
			c.find(at.at(strconv.Itoa(i)), RuleRequired, "required names %s; properties has none of that name", e.describe())
		}
	}
}

// enum looks at the values of an enum.
func (c *checker) enum(t, v *node, at *spot) {
	r := c.rules
	c.sum.values += len(v.elems)
	length := 0
	for i, e := range v.elems {
		length += textOf(e)
		c.enumValue(t, e, at.at(strconv.Itoa(i)))
	}
	c.sum.text += length
	if len(v.elems) == 0 && (r.EnumFilled || r.TypedKeywords) {
		c.find(at, RuleEnum, "enum is empty; it must have a value")
	}
	if r.TypedKeywords && t.get("type") == nil && t.get("anyOf") == nil && !r.TypeAlways {
		c.find(at, RuleEnum, "enum stands without a type; it must stand beside one")
	}
	if limit := r.Limits.EnumText; limit > 0 && len(v.elems) > r.Limits.EnumMany && length > limit {
		c.find(at, RuleLimit, "an enum of %d values has %d characters; %d are accepted where there are more than %d values",
			len(v.elems), length, limit, r.Limits.EnumMany)
	}
}

func (c *checker) enumValue(t, e *node, at *spot) {
	r := c.rules
	types := t.types()
	fits := func(names []string) bool { return slices.ContainsFunc(names, e.hasType) }
	switch {
	case len(r.Enum) > 0 && !fits(r.Enum):
		c.find(at, RuleEnum, "enum has %s; accepted are values of type %s", e.describe(), sentence(r.Enum))
	case r.EnumFilled && e.kind == '"' && e.content() == "":
		c.find(at, RuleEnum, "enum has the empty string; it is not accepted")
	case r.TypedKeywords && len(types) > 0 && !fits(types):
		c.find(at, RuleEnum, "enum has %s beside the type %s; a value must be of the type", e.describe(), shortQuote(types[0]))
	}
}

// hasType reports whether t is of a type of JSON Schema.
func (n *node) hasType(name string) bool {
	switch name {
	case "object":
		return n.kind == '{'
	case "array":
		return n.kind == '['
	case "string":
		return n.kind == '"'
	case "number":
		return n.kind == '0'
	case "integer":
		return n.isInteger()
	case "boolean":
		return n.is("tf")
	case "null":
		return n.kind == 'n'
	}
	return false
}

// bound looks at a number that may only be one of some.
func (c *checker) bound(m field, at *spot) {
	some, ok := c.rules.Bounds[m.name]
	if !ok || m.value.kind != '0' {
		return
	}
	var names []string
	for _, n := range some {
		if numberOf(m.value) == float64(n) {
			return
		}
		names = append(names, strconv.Itoa(n))
	}
	c.find(at, RuleBound, "%s is %s; accepted are %s", m.name, m.value.describe(), sentence(names))
}

// sentence joins names for a message.
func sentence(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
