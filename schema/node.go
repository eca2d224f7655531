package schema

import (
	"slices"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/internal/text"
)

// node is a value of a schema, and field is a member of an object. A node does not change after it is made, so it can
// be shared by several parents.
type (
	node  = jsontree.Node
	field = jsontree.Field
)

func isSchema(n *node) bool { return n.Is("{tf") }

// Constructors for adapted schemas.

func newMember(name string, value *node) field {
	return field{Key: text.Quote(name), Name: name, Value: value}
}

func typeField(name string) field { return newMember("type", newString(name)) }

func newTyped(name string) *node { return newObject(typeField(name)) }

func newString(s string) *node { return &node{Kind: '"', Text: text.Quote(s)} }

func newArray(elems ...*node) *node { return &node{Kind: '[', Elems: elems} }

func newObject(fields ...field) *node { return &node{Kind: '{', Fields: fields} }

var (
	falseNode = &node{Kind: 'f', Text: []byte("false")}
	trueNode  = &node{Kind: 't', Text: []byte("true")}
	nullNode  = &node{Kind: 'n', Text: []byte("null")}
)

// madeFor returns a schema made by an adapter. Its path in reports is the path of n.
func madeFor(n *node, fields ...field) *node { return &node{Kind: '{', Fields: fields, Original: n} }

// withoutWords returns n without some of its keywords, at the same place.
func withoutWords(n *node, drop func(w string) bool) *node {
	if n.Kind != '{' {
		return n
	}
	m := madeFor(n)
	for _, f := range n.Fields {
		if !drop(f.Name) {
			m.Fields = append(m.Fields, f)
		}
	}
	return m
}

// withValue changes the value of a keyword in place. No other code may hold n yet.
func withValue(n *node, w string, value *node) *node {
	if i := jsontree.IndexOf(n.Fields, w); i >= 0 {
		n.Fields[i].Value = value
	}
	return n
}

// allowedValues returns the values that const or enum allow, or nil if there is no such keyword.
func allowedValues(n *node) []*node {
	if c := n.Get("const"); c != nil {
		return []*node{c}
	}
	return n.Get("enum").Elements()
}

// hasSame reports whether a list contains a value with the same text as n.
func hasSame(list []*node, n *node) bool { return slices.ContainsFunc(list, n.Same) }

func isNull(n *node) bool { return n.Kind == 'n' }

// isLess compares two numbers as float64.
func isLess(x, y *node) bool { return x.Number() < y.Number() }
