package jsontree

import (
	"net/url"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/text"
)

// Document is a JSON Schema in which references are followed. It fetches nothing.
type Document struct {
	Root  *Node
	names func() map[string]*Node // keyed by $id and #anchor
}

// NewDocument returns the document of a schema.
func NewDocument(root *Node) *Document {
	return &Document{Root: root, names: sync.OnceValue(func() map[string]*Node { return namesIn(root) })}
}

// LookUp returns the value to which a reference leads, or nil.
func (d *Document) LookUp(ref string) *Node {
	base, fragment, _ := strings.Cut(ref, "#")
	from := d.Root
	if base != "" {
		from = d.names()[base]
		if from == nil {
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
		from = from.Child(text.FromPointerStep(step))
		if from == nil {
			return nil
		}
	}
	return from
}

// namesIn returns the names of the schemas in root. If two schemas have the same name, it takes the first.
func namesIn(root *Node) map[string]*Node {
	names := map[string]*Node{}
	for n := range root.All() {
		for _, f := range n.Fields {
			name := f.Value.Unquoted()
			switch f.Name {
			case "$id":
			case "$anchor", "$dynamicAnchor", "$recursiveAnchor":
				name = "#" + name
			default:
				continue
			}
			if f.Value.Unquoted() != "" && names[name] == nil {
				names[name] = n
			}
		}
	}
	return names
}
