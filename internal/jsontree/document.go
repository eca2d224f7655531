package jsontree

import (
	"net/url"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/text"
)

// Document is a JSON Schema in which references are followed. Nothing is fetched.
type Document struct {
	Root  *Node
	names func() map[string]*Node // by $id and #anchor
}

// NewDocument returns the document of a schema.
func NewDocument(root *Node) *Document {
	d := &Document{Root: root}
	d.names = sync.OnceValue(func() map[string]*Node {
		names := map[string]*Node{}
		findNames(root, names)
		return names
	})
	return d
}

// LookUp returns the value that a reference leads to, or nil.
func (d *Document) LookUp(ref string) *Node {
	base, fragment, _ := strings.Cut(ref, "#")
	from := d.Root
	if base != "" {
		if from = d.names()[base]; from == nil {
			return nil
		}
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	pointer, isPointer := strings.CutPrefix(fragment, "/")
	switch {
	case fragment == "":
		return from
	case !isPointer:
		return d.names()["#"+fragment]
	}
	for step := range strings.SplitSeq(pointer, "/") {
		if from = from.Child(text.FromPointerStep(step)); from == nil {
			return nil
		}
	}
	return from
}

// findNames enters the names of the schemas in n. Of two schemas with one name it enters the first.
func findNames(n *Node, names map[string]*Node) {
	for _, f := range n.Fields {
		name := f.Value.Unquoted()
		isAnchor := f.Name == "$anchor" || f.Name == "$dynamicAnchor" || f.Name == "$recursiveAnchor"
		if isAnchor && name != "" {
			name = "#" + name
		}
		if (f.Name == "$id" || isAnchor) && name != "" && names[name] == nil {
			names[name] = n
		}
		findNames(f.Value, names)
	}
	for _, e := range n.Elems {
		findNames(e, names)
	}
}
