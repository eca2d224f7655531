// Package jsontree reads JSON into a tree that keeps every value as it is written: the order of keys, the digits of
// numbers, the escapes of strings. [Parse] reads JSON that is known to be valid, and [Read] reads untrusted JSON within
// bounds. A [Document] follows the references of a JSON Schema within one tree.
//
// A tree that was read does not change. Any number of goroutines may use it.
package jsontree

import (
	"bytes"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// Node is a JSON value. Its methods accept nil for a missing value.
type Node struct {
	// Kind is the first byte of the value: { [ " t f n, and 0 for a number.
	Kind byte
	// Text is the value as it is written. It is nil for a container that was made, not read.
	Text   []byte
	Fields []Field // of an object
	Elems  []*Node // of an array

	// Parent is the container of a value that was read. It is nil for the root.
	Parent *Node
	// Original is the value that was read, if this value was made to replace it. Otherwise it is nil.
	Original *Node
}

// Field is a member of an object.
type Field struct {
	Key   []byte // as it is written
	Name  string // the key without quotes and escapes
	Value *Node
}

// Get returns a member of an object, or nil.
func (n *Node) Get(name string) *Node { return Lookup(n.Members(), name) }

// Lookup returns the value of the field of that name, or nil.
func Lookup(fields []Field, name string) *Node {
	if i := IndexOf(fields, name); i >= 0 {
		return fields[i].Value
	}
	return nil
}

// Finder returns a function that looks up fields by their names. If there are many fields, it builds a map.
func Finder(fields []Field) func(name string) *Node {
	if len(fields) <= FewMembers {
		return func(name string) *Node { return Lookup(fields, name) }
	}
	byName := make(map[string]*Node, len(fields))
	for i := range fields {
		byName[fields[i].Name] = fields[i].Value
	}
	return func(name string) *Node { return byName[name] }
}

// IndexOf returns the index of the field of that name, or -1.
func IndexOf(fields []Field, name string) int {
	for i := range fields {
		if fields[i].Name == name {
			return i
		}
	}
	return -1
}

// Members returns the members of an object.
func (n *Node) Members() []Field {
	if n == nil {
		return nil
	}
	return n.Fields
}

// Elements returns the elements of an array.
func (n *Node) Elements() []*Node {
	if n == nil {
		return nil
	}
	return n.Elems
}

// Is reports whether there is a value of one of the kinds.
func (n *Node) Is(kinds string) bool { return n != nil && strings.IndexByte(kinds, n.Kind) >= 0 }

// Unquoted returns the characters of a string, and "" for any other value. Half of a surrogate pair keeps its value
// (see [Unquote]).
func (n *Node) Unquoted() string {
	if !n.Is(`"`) {
		return ""
	}
	return Unquote(n.Text)
}

// Unquote returns the characters of a quoted string, so "ty\u0070e" is type.
//
// It differs from encoding/json in two ways. Half of a surrogate pair keeps its value, in three bytes as if it were a
// character. If all halves became U+FFFD, two names could become equal. And it takes any bytes: an invalid escape
// stands for itself.
func Unquote(quoted []byte) string {
	inner := bytes.TrimSuffix(quoted[1:], []byte{'"'})
	next := bytes.IndexByte(inner, '\\')
	if next < 0 {
		return string(inner)
	}
	out := make([]byte, 0, len(inner))
	for ; next >= 0; next = bytes.IndexByte(inner, '\\') {
		out = append(out, inner[:next]...)
		inner = inner[next:]
		r, size := wire.Char(inner)
		switch {
		case size == 2 && r >= utf8.RuneSelf:
			out = append(out, inner[1])
		case utf16.IsSurrogate(r):
			out = append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
		default:
			out = utf8.AppendRune(out, r)
		}
		inner = inner[size:]
	}
	return string(append(out, inner...))
}

// Content returns the characters of a string as encoding/json decodes it, and "" for any other value.
func (n *Node) Content() string {
	if !n.Is(`"`) {
		return ""
	}
	s, _ := wire.Unquote(n.Text)
	return s
}

// ValidText returns the characters of a string or the digits of a number, in UTF-8, and "" for any other value. Halves
// of surrogate pairs become U+FFFD.
func (n *Node) ValidText() string {
	if n.Is("0") {
		return string(n.Text)
	}
	return strings.ToValidUTF8(n.Unquoted(), "\uFFFD")
}

// Number returns a number as a float64, and 0 for any other value. A number that is too large becomes infinite.
func (n *Node) Number() float64 {
	f, _ := strconv.ParseFloat(string(n.Text), 64)
	return f
}

// Characters returns the number of characters in the strings, names and numbers of a value.
func (n *Node) Characters() int {
	size := 0
	for v := range n.All() {
		size += utf8.RuneCountInString(v.ValidText())
		for _, f := range v.Fields {
			size += utf8.RuneCountInString(f.Name)
		}
	}
	return size
}

// All returns the value and all values inside it. Each container comes before its contents.
func (n *Node) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { n.walk(yield) }
}

