package schema

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/jsontree"
)

// fallback is what stands for anything that is no schema with one known type.
const fallback = `{"type":"object","properties":{}}`

// maxLevels is how many schemas may stand inside one another; the root is the first. It bounds the recursion.
const maxLevels = 1_000

// Normalize returns the schema that the first editions of this bridge showed to models. It accepts any bytes and gives a
// new slice of compact JSON: an object with a type. The keys of input stay in their order, spelled as they are.
//
// For a schema and for each one below it:
//
//   - Without a type that is one of object, array, string, number, integer, boolean and null, it becomes
//     {"type":"object","properties":{}}. So does malformed JSON, a value that is no object, and what lies below 1,000
//     levels.
//   - These keywords go: $schema, $id, $ref, $defs, definitions, $comment, deprecated, readOnly, writeOnly, default,
//     examples, contentEncoding, contentMediaType. Properties of that name stay.
//   - An object has properties: they are added as its last key if they are missing, and replaced by {} where they stand
//     if they are no object. Each property is normalised. In required only names of properties stay, in their order;
//     nothing is left of it if none stays, or if it is no array. An additionalProperties that is an object is normalised,
//     a boolean stays, anything else goes.
//   - In an array, a list of items gives way to its first element, or goes if it is empty. Items that are a boolean stay,
//     anything else is normalised.
//   - Every other keyword stays as it is, byte for byte without whitespace.
//   - Of a repeated key, the last value is at the first one's place. Inside keywords that stay as they are, repeated
//     keys stay too.
func Normalize(input []byte) []byte {
	var compact bytes.Buffer
	if !utf8.Valid(input) || json.Compact(&compact, input) != nil {
		return []byte(fallback)
	}
	n := normalizer{out: make([]byte, 0, max(compact.Len(), len(fallback)))}
	n.schema(jsontree.Parse(compact.Bytes()), 1)
	return n.out
}

type normalizer struct{ out []byte }

// schema writes a schema, which is the level-th from the root.
func (n *normalizer) schema(s *node, level int) {
	declared := typeNamed(s.Get("type").Unquoted())
	if level > maxLevels || declared == 0 {
		n.out = append(n.out, fallback...)
		return
	}
	var isProperty func(string) bool
	if declared == typeObject {
		isProperty = lookUpFields(s.Get("properties").Members())
	}
	n.out = append(n.out, '{')
	for i := range s.Fields {
		f := &s.Fields[i]
		switch {
		case declared == typeObject && f.Name == "properties":
			n.properties(f, level)
		case declared == typeObject && f.Name == "required":
			n.required(f, isProperty)
		case declared == typeObject && f.Name == "additionalProperties":
			if isSchema(f.Value) {
				n.member(f, level)
			}
		case declared == typeArray && f.Name == "items":
			n.items(*f, level)
		case !strippedKeywords[f.Name]:
			n.key(f)
			n.out = append(n.out, f.Value.Text...)
		}
	}
	if declared == typeObject && s.Get("properties") == nil {
		n.comma()
		n.out = append(n.out, `"properties":{}`...)
	}
	n.out = append(n.out, '}')
}

// member writes a keyword whose value is a schema, or true or false, which stay.
func (n *normalizer) member(f *field, level int) {
	n.key(f)
	if f.Value.Kind == 't' || f.Value.Kind == 'f' {
		n.out = append(n.out, f.Value.Text...)
		return
	}
	n.schema(f.Value, level+1)
}

func (n *normalizer) properties(f *field, level int) {
	n.key(f)
	n.out = append(n.out, '{')
	for i := range f.Value.Fields {
		n.key(&f.Value.Fields[i])
		n.schema(f.Value.Fields[i].Value, level+1)
	}
	n.out = append(n.out, '}')
}

func (n *normalizer) required(f *field, isProperty func(string) bool) {
	before := len(n.out)
	n.key(f)
	n.out = append(n.out, '[')
	first := len(n.out)
	for _, e := range f.Value.Elems {
		if e.Kind == '"' && isProperty(jsontree.Unquote(e.Text)) {
			n.out = append(append(n.out, e.Text...), ',')
		}
	}
	if len(n.out) == first {
		n.out = n.out[:before]
		return
	}
	n.out[len(n.out)-1] = ']' // in place of the last comma
}

func (n *normalizer) items(f field, level int) {
	if f.Value.Kind == '[' {
		if len(f.Value.Elems) == 0 {
			return
		}
		f.Value = f.Value.Elems[0]
	}
	n.member(&f, level)
}

func (n *normalizer) key(f *field) {
	n.comma()
	n.out = append(append(n.out, f.Key...), ':')
}

// comma separates a key from what is before it in its object.
func (n *normalizer) comma() {
	if n.out[len(n.out)-1] != '{' {
		n.out = append(n.out, ',')
	}
}

var strippedKeywords = map[string]bool{
	"$schema": true, "$id": true, "$ref": true, "$defs": true, "definitions": true, // draft plumbing, and references that nobody resolves
	"$comment": true, "deprecated": true, "readOnly": true, "writeOnly": true, // notes that no validator reads
	"default": true, "examples": true, // samples, which constrain nothing
	"contentEncoding": true, "contentMediaType": true,
}
