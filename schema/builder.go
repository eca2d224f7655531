package schema

import "slices"

// builder is one schema while it is adapted: its keywords, in their order, and what they could not say.
type builder struct {
	fields []field
	has    words
	from   *node // where it is in the original
	root   bool
	notes  []string          // for the description
	names  map[string]string // what properties are called now, of those whose name is another
	null   bool              // null is accepted too, which the schema does not say
	done   bool              // it is one branch of a union, which has been adapted
	cut    bool              // a reference that it had, or that its items had, was cut
	said   bool              // that null is accepted too is said
	back   *inverse
	mark   int // where the references begin that it inlines

	conditions []*builder // if, then and else of what was merged
}

func (d *builder) get(w word) *node {
	if !d.has.has(w) {
		return nil
	}
	for i := range d.fields {
		if d.fields[i].word == w {
			return d.fields[i].value
		}
	}
	return nil
}

// set puts a keyword at its place, or at the end.
func (d *builder) set(w word, value *node) {
	for i := range d.fields {
		if d.fields[i].word == w {
			d.fields[i].value = value
			return
		}
	}
	d.add(newField(w, value))
}

// rename puts another keyword with another value where one stands.
func (d *builder) rename(w, to word, value *node) {
	if d.has.has(to) {
		d.drop(w)
		d.set(to, value)
		return
	}
	for i := range d.fields {
		if d.fields[i].word == w {
			d.fields[i] = newField(to, value)
		}
	}
	d.has = d.has&^w.set() | to.set()
}

func (d *builder) drop(all ...word) { d.dropSet(setOf(all...)) }

func (d *builder) dropSet(s words) {
	if d.has&s == 0 {
		return
	}
	d.fields = slices.DeleteFunc(d.fields, func(f field) bool { return s.has(f.word) })
	d.has &^= s
}

func (d *builder) note(text string) {
	if text != "" && !slices.Contains(d.notes, text) {
		d.notes = append(d.notes, text)
	}
}

// condition takes if, then and else out of d.
func (d *builder) condition() *builder {
	c := &builder{from: d.from}
	for _, f := range d.fields {
		if f.word == wordIf || f.word == wordThen || f.word == wordElse {
			c.add(f)
		}
	}
	d.drop(wordIf, wordThen, wordElse)
	return c
}

func (d *builder) node() *node { return &node{kind: '{', fields: d.fields} }

// add appends the fields of n, whose keywords d has not.
func (d *builder) add(f field) {
	d.fields = append(d.fields, f)
	d.has |= f.word.set()
}

// declared are the types that type names, and every one where there is no type.
func (d *builder) declared() typeSet {
	t := d.get(wordType)
	if t == nil {
		return everyType
	}
	return typesOf(t)
}
