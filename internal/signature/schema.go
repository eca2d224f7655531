package signature

import (
	"encoding/json"
	"strings"

	"github.com/indusagi/indus/internal/jsontree"
)

type node = jsontree.Node

// Schema is a schema, and how its references are resolved. Its node is nil where there is none; it says nothing then.
type Schema struct {
	*jsontree.Node
	lookup func(ref string) *jsontree.Node
}

// Parse is the schema in raw. It never fails: what is no schema says nothing.
func Parse(raw json.RawMessage) Schema {
	if !json.Valid(raw) {
		return New(nil, nil)
	}
	doc := jsontree.NewDocument(jsontree.Parse(raw))
	return New(doc.Root, doc.LookUp)
}

// New is a schema; lookup gives what a reference leads to, or nil.
func New(n *jsontree.Node, lookup func(ref string) *jsontree.Node) Schema { return Schema{n, lookup} }

// maxReferences is how long a chain of references may be; a longer one is taken for a circle.
const maxReferences = 16

// At is another value of the document that s is in.
func (s Schema) At(n *jsontree.Node) Schema { return Schema{n, s.lookup} }

// Resolved follows references. One that leads nowhere is a schema that says nothing.
func (s Schema) Resolved() Schema {
	for range maxReferences {
		ref := s.String("$ref")
		if ref == "" {
			return s
		}
		s.Node = s.lookup(ref)
	}
	return s.At(nil)
}

// Sub is the schema under a keyword, resolved.
func (s Schema) Sub(keyword string) Schema { return s.At(s.Get(keyword)).Resolved() }

// Follow is the schema that a reference leads to from here, itself not resolved.
func (s Schema) Follow(ref string) Schema { return s.At(s.lookup(ref)) }

// String is the content of a string under a keyword; "" for all else.
func (s Schema) String(keyword string) string { return s.Get(keyword).Content() }

// List is the elements of an array under a keyword.
func (s Schema) List(keyword string) []*jsontree.Node { return s.Get(keyword).Elements() }

// Alternatives are the schemas under the first of the keywords that there is, resolved.
func (s Schema) Alternatives(keywords ...string) (all []Schema) {
	for _, k := range keywords {
		for _, n := range s.List(k) {
			all = append(all, s.At(n).Resolved())
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
	for _, n := range s.List("type") {
		names = append(names, n.Content())
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
	required := map[string]bool{}
	for _, n := range s.List("required") {
		required[n.Content()] = true
	}
	var first, rest []Parameter
	for _, f := range s.Get("properties").Members() {
		name := strings.ToValidUTF8(f.Name, "\uFFFD")
		if p := (Parameter{name, s.At(f.Value).Resolved(), required[name], s.At(f.Value)}); p.Required {
			first = append(first, p)
		} else {
			rest = append(rest, p)
		}
	}
	return append(first, rest...)
}

// Raw is all of a value, as it is written.
func Raw(n *jsontree.Node) json.RawMessage { return json.RawMessage(n.Text) }
