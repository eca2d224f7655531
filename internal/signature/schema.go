package signature

import (
	"bytes"
	"encoding/json"
	"iter"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// Node is one JSON value of a schema.
type Node interface {
	// Kind is the first byte of the value: { [ " t f n, or 0 for a number.
	Kind() byte
	// Member is a member of an object; nil where there is none.
	Member(name string) Node
	Members() iter.Seq2[string, Node]
	Elements() iter.Seq[Node]
	// JSON is the value, compact or as it was written, cut off somewhere behind limit bytes.
	JSON(limit int) string
}

// Schema is a schema, and how its references are resolved.
type Schema struct {
	Node
	lookup func(ref string) Node
}

// Parse is the schema in raw, whose references are JSON pointers into raw. It never fails: what is no schema says nothing.
func Parse(raw json.RawMessage) Schema {
	raw = bytes.TrimSpace(raw)
	var known sync.Map // ref → Node: many may refer to one place, and it takes reading all of raw to find
	return New(rawNode(raw), func(ref string) Node {
		if n, ok := known.Load(ref); ok {
			return n.(Node)
		}
		n := followPointer(rawNode(raw), ref)
		if n != nil {
			known.Store(ref, n)
		}
		return n
	})
}

// New is a schema; lookup gives what a reference leads to, or nil.
func New(n Node, lookup func(ref string) Node) Schema { return Schema{n, lookup} }

// maxReferences is how long a chain of references may be; a longer one is taken for a circle.
const maxReferences = 16

func (s Schema) at(n Node) Schema { return Schema{n, s.lookup} }

// Resolved follows references. One that leads nowhere is a schema that says nothing.
func (s Schema) Resolved() Schema {
	for range maxReferences {
		ref := s.String("$ref")
		if ref == "" {
			return s
		}
		if s.Node = s.lookup(ref); s.Node == nil {
			break
		}
	}
	return s.at(rawNode(nil))
}

// Sub is the schema under a keyword, resolved; ok is false where there is none.
func (s Schema) Sub(keyword string) (sub Schema, ok bool) {
	n := s.Member(keyword)
	if n == nil {
		return s.at(rawNode(nil)), false
	}
	return s.at(n).Resolved(), true
}

// Follow is the schema, or any other value, that a reference leads to from here, itself not resolved.
func (s Schema) Follow(ref string) (target Schema, ok bool) {
	if n := s.lookup(ref); n != nil {
		return s.at(n), true
	}
	return s.at(rawNode(nil)), false
}

// String is the content of a string under a keyword; "" for all else.
func (s Schema) String(keyword string) string { return content(s.Member(keyword)) }

// List is the elements of an array under a keyword.
func (s Schema) List(keyword string) iter.Seq[Node] {
	if n := s.Member(keyword); n != nil {
		return n.Elements()
	}
	return func(func(Node) bool) {}
}

// Alternatives are the schemas under the first of the keywords that there is, resolved.
func (s Schema) Alternatives(keywords ...string) (all []Schema) {
	for _, k := range keywords {
		for n := range s.List(k) {
			all = append(all, s.at(n).Resolved())
		}
		if all != nil {
			break
		}
	}
	return all
}

// Types are the names under the keyword type: none, one or several.
func (s Schema) Types() (names []string) {
	if name := s.String("type"); name != "" {
		return []string{name}
	}
	for n := range s.List("type") {
		names = append(names, content(n))
	}
	return names
}

// Parameter is a property of an object, such as an argument that a tool takes.
type Parameter struct {
	Name     string
	Schema   Schema // resolved
	Required bool

	declared Schema // with its reference
}

// Parameters are the properties of a schema: required ones first, else in the schema's order.
func (s Schema) Parameters() []Parameter {
	n := s.Member("properties")
	if n == nil {
		return nil
	}
	required := s.required()
	var first, rest []Parameter
	for name, n := range n.Members() {
		if p := (Parameter{name, s.at(n).Resolved(), required[name], s.at(n)}); p.Required {
			first = append(first, p)
		} else {
			rest = append(rest, p)
		}
	}
	return append(first, rest...)
}

func (s Schema) required() map[string]bool {
	names := map[string]bool{}
	for n := range s.List("required") {
		names[content(n)] = true
	}
	return names
}

// Raw is all of a value.
func Raw(n Node) json.RawMessage { return json.RawMessage(n.JSON(math.MaxInt - 1)) }

// content is what a string says; "" for all else.
func content(n Node) string {
	if n == nil || n.Kind() != '"' {
		return ""
	}
	s, _ := wire.Unquote([]byte(n.JSON(maxContent)))
	return s
}

// maxContent is how long a name or a reference may be.
const maxContent = 1 << 20

// followPointer is where a JSON pointer in a fragment, "#/$defs/Size", leads to.
func followPointer(n Node, ref string) Node {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if plain, err := url.PathUnescape(pointer); err == nil {
		pointer = plain
	}
	for i, step := range strings.Split(pointer, "/") {
		if i == 0 && step == "" {
			continue
		}
		if n = n.Member(text.FromPointerStep(step)); n == nil {
			return nil
		}
	}
	return n
}

// rawNode is the bytes of a value.
type rawNode json.RawMessage

func (r rawNode) Kind() byte {
	switch {
	case len(r) == 0:
		return 'n'
	case strings.IndexByte(`{["tfn`, r[0]) >= 0:
		return r[0]
	}
	return '0'
}

func (r rawNode) Member(name string) Node {
	if r.Kind() == '[' {
		all := slices.Collect(r.Elements())
		if i, err := strconv.Atoi(name); err == nil && 0 <= i && i < len(all) {
			return all[i]
		}
	}
	if r.Kind() == '{' {
		if v, ok := wire.Lookup(json.RawMessage(r), name); ok {
			return rawNode(v)
		}
	}
	return nil
}

func (r rawNode) Members() iter.Seq2[string, Node] {
	members, _ := wire.Members(json.RawMessage(r))
	return func(yield func(string, Node) bool) {
		for _, m := range members {
			if !yield(m.Key, rawNode(m.Value)) {
				return
			}
		}
	}
}

func (r rawNode) Elements() iter.Seq[Node] {
	elements, _ := wire.Elements(json.RawMessage(r))
	return func(yield func(Node) bool) {
		for _, e := range elements {
			if !yield(rawNode(e)) {
				return
			}
		}
	}
}

func (r rawNode) JSON(limit int) string { return string(r[:min(len(r), limit+1)]) }
