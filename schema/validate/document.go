package validate

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/internal/text"
)

// place is a value within a document.
type place struct {
	value any
	path  string // RFC 6901
	base  string // what references in it are relative to
	draft int    // it is this draft's own schema, which is not in the document
}

func (p place) in(step string, value any) place {
	return place{value: value, path: p.path + "/" + text.PointerStep(step), base: p.base}
}

var errLong = errors.New("its names or ids are too long")

// document is a schema and all that references in it may lead to.
type document struct {
	root  place
	draft int
	idKey string // the keyword that gives a schema its URI
	ids   map[string]place
	names map[string]place // URI#anchor
	size  int              // bytes of all paths and bases
}

func newDocument(doc any, draft int) *document {
	d := &document{root: place{value: doc}, draft: draft, idKey: "$id", ids: map[string]place{}, names: map[string]place{}}
	if draft == 4 {
		d.idKey = "id"
	}
	d.ids[""] = d.root
	d.index(d.root)
	return d
}

// maxPaths bounds the paths and bases of a document. A name of n bytes is in the path of all that is within it.
const maxPaths = 32 << 20

// dataKeywords hold values that may look like schemas.
var dataKeywords = []string{"const", "enum", "default", "examples", "example"}

// index finds what schemas are called. What is under a keyword that nobody knows is looked into, too: references lead there.
func (d *document) index(p place) {
	if d.size += len(p.path) + len(p.base); d.size > maxPaths {
		return
	}
	switch v := p.value.(type) {
	case []any:
		for i, one := range v {
			if d.size > maxPaths {
				return
			}
			d.index(p.in(strconv.Itoa(i), one))
		}
	case map[string]any:
		outer := p
		p = d.enter(p)
		if d.ids[p.base].value == nil {
			d.ids[p.base] = outer
		}
		_, name, _ := strings.Cut(stringOf(v[d.idKey]), "#")
		for _, name := range []string{name, stringOf(v["$anchor"]), stringOf(v["$dynamicAnchor"])} {
			if name != "" {
				d.names[p.base+"#"+name] = outer
			}
		}
		for key, inner := range v {
			if d.size > maxPaths {
				return
			}
			if slices.Contains(dataKeywords, key) {
				continue
			}
			in := p.in(key, inner)
			named, isMap := inner.(map[string]any)
			if !isMap || !keyword.IsNamed(key) {
				d.index(in)
				continue
			}
			for name, one := range named {
				if d.size > maxPaths {
					return
				}
				d.index(in.in(name, one))
			}
		}
	}
}

func stringOf(v any) string {
	s, _ := v.(string)
	return s
}

// enter is p with the base that the schema there gives itself.
func (d *document) enter(p place) place {
	object, _ := p.value.(map[string]any)
	if _, refers := object["$ref"]; refers && d.draft < 2019 {
		return p // all but the reference is ignored
	}
	if id, _, _ := strings.Cut(stringOf(object[d.idKey]), "#"); id != "" {
		p.base = join(p.base, id)
	}
	return p
}

// join is a URI reference, seen from base.
func join(base, ref string) string {
	b, err := url.Parse(base)
	r, bad := url.Parse(ref)
	if base == "" || err != nil || bad != nil {
		return ref
	}
	joined := b.ResolveReference(r).String()
	if !b.IsAbs() && base[0] != '/' && ref[:min(len(ref), 1)] != "/" {
		joined = strings.TrimPrefix(joined, "/") // which Go adds
	}
	return joined
}

// resolve is what a reference from a place with that base leads to.
func (d *document) resolve(ref, base string) (place, error) {
	address, fragment, _ := strings.Cut(ref, "#")
	if address != "" {
		base = join(base, address)
	}
	p, ok := d.ids[base]
	if !ok {
		if at := draftAt(base); at >= 0 && fragment == "" {
			return place{draft: knownDrafts[at].draft}, nil
		}
		return p, fmt.Errorf("%s is not fetched", shorten(base, 200))
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	if fragment != "" && fragment[0] != '/' {
		if p, ok = d.names[base+"#"+fragment]; !ok {
			return p, fmt.Errorf("%s is not found", shorten(ref, 200))
		}
		return p, nil
	}
	for _, step := range strings.Split(fragment, "/")[1:] {
		if d.size += len(p.path); d.size > maxPaths {
			return p, errLong
		}
		if p, ok = d.step(p, text.FromPointerStep(step)); !ok {
			return p, fmt.Errorf("%s is not found", shorten(ref, 200))
		}
	}
	switch p.value.(type) {
	case bool, map[string]any:
		return p, nil
	}
	return p, errors.New(shorten(ref, 200) + " is no schema")
}

func (d *document) step(p place, step string) (place, bool) {
	switch v := p.value.(type) {
	case map[string]any:
		inner, ok := v[step]
		return d.enter(p).in(step, inner), ok
	case []any:
		i, err := strconv.Atoi(step)
		if err == nil && i >= 0 && i < len(v) {
			return p.in(step, v[i]), true
		}
	}
	return p, false
}
