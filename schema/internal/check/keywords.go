package check

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/schema/rule"
)

// checkMissing adds a finding for each required keyword that a schema does not have.
func (c *checker) checkMissing(t *node, p position) {
	r := c.rules
	types := namedTypes(t)
	object := slices.Contains(types, "object")
	switch {
	case t.Get("type") != nil:
	case p.root:
		c.report(t, rule.Root, `the root has no type; it must be "object"`)
	case r.TypeAlways && !c.typedElsewhere(t, p):
		c.report(t, rule.Type, "the schema has no type; it must have one, or anyOf whose branches have one")
	}
	if t.Get("properties") == nil && (r.ObjectProperties && object || p.root && r.RootProperties) {
		broken := rule.Objects
		if p.root {
			broken = rule.Properties
		}
		c.report(t, broken, "an object has no properties; it must have them, if only as {}")
	}
	if r.RequiredBeside && t.Get("required") != nil && t.Get("properties") == nil {
		c.report(t, rule.Required, "required stands without properties; properties must be there, if only as {}")
	}
	if r.ArrayItems && slices.Contains(types, "array") && t.Get("items") == nil {
		c.report(t, rule.Items, "an array has no items; it must have them")
	}
	if r.Closed && t.Get("additionalProperties") == nil && (object || t.Get("type") == nil && t.Get("properties") != nil) {
		c.report(t, rule.Closed, "an object has no additionalProperties; it must be there, and false")
	}
}

// typedElsewhere reports whether a schema without a type has it in the branches of anyOf, or in another accepted
// keyword that leads to schemas. A refused anyOf also counts, because it has its own finding.
func (c *checker) typedElsewhere(t *node, p position) bool {
	return slices.ContainsFunc([]string{"anyOf", "$ref", "oneOf", "allOf"}, func(keyword string) bool {
		return t.Get(keyword) != nil && (keyword == "anyOf" || c.allowed(p).Takes(keyword))
	})
}

// typeNamed checks the keyword type.
func (c *checker) typeNamed(v *node, p position) {
	if p.root {
		if v.ValidText() != "object" {
			c.report(v, rule.Root, `the root's type is %s; it must be "object"`, describeValue(v))
		}
		return
	}
	if c.rules.TypeSingle && v.Kind == '[' {
		c.report(v, rule.Type, "type is a list; one name is accepted")
	}
	for _, name := range typesIn(v) {
		if len(c.rules.Types) > 0 && !slices.Contains(c.rules.Types, name) {
			c.report(v, rule.Type, "the type %s is not accepted; accepted are %s", shortQuote(name),
				joinNames(c.rules.Types))
		}
	}
}

// besideAnyOf lists the keywords accepted beside anyOf in profiles that accept no types there. They restrict no value.
var besideAnyOf = []string{"title", "description", "default", "$id", "$defs"}

// keywordTypes maps keywords to the types that they apply to.
var keywordTypes = map[string][]string{
	"properties": {"object"}, "required": {"object"}, "additionalProperties": {"object"}, "minProperties": {"object"},
	"maxProperties": {"object"}, "propertyOrdering": {"object"},
	"items": {"array"}, "prefixItems": {"array"}, "minItems": {"array"}, "maxItems": {"array"},
	"minLength": {"string"}, "maxLength": {"string"}, "pattern": {"string"},
	"minimum": {"number", "integer"}, "maximum": {"number", "integer"},
}

// typesOfKeyword returns the types that a keyword applies to, or nothing if it applies to all.
func typesOfKeyword(m field) []string {
	if m.Name != "format" {
		return keywordTypes[m.Name]
	}
	switch m.Value.ValidText() {
	case "float", "double":
		return []string{"number"}
	case "int32", "int64":
		return []string{"integer"}
	}
	return []string{"string"}
}

// checkNeighbors checks a keyword against the keywords beside it.
func (c *checker) checkNeighbors(t *node, m field, p position) {
	r := c.rules
	if (r.TypeInBranches || r.UnionAlone) && m.Name != "anyOf" && t.Get("anyOf") != nil && c.allowed(p).Takes("anyOf") {
		switch {
		case m.Name == "type" && (r.TypeInBranches || r.UnionAlone):
			c.report(m.Value, rule.Type, "type stands beside anyOf; it must stand in the branches")
		case r.UnionAlone:
			c.report(m.Value, rule.Keyword, "%s stands beside anyOf; nothing is accepted there", shownKeyword(m.Name))
		case r.TypeInBranches && !slices.Contains(besideAnyOf, m.Name):
			c.report(m.Value, rule.Keyword, "%s stands beside anyOf; accepted there are %s", shownKeyword(m.Name),
				joinNames(besideAnyOf))
		}
	}
	if applicable, types := typesOfKeyword(m), namedTypes(t); r.TypedKeywords && len(applicable) > 0 && len(types) > 0 {
		if !slices.ContainsFunc(types, func(name string) bool { return slices.Contains(applicable, name) }) {
			c.report(m.Value, rule.Keyword, "%s stands beside the type %s; it is accepted beside %s", m.Name,
				shortQuote(types[0]), joinNames(applicable))
		}
	}
}

