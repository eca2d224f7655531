package schema

import "slices"

// draft is one schema while it is adapted: its keywords, in their order, and what they could not say.
type draft struct {
	fields []field
	has    words
	from   *node // where it stands in the original
	root   bool
	notes  []string          // for the description
	names  map[string]string // what properties are called now, of those whose name is another
	null   bool              // null is accepted too, which the schema does not say
	done   bool              // it is one branch of a union, which has been adapted
	cut    bool              // a reference that it had, or that its items had, was cut
	said   bool              // that null is accepted too is said
	back   *way
	mark   int // where the frames begin that it has entered

	conditions []*draft // if, then and else of what was merged
}

func (d *draft) get(w word) *node {
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
func (d *draft) set(w word, name string, value *node) {
	if d.has.has(w) {
		for i := range d.fields {
			if d.fields[i].word == w {
				d.fields[i].value = value
				return
			}
		}
	}
	d.has |= w.set()
	d.fields = append(d.fields, newField(w, name, value))
}

// rename puts another keyword with another value where one stands.
func (d *draft) rename(w, to word, name string, value *node) {
	if d.has.has(to) {
		d.drop(w)
		d.set(to, name, value)
		return
	}
	for i := range d.fields {
		if d.fields[i].word == w {
			d.fields[i] = newField(to, name, value)
		}
	}
	d.has = d.has&^w.set() | to.set()
}

func (d *draft) drop(all ...word) { d.dropSet(setOf(all...)) }

func (d *draft) dropSet(s words) {
	if d.has&s == 0 {
		return
	}
	d.fields = slices.DeleteFunc(d.fields, func(f field) bool { return s.has(f.word) })
	d.has &^= s
}

func (d *draft) note(text string) {
	if text != "" && !slices.Contains(d.notes, text) {
		d.notes = append(d.notes, text)
	}
}

// condition takes if, then and else out of d.
func (d *draft) condition() *draft {
	c := &draft{from: d.from}
	for _, f := range d.fields {
		if f.word == wordIf || f.word == wordThen || f.word == wordElse {
			c.add(f)
		}
	}
	d.drop(wordIf, wordThen, wordElse)
	return c
}

func (d *draft) node() *node { return &node{kind: '{', fields: d.fields} }

// add appends the fields of n, whose keywords d has not.
func (d *draft) add(f field) {
	d.fields = append(d.fields, f)
	d.has |= f.word.set()
}

// declared are the types that type names, and every one where there is no type.
func (d *draft) declared() types {
	t := d.get(wordType)
	if t == nil {
		return everyType
	}
	return typesOf(t)
}

// typesOf reads the value of type. What is no type counts for nothing.
func typesOf(t *node) types {
	if t.kind != '[' {
		return typeNamed(t.string())
	}
	var s types
	for _, e := range t.elems {
		s |= typeNamed(e.string())
	}
	return s
}

// typeOfValue is the type of a JSON value.
func typeOfValue(n *node) types {
	switch n.kind {
	case '{':
		return typeObject
	case '[':
		return typeArray
	case '"':
		return typeString
	case 't', 'f':
		return typeBoolean
	case 'n':
		return typeNull
	}
	for _, c := range n.text {
		if c == '.' || c == 'e' || c == 'E' {
			return typeNumber
		}
	}
	return typeInteger
}
