package schema

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/jsontree"
)

// fallback replaces every value that is not a schema with one known type.
const fallback = `{"type":"object","properties":{}}`

// maxLevels is the maximum number of nested schemas, including the root. It bounds the recursion.
const maxLevels = 1_000

// Normalize returns the schema that the first editions of this bridge showed to models. It accepts any bytes and
// returns a new slice of compact JSON: an object with a type. The keys of input keep their order and spelling.
//
// For a schema and for each schema below it:
//
//   - A schema without a type from object, array, string, number, integer, boolean and null becomes
//     {"type":"object","properties":{}}. So do malformed JSON, other values, and schemas below 1,000 levels.
//   - These keywords are dropped: $schema, $id, $ref, $defs, definitions, $comment, deprecated, readOnly, writeOnly,
//     default, examples, contentEncoding, contentMediaType. Properties with these names stay.
//   - An object has properties. If they are missing, they are added as its last key. If they are not an object, they
//     are replaced by {}. Each property is normalised.
//   - In required of an object, only names of properties stay, in their order. If no name stays, or if required is not
//     an array, it is dropped.
//   - In additionalProperties of an object, an object is normalised and a boolean stays. Any other value is dropped.
//   - In an array, a list of items is replaced by its first element, or dropped if it is empty. Boolean items stay. Any
//     other value is normalised.
//   - Every other keyword stays as it is, byte for byte without whitespace.
//   - If a key is repeated, its last value takes the place of the first. Inside keywords that stay as they are,
//     repeated keys stay too.
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

// schema writes a schema at the given level. The root has level 1.
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

// member writes a keyword that holds a schema. The values true and false stay.
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
	n.out[len(n.out)-1] = ']' // replaces the last comma
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

// comma separates a key from the previous member of its object.
func (n *normalizer) comma() {
	if n.out[len(n.out)-1] != '{' {
		n.out = append(n.out, ',')
	}
}

var strippedKeywords = map[string]bool{
	// identifiers, and references that are not resolved
	"$schema": true, "$id": true, "$ref": true, "$defs": true, "definitions": true,
	"$comment": true, "deprecated": true, "readOnly": true, "writeOnly": true, // notes that no validator reads
	"default": true, "examples": true, // samples, which constrain nothing
	"contentEncoding": true, "contentMediaType": true,
}
