package arguments

import (
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/toolbox"
)

const (
	maxRecord = 60 // longer records are "object"
	maxValue  = 40 // longer values of an enum are cut
	maxUnion  = 6  // further alternatives are "…"
)

// ToolSignature is a tool as a person reads it: fs__read_file(path: string, head?: number).
func ToolSignature(d toolbox.Descriptor) string {
	return d.Name + "(" + strings.Join(Declarations(NewShape(d.Schema).Resolved(), MaxDepth), ", ") + ")"
}

// Declarations are the parameters of a schema, each with its type and default.
func Declarations(s Shape, depth int) []string {
	var out []string
	for _, p := range s.Parameters() {
		mark := "?"
		if p.Required {
			mark = ""
		}
		text := p.Name + mark + ": " + typeName(p.Shape, depth)
		if v, ok := p.Shape.member("default"); ok && len(v) <= 20 && string(v) != "null" {
			text += " = " + string(v)
		}
		out = append(out, text)
	}
	return out
}

// typeName is a schema in a few characters.
func typeName(s Shape, depth int) string {
	if depth == 0 {
		return "…"
	}
	if v, ok := s.member("const"); ok {
		return show.Cut(string(v), maxValue)
	}
	var either []string
	for _, e := range s.Elements("enum") {
		either = append(either, show.Cut(string(e), maxValue))
	}
	if either == nil {
		for _, v := range s.variants() {
			either = append(either, typeName(v, depth-1))
		}
	}
	if either == nil {
		for _, t := range s.types() {
			either = append(either, structure(t, s, depth))
		}
	}
	return unionType(either)
}

// structure is a type with what it holds: string[], {x: number, y: number}.
func structure(t string, s Shape, depth int) string {
	switch t {
	case "array":
		item := "any"
		if v, ok := s.member("items"); ok {
			item = typeName(s.at(v), depth-1)
		}
		if strings.Contains(item, " | ") && !strings.HasPrefix(item, "{") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case "object":
		if depth < 2 {
			return t
		}
		record := "{" + strings.Join(Declarations(s, depth-1), ", ") + "}"
		if record != "{}" && len(record) <= maxRecord {
			return record
		}
	}
	return t
}

func unionType(either []string) string {
	var out []string
	for _, e := range either {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	switch {
	case out == nil:
		return "any"
	case len(out) > maxUnion:
		out = append(out[:maxUnion], "…")
	}
	return strings.Join(out, " | ")
}
