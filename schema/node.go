package schema

import (
	"math"
	"slices"
	"strconv"

	"github.com/indusagi/indus/internal/text"
)

// node is a JSON value. It does not change once it is made, so that one can be in several places.
type node struct {
	kind   byte   // { [ " t f n, and 0 for a number
	text   []byte // as it is written; nil for a container that adapting made
	fields []field
	elems  []*node

	up   *node // what it is in, in the original; nil for the root
	like *node // of what adapting made: the original that it stands for, if there is one
}

// field is a member of an object.
type field struct {
	key   []byte // as it is written
	name  string // what the key stands for
	value *node
}

// get is the member of an object; nil if n is nil or has none of that name.
func (n *node) get(name string) *node { return memberOf(n.fieldsOf(), name) }

func memberOf(fields []field, name string) *node {
	if i := indexOf(fields, name); i >= 0 {
		return fields[i].value
	}
	return nil
}

// fieldsOf are the members of an object, none of nil.
func (n *node) fieldsOf() []field {
	if n == nil {
		return nil
	}
	return n.fields
}

// list are the elements of an array, none of nil.
func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.elems
}

func (n *node) isSchema() bool { return n.kind == '{' || n.kind == 't' || n.kind == 'f' }

// string is what a string stands for, "" for all else.
func (n *node) string() string {
	if n == nil || n.kind != '"' {
		return ""
	}
	return unquote(n.text)
}

// path leads to n, or to what it stands for, in the original (RFC 6901).
func (n *node) path() string {
	for n.like != nil {
		n = n.like
	}
	if n.up == nil {
		return ""
	}
	step := strconv.Itoa(slices.Index(n.up.elems, n))
	for i := range n.up.fields {
		if n.up.fields[i].value == n {
			step = text.PointerStep(n.up.fields[i].name)
		}
	}
	return n.up.path() + "/" + step
}

// append writes n as compact JSON.
func (n *node) append(out []byte) []byte {
	switch n.kind {
	case '{':
		out = append(out, '{')
		for i := range n.fields {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(out, n.fields[i].key...), ':')
			out = n.fields[i].value.append(out)
		}
		return append(out, '}')
	case '[':
		out = append(out, '[')
		for i, e := range n.elems {
			if i > 0 {
				out = append(out, ',')
			}
			out = e.append(out)
		}
		return append(out, ']')
	}
	return append(out, n.text...)
}

// compact is n as compact JSON.
func (n *node) compact() string { return string(n.append(nil)) }

// same reports whether two values are written alike.
func (n *node) same(o *node) bool {
	if n == o {
		return true
	}
	if n.kind != o.kind || len(n.fields) != len(o.fields) || len(n.elems) != len(o.elems) {
		return false
	}
	if n.kind != '{' && n.kind != '[' {
		return string(n.text) == string(o.text)
	}
	for i := range n.fields {
		if n.fields[i].name != o.fields[i].name || !n.fields[i].value.same(o.fields[i].value) {
			return false
		}
	}
	for i := range n.elems {
		if !n.elems[i].same(o.elems[i]) {
			return false
		}
	}
	return true
}

// What adapting makes.

func newMember(name string, value *node) field {
	return field{key: text.Quote(name), name: name, value: value}
}

func typeField(name string) field { return newMember("type", newString(name)) }

func newTyped(name string) *node { return newObject(typeField(name)) }

func newString(s string) *node { return &node{kind: '"', text: text.Quote(s)} }

func newArray(elems ...*node) *node { return &node{kind: '[', elems: elems} }

func newObject(fields ...field) *node { return &node{kind: '{', fields: fields} }

var (
	falseNode = &node{kind: 'f', text: []byte("false")}
	trueNode  = &node{kind: 't', text: []byte("true")}
	nullNode  = &node{kind: 'n', text: []byte("null")}
)

// madeFor is a schema that adapting makes, reported as if it stood where n stands.
func madeFor(n *node, fields ...field) *node { return &node{kind: '{', fields: fields, like: n} }

// withoutWords is n without some of its keywords, at the same place.
func withoutWords(n *node, drop func(w string) bool) *node {
	if n.kind != '{' {
		return n
	}
	m := madeFor(n)
	for _, f := range n.fields {
		if !drop(f.name) {
			m.fields = append(m.fields, f)
		}
	}
	return m
}

// with changes the value of a keyword in a node that nobody else has seen.
func (n *node) with(w string, value *node) *node {
	for i := range n.fields {
		if n.fields[i].name == w {
			n.fields[i].value = value
		}
	}
	return n
}

// allowedValues are the ones that enum or const allow, nil if any.
func allowedValues(n *node) []*node {
	if c := n.get("const"); c != nil {
		return []*node{c}
	}
	return n.get("enum").list()
}

// hasSame reports whether a list has a value that is written as n is.
func hasSame(list []*node, n *node) bool { return slices.ContainsFunc(list, n.same) }

func isNull(n *node) bool { return n.kind == 'n' }

// numberOf is the value of a number; what is too large for a float64 is infinite.
func numberOf(n *node) float64 {
	f, err := strconv.ParseFloat(string(n.text), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0
	}
	return f
}

// isLess compares two numbers as they are written.
func isLess(x, y *node) bool { return numberOf(x) < numberOf(y) }
