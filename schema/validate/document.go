package validate

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/internal/text"
)

// node is a value of a schema or of arguments.
type node = jsontree.Node

var errLong = errors.New("its ids are too long")

// document is a schema with all schemas that references in it may lead to.
type document struct {
	root  *node
	draft int
	idKey string           // the keyword that sets the URI of a schema
	bases map[*node]string // the URIs of the schemas that have their own
	ids   map[string]*node // by URI
	names map[string]*node // by URI#anchor
	size  int              // bytes of all URIs
}

func newDocument(root *node, draft int) *document {
	d := &document{root: root, draft: draft, idKey: "$id",
		bases: map[*node]string{}, ids: map[string]*node{"": root}, names: map[string]*node{}}
	if draft == 4 {
		d.idKey = "id"
	}
	d.index(root, "")
	return d
}

// maxBases bounds the total length of the URIs in a document. Each URI may be as long as all URIs around it together.
const maxBases = 32 << 20

// dataKeywords lists keywords with values that may look like schemas.
var dataKeywords = []string{"const", "enum", "default", "examples", "example"}

// index records the URIs and anchors of schemas. It also searches unknown keywords, because references may lead there.
func (d *document) index(n *node, base string) {
	if d.size > maxBases {
		return
	}
	for _, e := range n.Elems {
		d.index(e, base)
	}
	if !n.Is("{") {
		return
	}
	id, anchor, _ := strings.Cut(n.Get(d.idKey).Content(), "#")
	if id != "" && !(d.draft < 2019 && n.Get("$ref") != nil) { // in these drafts, all keywords beside $ref are ignored
		base = join(base, id)
		d.size += len(base)
		d.bases[n] = base
		if d.ids[base] == nil {
			d.ids[base] = n
		}
	}
	for _, name := range []string{anchor, n.Get("$anchor").Content(), n.Get("$dynamicAnchor").Content()} {
		if name != "" {
			d.names[base+"#"+name] = n
		}
	}
	for _, f := range n.Fields {
		switch {
		case slices.Contains(dataKeywords, f.Name):
		case f.Value.Is("{") && keyword.IsNamed(f.Name):
			for _, member := range f.Value.Fields {
				d.index(member.Value, base)
			}
		default:
			d.index(f.Value, base)
		}
	}
}

// baseOf returns the URI to which references in a schema are relative.
func (d *document) baseOf(n *node) string {
	for n != d.root && d.bases[n] == "" {
		n = n.Parent
	}
	return d.bases[n]
}

// join resolves a URI reference against base.
func join(base, ref string) string {
	b, err := url.Parse(base)
	r, refErr := url.Parse(ref)
	if base == "" || err != nil || refErr != nil {
		return ref
	}
	joined := b.ResolveReference(r).String()
	if !b.IsAbs() && base[0] != '/' && ref[:min(len(ref), 1)] != "/" {
		joined = strings.TrimPrefix(joined, "/") // Go adds this slash
	}
	return joined
}

// resolve returns the target of a reference. If the reference leads to the metaschema of a known draft, which is not in
// the document, it returns the draft instead.
func (d *document) resolve(ref *node) (target *node, draft int, err error) {
	address, fragment, _ := strings.Cut(ref.Content(), "#")
	base := d.baseOf(ref)
	if address != "" {
		base = join(base, address)
	}
	target = d.ids[base]
	if target == nil {
		if at := draftAt(base); at >= 0 && fragment == "" {
			return nil, knownDrafts[at].draft, nil
		}
		return nil, 0, fmt.Errorf("%s is not fetched", shorten(base, 200))
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	if fragment != "" && fragment[0] != '/' {
		target, fragment = d.names[base+"#"+fragment], ""
	}
	for _, step := range strings.Split(fragment, "/")[1:] {
		target = target.Child(text.FromPointerStep(step))
	}
	switch {
	case target == nil:
		err = fmt.Errorf("%s is not found", shorten(ref.Content(), 200))
	case !target.Is("{tf"):
		err = errors.New(shorten(ref.Content(), 200) + " is no schema")
	}
	return target, 0, err
}
