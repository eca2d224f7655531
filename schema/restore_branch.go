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
	if nullable := s.get("nullable"); nullable != nil && nullable.kind == 't' && isNull(v) {
		return true
	}
	if t := s.get("type"); t != nil && typeOfValue(v)&typesOf(t) == 0 && !isWhole(v, typesOf(t)) {
		return false
	}
	if ref := s.get("$ref"); ref != nil {
		if target := r.target(ref.string()); target != nil && !r.follows(v, target, level+1) {
			return false
		}
	}
	if all := allowedValues(s); all != nil && !slices.ContainsFunc(all, v.equal) {
		return false
	}
	for _, w := range []string{"anyOf", "oneOf"} {
		if u := s.get(w); u != nil && !slices.ContainsFunc(u.elems, func(b *node) bool { return r.follows(v, b, level+1) }) {
			return false
		}
	}
	switch v.kind {
	case '{':
		return isWithin(s, len(v.fields), "minProperties", "maxProperties") && r.objectFollows(v, s, level)
	case '[':
		if !isWithin(s, len(v.elems), "minItems", "maxItems") {
			return false
		}
		if items := s.get("items"); items != nil {
			return !slices.ContainsFunc(v.elems, func(e *node) bool { return !r.follows(e, items, level+1) })
		}
	case '"':
		return isWithin(s, utf8.RuneCountInString(unquote(v.text)), "minLength", "maxLength")
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
	if defs := r.root.get("$defs"); defs != nil {
		return defs.get(lastStep(ref))
	}
	return nil
}

// equal reports whether two values are the same, however their strings are written.
func (n *node) equal(o *node) bool {
	if n.kind == '"' && o.kind == '"' {
		return (unquote(n.text)) == (unquote(o.text))
	}
	return n.same(o)
}

// isWithin reports whether a count keeps the bounds that two keywords give.
func isWithin(s *node, count int, least, most string) bool {
	if bound := s.get(least); bound != nil && float64(count) < numberOf(bound) {
		return false
	}
	bound := s.get(most)
	return bound == nil || float64(count) <= numberOf(bound)
}

func numberFollows(v, s *node) bool {
	for i := range s.fields {
		bound := s.fields[i].value
		switch s.fields[i].name {
		case "minimum":
			if isLess(v, bound) {
				return false
			}
		case "maximum":
			if isLess(bound, v) {
				return false
			}
		case "exclusiveMinimum":
			if !isLess(bound, v) {
				return false
			}
		case "exclusiveMaximum":
			if !isLess(v, bound) {
				return false
			}
		}
	}
	return true
}

// followed is what follows looks at.
var followed = setOf("type", "$ref", "enum", "const", "anyOf", "minProperties", "maxProperties", "minItems",
	"maxItems", "items", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
	"exclusiveMaximum", "required", "properties", "additionalProperties", "format", "nullable")

// canBeDecided reports whether follows can say of every value whether it follows s.
func canBeDecided(s *node) bool {
	for i := range s.fields {
		f := &s.fields[i]
		decided := isAnnotation(f.name) || followed.has(f.name)
		switch f.name {
		case "properties":
			decided = !slices.ContainsFunc(f.value.fields, func(p field) bool { return !canBeDecided(p.value) })
		case "items", "additionalProperties":
			decided = canBeDecided(f.value)
		case "anyOf":
			decided = !slices.ContainsFunc(f.value.elems, func(e *node) bool { return !canBeDecided(e) })
		}
		if !decided {
			return false
		}
	}
	return true
}

func (r *restorer) objectFollows(v, s *node, level int) bool {
	for _, name := range s.get("required").list() {
		if v.get(name.string()) == nil {
			return false
		}
	}
	props, more := s.get("properties"), s.get("additionalProperties")
	for _, f := range v.fields {
		of := more
		if props != nil {
			if p := props.get(f.name); p != nil {
				of = p
			}
		}
		if of != nil && !r.follows(f.value, of, level+1) {
			return false
		}
	}
	return true
}
