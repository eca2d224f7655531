package cli

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/wire"
)

const (
	maxShapeDepth = 3  // how deep a signature looks into a schema, and typing into unions
	maxReferences = 16 // a chain of references longer than that goes in a circle
)

// shape is a schema inside of the one that its references point into.
type shape struct{ root, node json.RawMessage }

func shapeOf(schema json.RawMessage) shape { return shape{schema, schema} }

// at is the schema on the other side of a keyword or a reference.
func (s shape) at(node json.RawMessage) shape { return shape{s.root, node}.resolved() }

// resolved follows references within the document. One that leads nowhere is
// a schema that says nothing.
func (s shape) resolved() shape {
	for range maxReferences {
		raw, ok := s.member("$ref")
		if !ok {
			return s
		}
		ref, _ := wire.Unquote(raw)
		s.node = s.lookup(ref)
	}
	return shape{s.root, nil}
}

// lookup is what a JSON pointer in a fragment, "#/$defs/Size", points at.
func (s shape) lookup(ref string) json.RawMessage {
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
		if node, ok = (shape{node: node}).member(step); !ok {
			return nil
		}
	}
	return node
}

// member looks a key up in what may be no object at all.
func (s shape) member(key string) (json.RawMessage, bool) {
	if len(s.node) == 0 || s.node[0] != '{' {
		return nil, false
	}
	return wire.Lookup(s.node, key)
}

// elements are those of an array under a key.
func (s shape) elements(key string) []json.RawMessage {
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
func (s shape) variants() []shape {
	for _, union := range []string{"anyOf", "oneOf", "allOf"} {
		var out []shape
		for _, e := range s.elements(union) {
			out = append(out, s.at(e))
		}
		if out != nil {
			return out
		}
	}
	return nil
}

// types is what a schema's type says: none, one or several.
func (s shape) types() []string {
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
func (s shape) closed() bool {
	if _, ok := s.member("patternProperties"); ok {
		return false
	}
	more, ok := s.member("additionalProperties")
	return ok && string(more) == "false"
}

// open reports a schema that says that it takes more than its parameters.
func (s shape) open() bool {
	more, ok := s.member("additionalProperties")
	_, patterns := s.member("patternProperties")
	return patterns || ok && string(more) != "false"
}

// others is the schema of parameters that have no name in this one.
func (s shape) others() shape {
	more, _ := s.member("additionalProperties")
	return s.at(more)
}

// parameter is one argument that a tool takes.
type parameter struct {
	name     string
	shape    shape
	required bool
}

// parameters are the properties of a schema: required ones first, else in the
// schema's order.
func (s shape) parameters() []parameter {
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
		if p.required {
			out = append(out, p)
		} else {
			rest = append(rest, p)
		}
	}
	return append(out, rest...)
}

// description is what its owner says of it.
func (p parameter) description() string {
	raw, _ := p.shape.member("description")
	text, _ := wire.Unquote(raw)
	return text
}

func names(params []parameter) []string {
	out := make([]string, len(params))
	for i, p := range params {
		out[i] = p.name
	}
	return out
}
