package schema

import (
	"slices"

	"github.com/indusagi/indus/internal/jsontree"
)

// builder is one schema while it is adapted: its keywords, in their order, and notes for the rest.
type builder struct {
	fields       []field
	original     *node // the schema in the original
	root         bool
	notes        []string          // constraints for the description
	names        map[string]string // the new names of renamed properties, by old name
	null         bool              // null is accepted too, but the schema does not express it
	nullWritten  bool              // the schema expresses that null is accepted
	finished     bool              // it is an adapted branch of a union
	cut          bool              // a reference in it or in its items was cut
	undo         *inverse
	firstInlined int // index in adapter.inside of the first reference that it inlines

	conditions []*builder              // if, then and else of merged schemas
	merged     map[string]*mergedNames // by keyword, while mergeEach runs
}

func (d *builder) get(w string) *node { return jsontree.Lookup(d.fields, w) }

func (d *builder) has(w string) bool { return d.get(w) != nil }

func (d *builder) hasAny(all ...string) bool { return slices.ContainsFunc(all, d.has) }

// hasTyped reports whether d has a keyword that applies to the type.
func (d *builder) hasTyped(t typeSet) bool {
	return slices.ContainsFunc(d.fields, func(f field) bool { return typedWords[f.Name].has(t) })
}

// hasOther reports whether d has a keyword other than the given keywords and annotations.
func (d *builder) hasOther(except ...string) bool { return hasOther(d.fields, except...) }

func hasOther(fields []field, except ...string) bool {
	return slices.ContainsFunc(fields, func(f field) bool {
		return !isAnnotation(f.Name) && !slices.Contains(except, f.Name)
	})
}

// set replaces the value of a keyword, or appends the keyword.
func (d *builder) set(w string, value *node) {
	if i := jsontree.IndexOf(d.fields, w); i >= 0 {
		d.fields[i].Value = value
		return
	}
	d.add(newMember(w, value))
}

// rename replaces a keyword and its value in place.
func (d *builder) rename(w, to string, value *node) {
	if d.has(to) {
		d.drop(w)
		d.set(to, value)
	} else if i := jsontree.IndexOf(d.fields, w); i >= 0 {
		d.fields[i] = newMember(to, value)
	}
}

func (d *builder) drop(all ...string) {
	d.dropIf(func(w string) bool { return slices.Contains(all, w) })
}

func (d *builder) dropIf(drop func(w string) bool) {
	d.fields = slices.DeleteFunc(d.fields, func(f field) bool { return drop(f.Name) })
}

// keepAnnotationsAnd drops all keywords except annotations and the given keywords.
func (d *builder) keepAnnotationsAnd(all ...string) {
	d.dropIf(func(w string) bool { return !isAnnotation(w) && !slices.Contains(all, w) })
}

func (d *builder) keepOnly(keyword string) { d.dropIf(func(w string) bool { return w != keyword }) }

func (d *builder) note(text string) {
	if text != "" && !slices.Contains(d.notes, text) {
		d.notes = append(d.notes, text)
	}
}

// condition moves if, then and else from d to a new builder.
func (d *builder) condition() *builder {
	c := &builder{original: d.original}
	for _, f := range d.fields {
		if f.Name == "if" || f.Name == "then" || f.Name == "else" {
			c.add(f)
		}
	}
	d.drop("if", "then", "else")
	return c
}

func (d *builder) node() *node { return &node{Kind: '{', Fields: d.fields} }

// add appends a field. d must not have its keyword yet.
func (d *builder) add(f field) { d.fields = append(d.fields, f) }

// declared returns the types in type, or every type if there is no type.
func (d *builder) declared() typeSet {
	t := d.get("type")
	if t == nil {
		return everyType
	}
	return typesOf(t)
}
