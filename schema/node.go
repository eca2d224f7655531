package schema

import (
	"math"
	"slices"
	"strconv"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// node is a value of a schema, and field a member of an object. A node does not change once it is made, so that one can be in
// several places.
type (
	node  = jsontree.Node
	field = jsontree.Field
)

func isSchema(n *node) bool { return n.Is("{tf") }

// What adapting makes.

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

// madeFor is a schema that adapting makes, reported as if it stood where n stands.
func madeFor(n *node, fields ...field) *node { return &node{Kind: '{', Fields: fields, Like: n} }

// withoutWords is n without some of its keywords, at the same place.
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

// withValue changes the value of a keyword in a node that nobody else has seen.
func withValue(n *node, w string, value *node) *node {
	for i := range n.Fields {
		if n.Fields[i].Name == w {
			n.Fields[i].Value = value
		}
	}
	return n
}

// allowedValues are the ones that enum or const allow, nil if any.
func allowedValues(n *node) []*node {
	if c := n.Get("const"); c != nil {
		return []*node{c}
	}
	return n.Get("enum").Elements()
}

// hasSame reports whether a list has a value that is written as n is.
func hasSame(list []*node, n *node) bool { return slices.ContainsFunc(list, n.Same) }

func isNull(n *node) bool { return n.Kind == 'n' }

// numberOf is the value of a number; what is too large for a float64 is infinite.
func numberOf(n *node) float64 {
	f, err := strconv.ParseFloat(string(n.Text), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0
	}
	return f
}

// isLess compares two numbers as they are written.
func isLess(x, y *node) bool { return numberOf(x) < numberOf(y) }

// hasHalf reports whether JSON has half of a surrogate pair that is alone: no text has such a character, and some consumers
// refuse the whole request for one (RFC 8259, section 8.2).
func hasHalf(raw []byte) bool { return len(raw) > 0 && &wire.Whole(raw)[0] != &raw[0] }
