// Package keyword knows which keywords of JSON Schema hold schemas, in any draft from 4 to 2020-12.
package keyword

import (
	"iter"
	"maps"
	"slices"
)

// Content is what of a keyword's value is schemas.
type Content uint8

const (
	None         Content = iota
	Schema               // the value
	SchemaOrList         // the value, or each element: items was both until draft 2019-09
	List                 // each element
	Named                // each member
	NamedOrNames         // each member that is no list: dependencies, until draft 7
)

var contents = map[string]Content{
	"not": Schema, "if": Schema, "then": Schema, "else": Schema,
	"additionalProperties": Schema, "unevaluatedProperties": Schema, "propertyNames": Schema,
	"additionalItems": Schema, "unevaluatedItems": Schema, "contains": Schema, "contentSchema": Schema,
	"items":       SchemaOrList,
	"prefixItems": List, "anyOf": List, "oneOf": List, "allOf": List,
	"properties": Named, "patternProperties": Named, "dependentSchemas": Named, "$defs": Named, "definitions": Named,
	"dependencies": NamedOrNames,
}

// ContentOf is what the value of a keyword holds.
func ContentOf(name string) Content { return contents[name] }

// IsNamed reports a keyword whose value is an object of schemas, so that the names in it are no keywords.
func IsNamed(name string) bool { return contents[name] >= Named }

// Schemas are what stands where a keyword's value, as encoding/json decodes it, holds schemas. Each may be anything.
func Schemas(name string, value any) iter.Seq[any] {
	list, isList := value.([]any)
	object, _ := value.(map[string]any)
	switch content := contents[name]; {
	case content == Schema, content == SchemaOrList && !isList:
		return slices.Values([]any{value})
	case content == SchemaOrList, content == List:
		return slices.Values(list)
	case content == Named:
		return maps.Values(object)
	case content == NamedOrNames:
		return func(yield func(any) bool) {
			for _, v := range object {
				if _, names := v.([]any); !names && !yield(v) {
					return
				}
			}
		}
	}
	return slices.Values[[]any](nil)
}
