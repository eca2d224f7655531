package signature

import (
	"encoding/json"
	"strings"

	"github.com/indusagi/indus/internal/jsontree"
)

type node = jsontree.Node

// Schema is a schema with the function that resolves its references. If there is no schema, its node is nil, and it
// accepts any value.
type Schema struct {
	*jsontree.Node
	lookup func(ref string) *jsontree.Node
}

// Parse returns the schema in raw. It never fails: if raw is not a schema, the result accepts any value.
func Parse(raw json.RawMessage) Schema {
	if !json.Valid(raw) {
		return New(nil, nil)
	}
	doc := jsontree.NewDocument(jsontree.Parse(raw))
	return New(doc.Root, doc.LookUp)
}

// New returns a schema. lookup returns the target of a reference, or nil.
func New(n *jsontree.Node, lookup func(ref string) *jsontree.Node) Schema { return Schema{n, lookup} }

// maxReferences limits a chain of references. A longer chain counts as a cycle.
const maxReferences = 16

// At returns another value of the document of s.
func (s Schema) At(n *jsontree.Node) Schema { return Schema{n, s.lookup} }

// Resolved follows references. If a reference has no target, the result accepts any value.
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

// Sub returns the schema under a keyword, resolved.
func (s Schema) Sub(keyword string) Schema { return s.At(s.Get(keyword)).Resolved() }

// Follow returns the target of a reference from here. It does not resolve the target.
func (s Schema) Follow(ref string) Schema { return s.At(s.lookup(ref)) }

// String returns the string under a keyword, or "" if there is none.
func (s Schema) String(keyword string) string { return s.Get(keyword).Content() }

// List returns the elements of an array under a keyword.
func (s Schema) List(keyword string) []*jsontree.Node { return s.Get(keyword).Elements() }

// Alternatives returns the schemas under the first keyword with any, resolved.
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

// Types returns the names under the keyword type: none, one or several.
func (s Schema) Types() (names []string) {
	if name := s.String("type"); name != "" {
		return []string{name}
	}
	for _, n := range s.List("type") {
		names = append(names, n.Content())
	}
	return names
}

// Parameter is a property of an object, such as an argument of a tool.
type Parameter struct {
	Name     string
	Schema   Schema // resolved
	Required bool

	declared Schema // with its reference
}

// Parameters returns the properties of a schema: required properties first, otherwise in the schema's order.
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

// Raw returns a whole value as it is written.
func Raw(n *jsontree.Node) json.RawMessage { return json.RawMessage(n.Text) }