func (n *Node) walk(yield func(*Node) bool) bool {
	if !yield(n) {
		return false
	}
	for i := range n.Fields {
		if !n.Fields[i].Value.walk(yield) {
			return false
		}
	}
	return !slices.ContainsFunc(n.Elems, func(e *Node) bool { return !e.walk(yield) })
}

// Child returns the member or the element of that name, or nil.
func (n *Node) Child(step string) *Node {
	if !n.Is("[") {
		return n.Get(step)
	}
	i, err := strconv.Atoi(step)
	if err != nil || i < 0 || i >= len(n.Elems) || strconv.Itoa(i) != step {
		return nil
	}
	return n.Elems[i]
}

// Path returns the JSON Pointer (RFC 6901) of a value in the tree that was read. For a value that was made, it is the
// pointer of the original value.
func (n *Node) Path() string {
	for n.Original != nil {
		n = n.Original
	}
	return text.Pointer(n.Steps()...)
}

// Steps returns the names and indexes that lead to a value that was read.
func (n *Node) Steps() []string {
	if n.Parent == nil {
		return nil
	}
	return append(n.Parent.Steps(), n.step())
}

// step returns the name or the index of a value in its container.
func (n *Node) step() string {
	for i := range n.Parent.Fields {
		if f := &n.Parent.Fields[i]; f.Value == n {
			return f.Name
		}
	}
	return strconv.Itoa(slices.Index(n.Parent.Elems, n))
}

// Compact returns the value as compact JSON.
func (n *Node) Compact() string { return string(n.Append(nil)) }

// Append appends the value as compact JSON.
func (n *Node) Append(out []byte) []byte { return n.AppendUpTo(out, math.MaxInt-1) }

// AppendUpTo appends the value as compact JSON, and cuts it at some point after limit bytes of out.
func (n *Node) AppendUpTo(out []byte, limit int) []byte {
	if len(out) > limit {
		return out
	}
	open, end := byte('{'), byte('}')
	switch n.Kind {
	case '[':
		open, end = '[', ']'
	case '{':
	default:
		return append(out, n.Text[:min(len(n.Text), limit+1)]...)
	}
	out = append(out, open)
	for i := range n.Fields {
		if i > 0 {
			out = append(out, ',')
		}
		key := n.Fields[i].Key
		out = append(append(out, key[:min(len(key), limit)]...), ':')
		out = n.Fields[i].Value.AppendUpTo(out, limit)
		if len(out) > limit {
			return out
		}
	}
	for i, e := range n.Elems {
		if i > 0 {
			out = append(out, ',')
		}
		out = e.AppendUpTo(out, limit)
		if len(out) > limit {
			return out
		}
	}
	return append(out, end)
}

// Same reports whether two values are written alike.
func (n *Node) Same(o *Node) bool {
	switch {
	case n == o:
		return true
	case n.Kind != o.Kind:
		return false
	case n.Kind != '{' && n.Kind != '[':
		return string(n.Text) == string(o.Text)
	}
	return slices.EqualFunc(n.Elems, o.Elems, (*Node).Same) && slices.EqualFunc(n.Fields, o.Fields,
		func(a, b Field) bool { return a.Name == b.Name && a.Value.Same(b.Value) })
}
