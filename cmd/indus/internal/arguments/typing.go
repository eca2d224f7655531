package arguments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// Style is the style of the signatures that commands print.
var Style = signature.Style{
	Depth: signature.Line.Depth, Choices: signature.Line.Choices, Object: signature.Line.Object, Defaults: true,
}

// ToolSignature returns the signature of a tool for a person: fs__read_file(path: string, head?: number).
func ToolSignature(d toolbox.Descriptor) string {
	return d.Name + signature.Parse(d.Schema).Signature(Style)
}

// parseValue returns text as JSON of the type in the schema. If the schema allows strings or any type, it is a string.
func parseValue(text string, s signature.Schema) (json.RawMessage, error) {
	value := json.RawMessage(strings.TrimSpace(text))
	if listed, ok := enumValue(text, value, s); ok {
		return listed, nil
	}
	want := Wanted(s)
	if len(want) == 0 || slices.Contains(want, "string") {
		return wire.Quote(text), nil
	}
	if takesKind(want, kindOf(value)) && wire.Valid(value) {
		return value, nil
	}
	return nil, fmt.Errorf("%q is no %s%s", text, strings.Join(want, " or "), example(want))
}

// Setting returns text as the value of a field. If text is JSON of a type in the schema, it stays as it is. If the
// schema takes a list and no string, text is split at commas. Otherwise it is like parseValue.
func Setting(text string, s signature.Schema) (json.RawMessage, error) {
	value, want := json.RawMessage(strings.TrimSpace(text)), Wanted(s)
	kind := kindOf(value)
	switch {
	case kind != "string" && takesKind(want, kind) && wire.Valid(value):
		return value, nil
	case slices.Contains(want, "array") && !slices.Contains(want, "string"):
		return json.Marshal(strings.Split(text, ","))
	}
	return parseValue(text, s)
}

// takesKind reports whether want includes a kind. An integer is also a number.
func takesKind(want []string, kind string) bool {
	return slices.Contains(want, kind) || kind == "integer" && slices.Contains(want, "number")
}

// enumValue returns the value of an enum that equals the typed text: a string without its quotes, or JSON.
func enumValue(text string, value json.RawMessage, s signature.Schema) (json.RawMessage, bool) {
	for _, n := range s.List("enum") {
		e := signature.Raw(n)
		if s, ok := wire.Unquote(e); ok && s == text || !ok && bytes.Equal(e, value) {
			return e, true
		}
	}
	return nil, false
}

// example returns a hint on how to write a boolean, an array or an object.
func example(want []string) string {
	for _, kind := range want {
		switch kind {
		case "boolean":
			return ": write true or false"
		case "array":
			return `: write JSON, such as '["a","b"]'`
		case "object":
			return `: write JSON, such as '{"a":1}'`
		}
	}
	return ""
}

// Wanted returns the JSON types that a schema accepts. If the schema has no type, it returns none.
func Wanted(s signature.Schema) []string { return wantedTypes(s, 3) }

func wantedTypes(s signature.Schema, depth int) []string {
	if t := s.Types(); len(t) > 0 {
		return t
	}
	var all []string
	if v := s.Get("const"); v != nil {
		all = append(all, kindOf(signature.Raw(v)))
	}
	for _, v := range s.List("enum") {
		all = append(all, kindOf(signature.Raw(v)))
	}
	if all == nil && depth > 0 {
		// A value may have to satisfy several schemas at once. A schema that restricts little does no harm here.
		for _, sub := range s.Alternatives("anyOf", "oneOf", "allOf") {
			all = append(all, wantedTypes(sub, depth-1)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// kindOf returns the JSON type of a value. Integers are a type of their own.
func kindOf(v json.RawMessage) string {
	if len(v) == 0 {
		return ""
	}
	switch v[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if bytes.ContainsAny(v, ".eE") {
		return "number"
	}
	return "integer"
}
