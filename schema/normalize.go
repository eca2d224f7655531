package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/jsontree"
)

// fallback replaces every value that is not a schema with one known type.
const fallback = `{"type":"object","properties":{}}`

// maxLevels is the maximum number of nested schemas, including the root. It bounds the recursion.
const maxLevels = 1_000

// Normalize returns the schema that the first editions of this bridge showed to models. It accepts any bytes and
// returns a new slice of compact JSON: an object with a type. The keys of input keep their order and spelling. A
// normalised schema stays unchanged.
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
	out := make([]byte, 0, max(compact.Len(), len(fallback)))
	return normalized(jsontree.Parse(compact.Bytes()), 1).Append(out)
}

// normalized returns a schema normalised. The root has level 1.
func normalized(s *node, level int) *node {
	declared := typeNamed(s.Get("type").Unquoted())
	if level > maxLevels || declared == 0 {
		return asWritten([]byte(fallback))
	}
	out := &node{Kind: '{', Fields: make([]field, 0, len(s.Fields)+1)}
	for _, f := range s.Fields {
		v := f.Value
		switch {
		case declared == typeObject && f.Name == "properties":
			f.Value = normalizedProperties(v, level)
		case declared == typeObject && f.Name == "required":
			f.Value = declaredNames(v, s.Get("properties"))
		case declared == typeObject && f.Name == "additionalProperties":
			f.Value = nil
			if isSchema(v) {
				f.Value = normalizedMember(v, level)
			}
		case declared == typeArray && f.Name == "items" && v.Kind == '[':
			f.Value = nil
			if len(v.Elems) > 0 {
				f.Value = normalizedMember(v.Elems[0], level)
			}
		case declared == typeArray && f.Name == "items":
			f.Value = normalizedMember(v, level)
		case strippedKeywords[f.Name]:
			f.Value = nil
		default:
			f.Value = asWritten(v.Text)
		}
		if f.Value != nil {
			out.Fields = append(out.Fields, f)
		}
	}
	if declared == typeObject && s.Get("properties") == nil {
		out.Fields = append(out.Fields, newMember("properties", newObject()))
	}
	return out
}

// asWritten returns a value that is written as the text has it, with repeated keys.
func asWritten(text []byte) *node { return &node{Kind: '0', Text: text} }

// normalizedMember returns the schema of a keyword normalised. The values true and false stay.
func normalizedMember(s *node, level int) *node {
	if s.Is("tf") {
		return s
	}
	return normalized(s, level+1)
}

func normalizedProperties(properties *node, level int) *node {
	out := &node{Kind: '{', Fields: slices.Clone(properties.Fields)}
	for i := range out.Fields {
		out.Fields[i].Value = normalized(out.Fields[i].Value, level+1)
	}
	return out
}

// declaredNames returns the names in required that are names of properties, or nil if there are none.
func declaredNames(required, properties *node) *node {
	isProperty := lookUpFields(properties.Members())
	names := slices.DeleteFunc(slices.Clone(required.Elems), func(e *node) bool {
		return e.Kind != '"' || !isProperty(jsontree.Unquote(e.Text))
	})
	if len(names) == 0 {
		return nil
	}
	return newArray(names...)
}

var strippedKeywords = map[string]bool{
	// identifiers, and references that are not resolved
	"$schema": true, "$id": true, "$ref": true, "$defs": true, "definitions": true,
	"$comment": true, "deprecated": true, "readOnly": true, "writeOnly": true, // notes that no validator reads
	"default": true, "examples": true, // samples, which constrain nothing
	"contentEncoding": true, "contentMediaType": true,
}
