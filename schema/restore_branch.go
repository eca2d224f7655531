package schema

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/jsontree"
)

// matches reports whether a value follows an adapted schema. It checks only the keywords that help to find the branch
// of a union.
func (r *restorer) matches(v, s *node, level int) bool {
	matches, known := r.known[pairing{v, s}]
	if !known {
		r.known[pairing{v, s}] = false // assumed for references that lead back to s
		matches = r.matchSchema(v, s, level)
		r.known[pairing{v, s}] = matches
	}
	return matches
}

// pairing is the key of restorer.known.
type pairing struct{ value, schema *node }

func (r *restorer) matchSchema(v, s *node, level int) bool {
	if s.Kind != '{' || level > maxLevels {
		return s.Kind != 'f'
	}
	if isNullable(s) && isNull(v) {
		return true
	}
	if t := s.Get("type"); t != nil && typeOfValue(v)&typesOf(t) == 0 && !isWhole(v, typesOf(t)) {
		return false
	}
	if ref := s.Get("$ref"); ref != nil {
		if target := r.target(ref.Unquoted()); target != nil && !r.matches(v, target, level+1) {
			return false
		}
	}
	if all := allowedValues(s); all != nil && !slices.ContainsFunc(all, func(o *node) bool { return isEqual(v, o) }) {
		return false
	}
	for _, w := range []string{"anyOf", "oneOf"} {
		if u := s.Get(w); u != nil && !slices.ContainsFunc(u.Elems, func(b *node) bool { return r.matches(v, b, level+1) }) {
			return false
		}
	}
	switch v.Kind {
	case '{':
		return isWithin(s, len(v.Fields), "minProperties", "maxProperties") && r.objectMatches(v, s, level)
	case '[':
		if !isWithin(s, len(v.Elems), "minItems", "maxItems") {
			return false
		}
		if items := s.Get("items"); items != nil {
			return !slices.ContainsFunc(v.Elems, func(e *node) bool { return !r.matches(e, items, level+1) })
		}
	case '"':
		return isWithin(s, utf8.RuneCountInString(jsontree.Unquote(v.Text)), "minLength", "maxLength")
	case '0':
		return numberMatches(v, s)
	}
	return true
}

// target returns the schema that a reference in the adapted schema leads to.
func (r *restorer) target(ref string) *node {
	if r.root == nil || ref == "#" {
		return r.root
	}
	return r.root.Get("$defs").Get(lastStep(ref))
}

// isEqual reports whether two values are the same. Different escapes in strings do not matter.
func isEqual(n *node, o *node) bool {
	if n.Kind == '"' && o.Kind == '"' {
		return (jsontree.Unquote(n.Text)) == (jsontree.Unquote(o.Text))
	}
	return n.Same(o)
}

// isWithin reports whether a count is within the bounds of two keywords.
func isWithin(s *node, count int, minKeyword, maxKeyword string) bool {
	if bound := s.Get(minKeyword); bound != nil && float64(count) < bound.Number() {
		return false
	}
	bound := s.Get(maxKeyword)
	return bound == nil || float64(count) <= bound.Number()
}

func numberMatches(v, s *node) bool {
	return !slices.ContainsFunc(s.Fields, func(f field) bool {
		return f.Name == "minimum" && isLess(v, f.Value) || f.Name == "maximum" && isLess(f.Value, v) ||
			f.Name == "exclusiveMinimum" && !isLess(f.Value, v) || f.Name == "exclusiveMaximum" && !isLess(v, f.Value)
	})
}

// decidingKeywords lists the keywords that matches checks.
var decidingKeywords = setOf("type", "$ref", "enum", "const", "anyOf", "minProperties", "maxProperties", "minItems",
	"maxItems", "items", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
	"exclusiveMaximum", "required", "properties", "additionalProperties", "format", "nullable")

// canBeDecided reports whether matches gives an exact answer for every value.
func canBeDecided(s *node) bool {
	for i := range s.Fields {
		f := &s.Fields[i]
		decided := isAnnotation(f.Name) || decidingKeywords.has(f.Name)
		switch f.Name {
		case "properties":
			decided = !slices.ContainsFunc(f.Value.Fields, func(p field) bool { return !canBeDecided(p.Value) })
		case "items", "additionalProperties":
			decided = canBeDecided(f.Value)
		case "anyOf":
			decided = !slices.ContainsFunc(f.Value.Elems, func(e *node) bool { return !canBeDecided(e) })
		}
		if !decided {
			return false
		}
	}
	return true
}

func (r *restorer) objectMatches(v, s *node, level int) bool {
	for _, name := range s.Get("required").Elements() {
		if v.Get(name.Unquoted()) == nil {
			return false
		}
	}
	props, more := s.Get("properties"), s.Get("additionalProperties")
	for _, f := range v.Fields {
		propertySchema := cmp.Or(props.Get(f.Name), more)
		if propertySchema != nil && !r.matches(f.Value, propertySchema, level+1) {
			return false
		}
	}
	return true
}
