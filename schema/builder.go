package schema

import (
	"slices"

	"github.com/indusagi/indus/internal/jsontree"
)

// builder is one schema while it is adapted: its keywords, in their order, and what they could not say.
type builder struct {
	fields []field
	from   *node // where it is in the original
	root   bool
	notes  []string          // for the description
	names  map[string]string // what properties are called now, of those whose name is another
	null   bool              // null is accepted too, which the schema does not say
	said   bool              // that null is accepted too is said
	done   bool              // it is one branch of a union, which has been adapted
	cut    bool              // a reference that it had, or that its items had, was cut
	back   *inverse
	mark   int // where the references begin that it inlines

	conditions []*builder // if, then and else of what was merged
}

func (d *builder) get(w string) *node { return jsontree.Lookup(d.fields, w) }

func (d *builder) has(w string) bool { return d.get(w) != nil }

// hasAny reports whether d has one of the keywords.
func (d *builder) hasAny(all ...string) bool { return slices.ContainsFunc(all, d.has) }

// hasTyped reports whether d has a keyword of the type.
func (d *builder) hasTyped(t typeSet) bool {
	return slices.ContainsFunc(d.fields, func(f field) bool { return typedWords[f.Name].has(t) })
}

// hasOther reports whether d has a keyword that is none of these and no annotation.
func (d *builder) hasOther(than ...string) bool { return hasOther(d.fields, than...) }

func hasOther(fields []field, than ...string) bool {
	return slices.ContainsFunc(fields, func(f field) bool { return !isAnnotation(f.Name) && !slices.Contains(than, f.Name) })
}

// set puts a keyword at its place, or at the end.
func (d *builder) set(w string, value *node) {
	if i := jsontree.IndexOf(d.fields, w); i >= 0 {
		d.fields[i].Value = value
		return
	}
	d.add(newMember(w, value))
}

// rename puts another keyword with another value where one stands.
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

// keep drops everything but annotations and these keywords.
func (d *builder) keep(all ...string) {
	d.dropIf(func(w string) bool { return !isAnnotation(w) && !slices.Contains(all, w) })
}

// keepOnly drops everything but one keyword.
func (d *builder) keepOnly(kept string) { d.dropIf(func(w string) bool { return w != kept }) }

func (d *builder) note(text string) {
	if text != "" && !slices.Contains(d.notes, text) {
		d.notes = append(d.notes, text)
	}
}

// condition takes if, then and else out of d.
func (d *builder) condition() *builder {
	c := &builder{from: d.from}
	for _, f := range d.fields {
		if f.Name == "if" || f.Name == "then" || f.Name == "else" {
			c.add(f)
		}
	}
	d.drop("if", "then", "else")
	return c
}

func (d *builder) node() *node { return &node{Kind: '{', Fields: d.fields} }

// add appends a field, whose keyword d has not.
func (d *builder) add(f field) { d.fields = append(d.fields, f) }

// declared are the types that type names, and every one where there is no type.
func (d *builder) declared() typeSet {
	t := d.get("type")
	if t == nil {
		return everyType
	}
	return typesOf(t)
}
