package catalog

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// What of a schema a signature shows.
const (
	maxValues = 4 // of an enum or a union
	maxWord   = 40
	// maxIndexed is how much of a parameter's description a search reads.
	maxIndexed = 300
)

// parameters are the names and descriptions of what an input takes.
func parameters(schema json.RawMessage) string {
	properties, _ := wire.Lookup(schema, "properties")
	members, _ := wire.Members(properties)
	var b strings.Builder
	for _, m := range members {
		description, _ := protocol.LookupString(m.Value, "description")
		b.WriteString(m.Key + " " + clip(description, maxIndexed) + " ")
	}
	return b.String()
}

// signature is an input schema in a line: (path: string, limit?: integer). It is for a
// first look; what it cannot say in short it leaves to the schema.
func signature(schema json.RawMessage) string {
	if len(schema) == 0 {
		return "(any)"
	}
	properties, _ := wire.Lookup(schema, "properties")
	members, err := wire.Members(properties)
	if err != nil || len(members) == 0 {
		if t := typeOf(schema, 0); t != "object" && t != "any" {
			return "(" + t + ")"
		}
		return "()"
	}
	required := stringsIn(schema, "required")
	b := []byte{'('}
	for i, m := range members {
		one := word(m.Key)
		if !slices.Contains(required, m.Key) {
			one += "?"
		}
		one += ": " + typeOf(m.Value, 0)
		if i > 0 {
			b = append(b, ", "...)
		}
		if len(b)+len(one) > maxSignature {
			b = append(b, "…"...)
			break
		}
		b = append(b, one...)
	}
	return string(append(b, ')'))
}

// typeOf is what a schema takes, in a word or a few.
func typeOf(schema json.RawMessage, depth int) string {
	if list, ok := wire.Lookup(schema, "enum"); ok {
		return literals(list)
	}
	if one, ok := wire.Lookup(schema, "const"); ok {
		return word(string(one))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := wire.Lookup(schema, key); ok && depth < 2 {
			return union(list, depth)
		}
	}
	if ref, ok := protocol.LookupString(schema, "$ref"); ok {
		return word(ref[strings.LastIndexByte(ref, '/')+1:])
	}
	return named(schema, depth)
}

// named is what the keyword type says.
func named(schema json.RawMessage, depth int) string {
	list := stringsIn(schema, "type")
	if one, ok := protocol.LookupString(schema, "type"); ok {
		list = []string{one}
	}
	var names []string
	for _, name := range list[:min(len(list), maxValues)] {
		if items, ok := wire.Lookup(schema, "items"); ok && name == "array" && depth < 2 {
			name = typeOf(items, depth+1) + "[]"
			if strings.Contains(name, "|") {
				name = "(" + strings.TrimSuffix(name, "[]") + ")[]"
			}
		}
		names = append(names, word(name))
	}
	if names == nil {
		return "any"
	}
	return strings.Join(names, "|")
}

func union(list json.RawMessage, depth int) string {
	parts, err := wire.Elements(list)
	if err != nil || len(parts) == 0 {
		return "any"
	}
	var names []string
	for _, p := range parts[:min(len(parts), maxValues)] {
		if name := typeOf(p, depth+1); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(parts) > maxValues {
		names = append(names, "…")
	}
	return strings.Join(names, "|")
}

func literals(list json.RawMessage) string {
	parts, err := wire.Elements(list)
	if err != nil || len(parts) == 0 {
		return "any"
	}
	var names []string
	for _, p := range parts[:min(len(parts), maxValues)] {
		names = append(names, word(string(p)))
	}
	if len(parts) > maxValues {
		names = append(names, "…")
	}
	return strings.Join(names, "|")
}

func stringsIn(schema json.RawMessage, key string) []string {
	raw, _ := wire.Lookup(schema, key)
	parts, err := wire.Elements(raw)
	if err != nil {
		return nil
	}
	var list []string
	for _, p := range parts {
		if s, ok := wire.Unquote(p); ok {
			list = append(list, s)
		}
	}
	return list
}

// word is a short piece of somebody's schema, safe to print.
func word(s string) string { return protocol.Printable(s, maxWord) }
