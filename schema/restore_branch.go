package schema

import (
	"slices"
	"unicode/utf8"
)

// follows reports whether a value follows an adapted schema, as far as it takes to find the branch of a union that it belongs to.
func (r *restorer) follows(v, s *node, level int) bool {
	follows, known := r.known[pairing{v, s}]
	if !known {
		r.known[pairing{v, s}] = false // what leads back to itself says nothing
		follows = r.follow(v, s, level)
		r.known[pairing{v, s}] = follows
	}
	return follows
}

// pairing is a value and a schema.
type pairing struct{ value, schema *node }

func (r *restorer) follow(v, s *node, level int) bool {
	if s.kind != '{' || level > maxLevels {
		return s.kind != 'f'
	}
	if nullable := s.get(wordNullable); nullable != nil && nullable.kind == 't' && isNull(v) {
		return true
	}
	if t := s.get(wordType); t != nil && typeOfValue(v)&typesOf(t) == 0 && !isWhole(v, typesOf(t)) {
		return false
	}
	if ref := s.get(wordRef); ref != nil {
		if target := r.target(ref.string()); target != nil && !r.follows(v, target, level+1) {
			return false
		}
	}
	if all := allowedValues(s); all != nil && !slices.ContainsFunc(all, v.equal) {
		return false
	}
	for _, w := range []word{wordAnyOf, wordOneOf} {
		if u := s.get(w); u != nil && !slices.ContainsFunc(u.elems, func(b *node) bool { return r.follows(v, b, level+1) }) {
			return false
		}
	}
	switch v.kind {
	case '{':
		return isWithin(s, len(v.fields), wordMinProperties, wordMaxProperties) && r.objectFollows(v, s, level)
	case '[':
		if !isWithin(s, len(v.elems), wordMinItems, wordMaxItems) {
			return false
		}
		if items := s.get(wordItems); items != nil {
			return !slices.ContainsFunc(v.elems, func(e *node) bool { return !r.follows(e, items, level+1) })
		}
	case '"':
		return isWithin(s, utf8.RuneCount(unquote(v.text)), wordMinLength, wordMaxLength)
	case '0':
		return numberFollows(v, s)
	}
	return true
}

// target is what a reference of an adapted schema leads to.
func (r *restorer) target(ref string) *node {
	if r.root == nil || ref == "#" {
		return r.root
	}
	if defs := r.root.get(wordDefs); defs != nil {
		return defs.member(lastStep(ref))
	}
	return nil
}

// equal reports whether two values are the same, however their strings are written.
func (n *node) equal(o *node) bool {
	if n.kind == '"' && o.kind == '"' {
		return string(unquote(n.text)) == string(unquote(o.text))
	}
	return n.same(o)
}

// isWithin reports whether a count keeps the bounds that two keywords give.
func isWithin(s *node, count int, least, most word) bool {
	if bound := s.get(least); bound != nil && float64(count) < numberOf(bound) {
		return false
	}
	bound := s.get(most)
	return bound == nil || float64(count) <= numberOf(bound)
}

func numberFollows(v, s *node) bool {
	for i := range s.fields {
		bound := s.fields[i].value
		switch s.fields[i].word {
		case wordMinimum:
			if isLess(v, bound) {
				return false
			}
		case wordMaximum:
			if isLess(bound, v) {
				return false
			}
		case wordExclusiveMinimum:
			if !isLess(bound, v) {
				return false
			}
		case wordExclusiveMaximum:
			if !isLess(v, bound) {
				return false
			}
		}
	}
	return true
}

// followed is what follows looks at.
var followed = annotations | setOf(wordType, wordRef, wordEnum, wordConst, wordAnyOf, wordMinProperties, wordMaxProperties, wordMinItems,
	wordMaxItems, wordItems, wordMinLength, wordMaxLength, wordMinimum, wordMaximum, wordExclusiveMinimum,
	wordExclusiveMaximum, wordRequired, wordProperties, wordAdditionalProperties, wordFormat, wordNullable)

// canBeDecided reports whether follows can say of every value whether it follows s.
func canBeDecided(s *node) bool {
	for i := range s.fields {
		f := &s.fields[i]
		decided := followed.has(f.word)
		switch f.word {
		case wordProperties:
			decided = !slices.ContainsFunc(f.value.fields, func(p field) bool { return !canBeDecided(p.value) })
		case wordItems, wordAdditionalProperties:
			decided = canBeDecided(f.value)
		case wordAnyOf:
			decided = !slices.ContainsFunc(f.value.elems, func(e *node) bool { return !canBeDecided(e) })
		}
		if !decided {
			return false
		}
	}
	return true
}

func (r *restorer) objectFollows(v, s *node, level int) bool {
	for _, name := range s.get(wordRequired).list() {
		if v.member(name.string()) == nil {
			return false
		}
	}
	props, more := s.get(wordProperties), s.get(wordAdditionalProperties)
	for _, f := range v.fields {
		of := more
		if props != nil {
			if p := props.member(string(f.name)); p != nil {
				of = p
			}
		}
		if of != nil && !r.follows(f.value, of, level+1) {
			return false
		}
	}
	return true
}
