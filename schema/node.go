package schema

import (
	"slices"
	"strconv"
	"strings"
)

// node is a JSON value. It does not change once it is made, so that one can stand in several places.
type node struct {
	kind   byte   // { [ " t f n, and 0 for a number
	text   []byte // a scalar as it is written
	fields []field
	elems  []*node

	size int   // of its text in the original, 0 for what adapting made
	up   *node // what it stands in, in the original; nil for the root
	like *node // of what adapting made: the original that it stands for, if there is one
}

// field is a member of an object.
type field struct {
	key   []byte // as it is written
	name  []byte // what the key stands for
	word  word   // what it says, where the object is a schema
	value *node
}

func (n *node) get(w word) *node {
	for i := range n.fields {
		if n.fields[i].word == w {
			return n.fields[i].value
		}
	}
	return nil
}

func (n *node) member(name string) *node {
	for i := range n.fields {
		if string(n.fields[i].name) == name {
			return n.fields[i].value
		}
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

func (n *node) isSchema() bool { return n.kind == '{' || n.kind == 't' || n.kind == 'f' }

// string is what a string stands for, "" for all else.
func (n *node) string() string {
	if n == nil || n.kind != '"' {
		return ""
	}
	return string(unquote(n.text))
}

// path leads to n, or to what it stands for, in the original (RFC 6901).
func (n *node) path() string {
	for n.like != nil {
		n = n.like
	}
	if n.up == nil {
		return ""
	}
	var room [128]byte
	return string(n.appendPath(room[:0]))
}

func (n *node) appendPath(out []byte) []byte {
	up := n.up
	if up == nil {
		return out
	}
	out = append(up.appendPath(out), '/')
	for i := range up.fields {
		if up.fields[i].value == n {
			return appendStep(out, up.fields[i].name)
		}
	}
	return strconv.AppendInt(out, int64(slices.Index(up.elems, n)), 10)
}

func appendStep(out, name []byte) []byte {
	for _, c := range name {
		switch c {
		case '~':
			out = append(out, "~0"...)
		case '/':
			out = append(out, "~1"...)
		default:
			out = append(out, c)
		}
	}
	return out
}

func escapeStep(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return string(appendStep(nil, []byte(s)))
}

func unescapeStep(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
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

// clone is a copy that shares nothing but the text.
func (n *node) clone() *node {
	c := &node{kind: n.kind, text: n.text}
	if n.fields != nil {
		c.fields = slices.Clone(n.fields)
		for i := range c.fields {
			c.fields[i].value = c.fields[i].value.clone()
		}
	}
	for _, e := range n.elems {
		c.elems = append(c.elems, e.clone())
	}
	return c
}

// same reports whether two values are written alike.
func (n *node) same(o *node) bool {
	if n == o {
		return true
	}
	if n.kind != o.kind || len(n.fields) != len(o.fields) || len(n.elems) != len(o.elems) || string(n.text) != string(o.text) {
		return false
	}
	for i := range n.fields {
		if string(n.fields[i].name) != string(o.fields[i].name) || !n.fields[i].value.same(o.fields[i].value) {
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

// builder makes nodes of valid JSON that is not too deep.
type builder struct {
	*slab
	text  []byte
	stack []field // members of the objects around
	list  []*node // elements of the arrays around
}

func build(text []byte) *node { return buildIn(new(slab), text) }

func buildIn(s *slab, text []byte) *node {
	b := &builder{slab: s, text: text, stack: s.stack[:0], list: s.list[:0]}
	n, _ := b.value(b.space(0))
	s.stack, s.list = b.stack, b.list
	return n
}

func (b *builder) space(i int) int {
	for i < len(b.text) && (b.text[i] == ' ' || b.text[i] == '\n' || b.text[i] == '\r' || b.text[i] == '\t') {
		i++
	}
	return i
}

// value reads the value at i, and returns the offset behind it.
func (b *builder) value(i int) (*node, int) {
	n := b.node()
	end := 0
	switch n.kind = b.text[i]; n.kind {
	case '{':
		end = b.object(n, i)
	case '[':
		end = b.array(n, i)
	case '"':
		end = endOfString(b.text, i)
		n.text = b.text[i:end]
	default:
		if n.kind != 't' && n.kind != 'f' && n.kind != 'n' {
			n.kind = '0'
		}
		end = endOfLiteral(b.text, i)
		n.text = b.text[i:end]
	}
	n.size = end - i
	return n, end
}

func (b *builder) object(n *node, i int) int {
	mark := len(b.stack)
	i = b.space(i + 1)
	for b.text[i] != '}' {
		end := endOfString(b.text, i)
		f := field{key: b.text[i:end]}
		f.name = unquote(f.key)
		f.word = wordsByName[string(f.name)]
		i = b.space(b.space(end) + 1)
		f.value, i = b.value(i)
		f.value.up = n
		b.stack = append(b.stack, f)
		if i = b.space(i); b.text[i] == ',' {
			i = b.space(i + 1)
		}
	}
	n.fields = b.keep(withoutRepeats(b.stack[mark:]), 0)
	b.stack = b.stack[:mark]
	return i + 1
}

func (b *builder) array(n *node, i int) int {
	mark := len(b.list)
	i = b.space(i + 1)
	for b.text[i] != ']' {
		var e *node
		e, i = b.value(i)
		e.up = n
		b.list = append(b.list, e)
		if i = b.space(i); b.text[i] == ',' {
			i = b.space(i + 1)
		}
	}
	n.elems = b.keepList(b.list[mark:])
	b.list = b.list[:mark]
	return i + 1
}

// withoutRepeats puts the last value of a repeated key at the first one's place. It changes its argument.
func withoutRepeats(all []field) []field {
	if len(all) > few {
		return withoutRepeatsOfMany(all)
	}
	kept := all[:0]
	for _, f := range all {
		if i := indexOf(kept, f.name); i >= 0 {
			kept[i].value = f.value
		} else {
			kept = append(kept, f)
		}
	}
	return kept
}

func indexOf(all []field, name []byte) int {
	for i := range all {
		if string(all[i].name) == string(name) {
			return i
		}
	}
	return -1
}

func withoutRepeatsOfMany(all []field) []field {
	seen := make(map[string]int, len(all))
	kept := all[:0]
	for _, f := range all {
		if i, ok := seen[string(f.name)]; ok {
			kept[i].value = f.value
			continue
		}
		seen[string(f.name)] = len(kept)
		kept = append(kept, f)
	}
	return kept
}

// What adapting makes.

func newField(w word, key string, value *node) field {
	quoted := quote(key)
	return field{key: quoted, name: []byte(key), word: w, value: value}
}

func newString(s string) *node { return &node{kind: '"', text: quote(s)} }

func newArray(elems ...*node) *node { return &node{kind: '[', elems: elems} }

func newObject(fields ...field) *node { return &node{kind: '{', fields: fields} }

var (
	falseNode = &node{kind: 'f', text: []byte("false")}
	trueNode  = &node{kind: 't', text: []byte("true")}
	nullNode  = &node{kind: 'n', text: []byte("null")}
)
