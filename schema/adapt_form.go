package schema

import (
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/schema/rule"
)

// repairForms repairs keywords with a value that JSON Schema does not allow, or drops them. The other stages can then
// rely on valid values. It also rewrites the spellings of older drafts as draft 2020-12.
func (a *adapter) repairForms(d *builder) bool {
	for i := 0; i < len(d.fields); i++ {
		f := d.fields[i]
		if wellFormed, value := a.checkForm(d, &f); value != nil {
			d.fields[i].Value = value
		} else if !wellFormed {
			a.change(d.original, rule.Form, "dropped "+f.Name+", whose value has not its form", f.Name, "")
			d.drop(f.Name)
			i--
		}
	}
	a.nullable(d)
	a.draft4Bound(d, "exclusiveMinimum", "minimum")
	a.draft4Bound(d, "exclusiveMaximum", "maximum")
	return true
}

// nullable rewrites OpenAPI 3.0's nullable, which adds null to the types beside it.
func (a *adapter) nullable(d *builder) {
	v := d.get("nullable")
	if v == nil {
		return
	}
	union := d.get("anyOf")
	switch {
	case v.Kind == 'f':
	case d.has("type"):
		d.set("type", typeNode(d.declared()|typeNull))
		if e := d.get("enum"); e != nil && !slices.ContainsFunc(e.Elems, isNull) {
			d.set("enum", newArray(append(slices.Clone(e.Elems), nullNode)...))
		}
	case union != nil:
		d.set("anyOf", newArray(append(slices.Clone(union.Elems), newTyped("null"))...))
	case d.hasAny("$ref", "$dynamicRef", "$recursiveRef", "allOf", "oneOf") && !d.root:
		inner := withoutWords(d.node(), func(w string) bool { return isAnnotation(w) || w == "nullable" })
		d.keepAnnotationsAnd("nullable")
		d.set("anyOf", newArray(madeFor(d.original, inner.Fields...), newTyped("null")))
	}
	if v.Kind == 'f' || !a.accepts(d, "nullable") {
		a.change(d.original, rule.Keyword, "wrote nullable as the type null", "", "")
		d.drop("nullable")
	}
}

// formKinds maps keywords to the kinds of value that they take (node.Kind), for keywords without further requirements.
var formKinds = map[string]string{
	"properties": "{", "patternProperties": "{", "dependentSchemas": "{", "$defs": "{", "definitions": "{",
	"not": "{tf", "if": "{tf", "then": "{tf", "else": "{tf", "contains": "{tf", "propertyNames": "{tf",
	"additionalProperties": "{tf", "additionalItems": "{tf", "unevaluatedItems": "{tf", "unevaluatedProperties": "{tf",
	"contentSchema": "{tf",
	"$ref":          `"`, "$dynamicRef": `"`, "$recursiveRef": `"`, "description": `"`, "title": `"`, "format": `"`,
	"pattern": `"`, "contentEncoding": `"`, "contentMediaType": `"`, "$schema": `"`, "$id": `"`,
	"$anchor": `"tf`, "$dynamicAnchor": `"tf`, "$recursiveAnchor": `"tf`, "examples": "[",
	"minimum": "0", "maximum": "0", "exclusiveMinimum": "0tf", "exclusiveMaximum": "0tf", "uniqueItems": "tf",
	"nullable": "tf",
}

// checkForm reports whether a keyword has its form, and returns a replacement value if the form can be repaired.
func (a *adapter) checkForm(d *builder, f *field) (ok bool, repaired *node) {
	v := f.Value
	noSchema := func(e *node) bool { return !isSchema(e) }
	switch f.Name {
	case "type":
		return a.typeForm(d, v)
	case "dependencies", "dependentRequired":
		return v.Kind == '{' && !slices.ContainsFunc(v.Fields, func(g field) bool {
			return !isNameList(g.Value) && !(f.Name == "dependencies" && isSchema(g.Value))
		}), nil
	case "required":
		return v.Kind == '[', requiredNames(v)
	case "enum":
		return v.Kind == '[' && len(v.Elems) > 0, a.enumValues(d, v)
	case "anyOf", "oneOf", "allOf":
		return v.Kind == '[' && len(v.Elems) > 0, nil
	case "prefixItems":
		return v.Kind == '[' && !slices.ContainsFunc(v.Elems, noSchema), nil
	case "items":
		return isSchema(v) || v.Kind == '[' && !slices.ContainsFunc(v.Elems, noSchema), nil
	case "multipleOf":
		return v.Kind == '0' && v.Number() > 0, nil // 1e-999 is 0 as a float64
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return v.Kind == '0' && typeOfValue(v) == typeInteger && v.Text[0] != '-', nil
	}
	kinds, listed := formKinds[f.Name]
	return !listed || v.Is(kinds), nil
}

