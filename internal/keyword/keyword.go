// Package keyword lists the keywords of JSON Schema that hold schemas, in every draft from 4 to 2020-12.
package keyword

import (
	"iter"
	"maps"
	"slices"
)

// Content describes which parts of a keyword's value are schemas.
type Content uint8

const (
	None         Content = iota
	Schema               // the value
	SchemaOrList         // the value, or each element: items was both until draft 2019-09
	List                 // each element
	Named                // each member
	NamedOrNames         // each member that is not a list: dependencies, until draft 7
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

// ContentOf returns the content of a keyword's value.
func ContentOf(name string) Content { return contents[name] }

// IsNamed reports whether a keyword's value is an object of schemas, so that the names in it are not keywords.
func IsNamed(name string) bool { return contents[name] >= Named }

// Schemas returns the values at the places where a keyword holds schemas. The value is as encoding/json decodes it,
// and each result may be of any type.
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
