package infer

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// formKeywords maps types to the keywords that a form field of that type may have (2025-11-25, client/elicitation,
// "Requested Schema").
var formKeywords = map[string][]string{
	"string":  {"minLength", "maxLength", "format", "enum"},
	"number":  {"minimum", "maximum"},
	"integer": {"minimum", "maximum"},
	"boolean": {},
	"array":   {"minItems", "maxItems", "items"},
}

// formFormats lists the formats that a string in a form may have.
var formFormats = []any{"email", "uri", "date", "date-time"}

// Form returns the schema of a form that a person fills in. T must be a struct with fields that are strings, numbers,
// booleans, or lists of strings with an enum. The error names the first field that a form cannot have.
func Form[T any]() (json.RawMessage, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct || isRecursive(t, true) || isRecursive(t, false) || specialSchema(t) != nil {
		return nil, fmt.Errorf("%s is no form: a form is a struct of plain fields", t)
	}
	schema, err := describeType(t, false, false)
	if err != nil {
		return nil, err
	}
	if schema.Properties == nil {
		return nil, fmt.Errorf("%s is no form: a form is a struct of plain fields", t)
	}
	for p := schema.Properties.Oldest(); p != nil; p = p.Next() {
		encoding, err := json.Marshal(p.Value)
		if err == nil {
			err = formField(encoding)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: the field %q cannot be in a form: %w", t, p.Key, err)
		}
	}
	schema.AdditionalProperties = nil // a form does not have this keyword
	return json.Marshal(schema)
}

func formField(encoding json.RawMessage) error {
	var field map[string]any
	if err := json.Unmarshal(encoding, &field); err != nil {
		return fmt.Errorf("it may hold anything; use a string, a number or a boolean")
	}
	kind, _ := field["type"].(string)
	allowed, ok := formKeywords[kind]
	switch {
	case !ok:
		return fmt.Errorf("its type is %q; use a string, a number, a boolean or a list of strings with an enum", kind)
	case kind == "array" && !isChoice(field["items"]):
		return fmt.Errorf("a list in a form is a choice: it holds strings with an enum")
	case field["format"] != nil && !slices.Contains(formFormats, field["format"]):
		return fmt.Errorf("the format %q; use email, uri, date or date-time", field["format"])
	}
	for _, keyword := range slices.Sorted(maps.Keys(field)) {
		if !slices.Contains(allowed, keyword) && !slices.Contains([]string{"type", "title", "description", "default"},
			keyword) {
			return fmt.Errorf("a form knows no %q for a %s", keyword, kind)
		}
	}
	return nil
}

// isChoice reports whether a schema is a string with an enum and has no other keyword.
func isChoice(items any) bool {
	choice, _ := items.(map[string]any)
	return len(choice) == 2 && choice["type"] == "string" && choice["enum"] != nil
}