// requiredNames returns the names in required, each once, or nil if there is nothing to remove.
func requiredNames(v *node) *node {
	names := slices.DeleteFunc(slices.Clone(v.Elems), func(e *node) bool { return e.Kind != '"' })
	return listIfShorter(v, distinctNodes(names, func(e *node) string {
		return strings.ToValidUTF8(e.Unquoted(), "\uFFFD") // as encoding/json decodes it
	}))
}

// enumValues returns the values of an enum that are valid Unicode, each once, or nil if there is nothing to remove.
func (a *adapter) enumValues(d *builder, v *node) *node {
	valid := slices.DeleteFunc(slices.Clone(v.Elems), func(e *node) bool { return wire.HasLoneSurrogate(e.Append(nil)) })
	if len(valid) == 0 { // the values can only be described
		return nil
	}
	if len(valid) < len(v.Elems) {
		a.change(d.original, rule.JSON, "dropped values with half a surrogate pair", "", sketchValues(v.Elems))
	}
	return listIfShorter(v, distinctNodes(valid, (*node).Compact))
}

// listIfShorter returns elems as a list, or nil if no elements of v are missing in it.
func listIfShorter(v *node, elems []*node) *node {
	if v.Kind != '[' || len(elems) == len(v.Elems) {
		return nil
	}
	return newArray(elems...)
}

// isNameList reports whether v is a list of different strings.
func isNameList(v *node) bool {
	noString := func(e *node) bool { return e.Kind != '"' }
	return v.Kind == '[' && !slices.ContainsFunc(v.Elems, noString) &&
		len(distinctNodes(slices.Clone(v.Elems), (*node).Unquoted)) == len(v.Elems)
}

// otherTypeNames maps the type names of other languages to JSON Schema types.
var otherTypeNames = map[string]string{
	"str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number", "double": "number",
	"decimal": "number", "bool": "boolean", "list": "array", "tuple": "array", "set": "array", "dict": "object",
	"map": "object", "record": "object", "none": "null",
}

func (a *adapter) typeForm(d *builder, v *node) (bool, *node) {
	if v.Kind == '[' {
		known := slices.DeleteFunc(slices.Clone(v.Elems), func(e *node) bool { return typeNamed(e.Unquoted()) == 0 })
		switch names := distinctNodes(known, (*node).Unquoted); len(names) {
		case 0:
			return false, nil
		case 1:
			return true, names[0]
		default:
			return true, listIfShorter(v, names)
		}
	}
	name := v.Unquoted()
	if typeNamed(name) != 0 {
		return true, nil
	}
	lower := strings.ToLower(name)
	if elemType, isList := strings.CutSuffix(lower, "[]"); isList && d.get("items") == nil {
		if other := otherTypeNames[elemType]; other != "" {
			elemType = other
		}
		if typeNamed(elemType) != 0 {
			a.change(d.original, rule.Form, "took the type "+briefName(name)+" for array", "", "")
			d.set("items", newObject(typeField(elemType)))
			return true, newString("array")
		}
	}
	if other := otherTypeNames[lower]; other != "" {
		lower = other
	}
	if typeNamed(lower) == 0 {
		return false, nil
	}
	a.change(d.original, rule.Form, "took the type "+briefName(name)+" for "+lower, "", "")
	return true, newString(lower)
}

// distinctNodes removes each element with the text of an earlier element.
func distinctNodes(all []*node, text func(*node) string) []*node {
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(all, func(e *node) bool {
		known := seen[text(e)]
		seen[text(e)] = true
		return known
	})
}

// draft4Bound rewrites draft 4's exclusiveMinimum: true, which makes minimum exclusive.
func (a *adapter) draft4Bound(d *builder, exclusive, bound string) {
	v := d.get(exclusive)
	if v == nil || v.Kind == '0' {
		return
	}
	limit := d.get(bound)
	if v.Kind == 't' && limit != nil {
		d.set(exclusive, limit)
		d.drop(bound)
	} else {
		d.drop(exclusive)
	}
	a.change(d.original, rule.Form, "wrote "+exclusive+" as a number", "", "")
}
