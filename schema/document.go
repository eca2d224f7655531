package schema

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// document is a schema in which references are followed. Nothing is fetched.
type document struct {
	root  *node
	names map[string]*node // by $id and #anchor; nil until one is looked up
}

// lookUp returns the value that a reference leads to, or nil.
func (d *document) lookUp(ref string) *node {
	base, fragment, _ := strings.Cut(ref, "#")
	from := d.root
	if base != "" {
		if from = d.named(base); from == nil {
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
		return d.named("#" + fragment)
	}
	for step := range strings.SplitSeq(pointer, "/") {
		if from = from.child(text.FromPointerStep(step)); from == nil {
			return nil
		}
	}
	return from
}

// child is the member or the element of that name.
func (n *node) child(step string) *node {
	if n.kind != '[' {
		return n.get(step)
	}
	i, err := strconv.Atoi(step)
	if err != nil || i < 0 || i >= len(n.elems) || strconv.Itoa(i) != step {
		return nil
	}
	return n.elems[i]
}

// named is the first schema with that $id, or with that anchor, which has # before it.
func (d *document) named(name string) *node {
	if d.names == nil {
		d.names = map[string]*node{}
		d.findNames(d.root)
	}
	return d.names[name]
}

func (d *document) findNames(n *node) {
	for _, f := range n.fields {
		name := f.value.string()
		if anchorWords.has(f.name) && name != "" {
			name = "#" + name
		}
		if (f.name == "$id" || anchorWords.has(f.name)) && name != "" && d.names[name] == nil {
			d.names[name] = n
		}
		d.findNames(f.value)
	}
	for _, e := range n.elems {
		d.findNames(e)
	}
}
