package arguments

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/wire"
)

const (
	MaxDepth      = 3  // how deep a signature looks into a schema, and typing into unions
	maxReferences = 16 // a chain of references longer than that goes in a circle
)

// Shape is a schema inside of the one that its references point into.
type Shape struct{ root, node json.RawMessage }

func NewShape(schema json.RawMessage) Shape { return Shape{schema, schema} }

// at is the schema on the other side of a keyword or a reference.
func (s Shape) at(node json.RawMessage) Shape { return Shape{s.root, node}.Resolved() }

// Resolved follows references within the document. One that leads nowhere is
// a schema that says nothing.
func (s Shape) Resolved() Shape {
	for range maxReferences {
		raw, ok := s.member("$ref")
		if !ok {
			return s
		}
		ref, _ := wire.Unquote(raw)
		s.node = s.lookup(ref)
	}
	return Shape{s.root, nil}
}

// lookup is what a JSON pointer in a fragment, "#/$defs/Size", points at.
func (s Shape) lookup(ref string) json.RawMessage {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if plain, err := url.PathUnescape(pointer); err == nil {
		pointer = plain
	}
	node := s.root
	for i, step := range strings.Split(pointer, "/") {
		if i == 0 && step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if node, ok = (Shape{node: node}).member(step); !ok {
			return nil
		}
	}
	return node
}

// member looks a key up in what may be no object at all.
func (s Shape) member(key string) (json.RawMessage, bool) {
	if len(s.node) == 0 || s.node[0] != '{' {
		return nil, false
	}
	return wire.Lookup(s.node, key)
}

// Elements are those of an array under a key.
func (s Shape) Elements(key string) []json.RawMessage {
	raw, ok := s.member(key)
	if !ok {
		return nil
	}
	all, err := wire.Elements(raw)
	if err != nil {
		return nil
	}
	return all
}

// variants are the schemas of a union. Where a value has to satisfy several at
// once, the ones that say little do no harm.
func (s Shape) variants() []Shape {
	for _, union := range []string{"anyOf", "oneOf", "allOf"} {
		var out []Shape
		for _, e := range s.Elements(union) {
			out = append(out, s.at(e))
		}
		if out != nil {
			return out
		}
	}
	return nil
}

// types is what a schema's type says: none, one or several.
func (s Shape) types() []string {
	raw, ok := s.member("type")
	if !ok {
		return nil
	}
	if one, ok := wire.Unquote(raw); ok {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many)
	return many
}

// closed reports a schema that allows its parameters alone.
func (s Shape) closed() bool {
	if _, ok := s.member("patternProperties"); ok {
		return false
	}
	more, ok := s.member("additionalProperties")
	return ok && string(more) == "false"
}

// open reports a schema that says that it takes more than its parameters.
func (s Shape) open() bool {
	more, ok := s.member("additionalProperties")
	_, patterns := s.member("patternProperties")
	return patterns || ok && string(more) != "false"
}

// others is the schema of parameters that have no name in this one.
func (s Shape) others() Shape {
	more, _ := s.member("additionalProperties")
	return s.at(more)
}

// parameter is one argument that a tool takes.
type parameter struct {
	Name     string
	Shape    Shape
	Required bool
}

// Parameters are the properties of a schema: required ones first, else in the
// schema's order.
func (s Shape) Parameters() []parameter {
	raw, ok := s.member("properties")
	if !ok {
		return nil
	}
	members, err := wire.Members(raw)
	if err != nil {
		return nil
	}
	var required []string
	if raw, ok := s.member("required"); ok {
		_ = json.Unmarshal(raw, &required)
	}
	var out, rest []parameter
	for _, m := range members {
		p := parameter{m.Key, s.at(m.Value), slices.Contains(required, m.Key)}
		if p.Required {
			out = append(out, p)
		} else {
			rest = append(rest, p)
		}
	}
	return append(out, rest...)
}

// Description is what its owner says of it.
func (p parameter) Description() string {
	raw, _ := p.Shape.member("description")
	text, _ := wire.Unquote(raw)
	return text
}

func parameterNames(params []parameter) []string {
	out := make([]string, len(params))
	for i, p := range params {
		out[i] = p.Name
	}
	return out
}