// properties counts properties and checks their names.
func (c *checker) properties(t, properties *node, p position) {
	required := make(map[string]bool, len(properties.Fields))
	for _, name := range stringsIn(t.Get("required")) {
		required[name] = true
	}
	grammar := c.rules.Key
	if p.root && c.rules.RootKey != (rule.Grammar{}) {
		grammar = c.rules.RootKey
	}
	for _, m := range properties.Fields {
		c.sum.properties++
		c.sum.text += utf8.RuneCountInString(m.Name)
		if fault := nameFault(grammar, m.Name); fault != "" {
			c.report(m.Value, rule.Key, "the property's name %s", fault)
		} else if slices.Contains(c.rules.NotKeys, m.Name) {
			c.report(m.Value, rule.Key, "no property may have the name %s", shortQuote(m.Name))
		}
		if required[m.Name] {
			continue
		}
		c.sum.optional++
		if c.rules.RequiredAll {
			c.report(m.Value, rule.Required, "the property is not required; every property must be")
		}
	}
}

// required checks the names in required.
func (c *checker) required(t, v *node) {
	if c.rules.RequiredFilled && len(v.Elems) == 0 {
		c.report(v, rule.Required, "required is empty; it must name a property, or not be there")
	}
	if !c.rules.RequiredDeclared {
		return
	}
	declared := t.Get("properties")
	for _, e := range v.Elems {
		if e.Kind == '"' && declared.Get(e.ValidText()) == nil {
			c.report(e, rule.Required, "required names %s; properties has none of that name",
				describeValue(e))
		}
	}
}

// enum checks the values of an enum.
func (c *checker) enum(t, v *node) {
	r := c.rules
	c.sum.values += len(v.Elems)
	length := 0
	for _, e := range v.Elems {
		length += e.Characters()
		c.enumValue(t, e)
	}
	c.sum.text += length
	if len(v.Elems) == 0 && (r.EnumFilled || r.TypedKeywords) {
		c.report(v, rule.Enum, "enum is empty; it must have a value")
	}
	if r.TypedKeywords && t.Get("type") == nil && t.Get("anyOf") == nil && !r.TypeAlways {
		c.report(v, rule.Enum, "enum stands without a type; it must stand beside one")
	}
	if limit := r.Limits.EnumText; limit > 0 && len(v.Elems) > r.Limits.EnumMany && length > limit {
		c.report(v, rule.Limit, "an enum of %d values has %d characters; %d are accepted where there are more than %d values",
			len(v.Elems), length, limit, r.Limits.EnumMany)
	}
}

func (c *checker) enumValue(t, e *node) {
	r := c.rules
	types := namedTypes(t)
	fits := func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return hasType(e, name) })
	}
	switch {
	case len(r.Enum) > 0 && !fits(r.Enum):
		c.report(e, rule.Enum, "enum has %s; accepted are values of type %s", describeValue(e), joinNames(r.Enum))
	case r.EnumFilled && e.Kind == '"' && e.ValidText() == "":
		c.report(e, rule.Enum, "enum has the empty string; it is not accepted")
	case r.TypedKeywords && len(types) > 0 && !fits(types):
		c.report(e, rule.Enum, "enum has %s beside the type %s; a value must be of the type", describeValue(e),
			shortQuote(types[0]))
	}
}

// kindsOfType maps a type to the kinds of nodes that have it. An integer is a number too.
var kindsOfType = map[string]string{
	"object": "{", "array": "[", "string": `"`, "number": "0", "boolean": "tf", "null": "n",
}

// hasType reports whether n has the given JSON Schema type.
func hasType(n *node, name string) bool {
	return n.Is(kindsOfType[name]) || name == "integer" && isInteger(n)
}

// bound checks a number that must be one of a few values.
func (c *checker) bound(m field) {
	allowed, ok := c.rules.Bounds[m.Name]
	if !ok || m.Value.Kind != '0' {
		return
	}
	var names []string
	for _, n := range allowed {
		if m.Value.Number() == float64(n) {
			return
		}
		names = append(names, strconv.Itoa(n))
	}
	c.report(m.Value, rule.Bound, "%s is %s; accepted are %s", m.Name, describeValue(m.Value), joinNames(names))
}

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

// joinNames joins names for a message.
func joinNames(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
