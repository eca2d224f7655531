package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/schema/rule"
)

// form is the form required of a keyword's value.
type form struct {
	text string // for messages
	fits func(v *node) bool
}

func ofKind(kinds string) func(*node) bool { return func(v *node) bool { return v.Is(kinds) } }

var (
	formString     = &form{"a string", ofKind(`"`)}
	formBoolean    = &form{"true or false", ofKind("tf")}
	formNumber     = &form{"a number", ofKind("0")}
	formPositive   = &form{"a number above 0", func(v *node) bool { return v.Kind == '0' && v.Number() > 0 }}
	formCount      = &form{"an integer of 0 or more", func(v *node) bool { return isInteger(v) && v.Number() >= 0 }}
	formArray      = &form{"a list", ofKind("[")}
	formStrings    = &form{"a list of different strings", areStrings}
	formStringsMap = &form{"an object of lists of different strings", func(v *node) bool {
		return v.Kind == '{' && !slices.ContainsFunc(v.Fields, func(m field) bool { return !areStrings(m.Value) })
	}}
	formTypes     = &form{"a type's name, or a list of different ones", areTypes}
	formItems     = &form{"one schema; prefixItems is for tuples", func(v *node) bool { return v.Kind != '[' }}
	formSchemas   = &form{"a list of one schema or more", func(v *node) bool { return v.Kind == '[' && len(v.Elems) > 0 }}
	formSchemaMap = &form{"an object of schemas", ofKind("{")}
)

// schemaForms holds the forms of keywords that contain schemas. It also knows the keywords of older drafts that draft
// 2020-12's metaschema still contains, and additionalItems.
var schemaForms = map[keyword.Content]*form{
	keyword.SchemaOrList: formItems, keyword.List: formSchemas,
	keyword.Named: formSchemaMap, keyword.NamedOrNames: formSchemaMap,
}

// forms holds the forms of keywords that contain no schemas.
//
// https://json-schema.org/draft/2020-12/schema
var forms = map[string]*form{
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

var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// hasForm reports whether the value of a keyword has its form, and adds a finding if not. It does not check the schemas
// inside the value.
func (c *checker) hasForm(name string, value *node) bool {
	f := cmp.Or(schemaForms[keyword.ContentOf(name)], forms[name])
	if f == nil || f.fits(value) {
		return true
	}
	message := name + " is " + describeValue(value)
	switch {
	case f == formTypes && value.Kind == '"':
		c.report(value, rule.Form, "%s; draft 2020-12 knows %s", message, strings.Join(schemaTypes, ", "))
	case f == formStrings && value.Kind == '[', f == formStringsMap && value.Kind == '{', f == formTypes:
		c.report(value, rule.Form, "%s of something else; draft 2020-12 takes %s", message, f.text)
	case f == formSchemas && value.Kind == '[':
		c.report(value, rule.Form, "%s is empty; draft 2020-12 takes %s", name, f.text)
	default:
		c.report(value, rule.Form, "%s; draft 2020-12 takes %s", message, f.text)
	}
	return false
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
