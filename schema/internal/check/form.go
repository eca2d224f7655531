package check

import (
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/schema/rule"
)

// form is the form required of a keyword's value.
type form int

const (
	formAny form = iota // any form, or not a keyword of draft 2020-12
	formString
	formBoolean
	formNumber
	formPositive
	formCount
	formArray
	formStrings
	formStringsMap
	formTypes
	formSchema
	formItems
	formSchemas
	formSchemaMap
	formDependencies
)

// formOf returns the form of a keyword in draft 2020-12's metaschema. It also knows the keywords of older drafts that
// the metaschema still contains, and additionalItems.
func formOf(name string) form {
	switch keyword.ContentOf(name) {
	case keyword.Schema:
		return formSchema
	case keyword.SchemaOrList:
		return formItems
	case keyword.List:
		return formSchemas
	case keyword.Named:
		return formSchemaMap
	case keyword.NamedOrNames:
		return formDependencies
	}
	return forms[name]
}

// forms holds the forms of keywords that contain no schemas.
//
// https://json-schema.org/draft/2020-12/schema
var forms = map[string]form{
	"$schema": formString, "$id": formString, "$ref": formString, "$anchor": formString, "$comment": formString,
	"$dynamicRef": formString, "$dynamicAnchor": formString,

	"type": formTypes, "enum": formArray, "required": formStrings, "dependentRequired": formStringsMap,
	"multipleOf": formPositive,
	"minimum":    formNumber, "maximum": formNumber, "exclusiveMinimum": formNumber, "exclusiveMaximum": formNumber,
	"minLength": formCount, "maxLength": formCount, "minItems": formCount, "maxItems": formCount,
	"minContains": formCount, "maxContains": formCount, "minProperties": formCount, "maxProperties": formCount,
	"uniqueItems": formBoolean, "pattern": formString, "format": formString,

	"title": formString, "description": formString, "deprecated": formBoolean, "readOnly": formBoolean,
	"writeOnly": formBoolean, "examples": formArray, "contentEncoding": formString, "contentMediaType": formString,
}

// formTexts describes each form for messages.
var formTexts = map[form]string{
	formString: "a string", formBoolean: "true or false", formNumber: "a number", formPositive: "a number above 0",
	formCount: "an integer of 0 or more", formArray: "a list", formStrings: "a list of different strings",
	formStringsMap: "an object of lists of different strings", formTypes: "a type's name, or a list of different ones",
	formItems: "one schema; prefixItems is for tuples", formSchemas: "a list of one schema or more",
	formSchemaMap: "an object of schemas", formDependencies: "an object of schemas",
}

var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// hasForm reports whether the value of a keyword has its form, and adds a finding if not. It does not check the schemas
// inside the value.
func (c *checker) hasForm(name string, value *node) bool {
	f := formOf(name)
	if f.fits(value) {
		return true
	}
	message := name + " is " + describeValue(value)
	switch {
	case f == formTypes && value.Kind == '"':
		c.report(value, rule.Form, "%s; draft 2020-12 knows %s", message, strings.Join(schemaTypes, ", "))
	case f == formStrings && value.Kind == '[', f == formStringsMap && value.Kind == '{', f == formTypes:
		c.report(value, rule.Form, "%s of something else; draft 2020-12 takes %s", message, formTexts[f])
	case f == formSchemas && value.Kind == '[':
		c.report(value, rule.Form, "%s is empty; draft 2020-12 takes %s", name, formTexts[f])
	default:
		c.report(value, rule.Form, "%s; draft 2020-12 takes %s", message, formTexts[f])
	}
	return false
}

// formKinds maps the forms that any value of some kinds has to these kinds.
var formKinds = map[form]string{
	formString: `"`, formBoolean: "tf", formNumber: "0", formArray: "[", formSchemaMap: "{", formDependencies: "{",
}

func (f form) fits(v *node) bool {
	switch f {
	case formPositive:
		return v.Kind == '0' && v.Number() > 0
	case formCount:
		return isInteger(v) && v.Number() >= 0
	case formStrings:
		return areStrings(v)
	case formStringsMap:
		return v.Kind == '{' && !slices.ContainsFunc(v.Fields, func(m field) bool { return !areStrings(m.Value) })
	case formTypes:
		return areTypes(v)
	case formItems:
		return v.Kind != '['
	case formSchemas:
		return v.Kind == '[' && len(v.Elems) > 0
	}
	kinds, ok := formKinds[f]
	return !ok || v.Is(kinds)
}

func areStrings(n *node) bool {
	all := stringsIn(n)
	return n.Kind == '[' && len(all) == len(n.Elems) && !hasRepeats(all)
}

func areTypes(n *node) bool {
	unknown := func(name string) bool { return !slices.Contains(schemaTypes, name) }
	all := typesIn(n)
	return len(all) > 0 && !slices.ContainsFunc(all, unknown) && (n.Kind == '"' || areStrings(n))
}

func hasRepeats(all []string) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(all)))) < len(all)
}
