package arguments

import (
	"encoding/json"

	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/toolbox"
)

// Typed returns the JSON value of a typed parameter.
func Typed(text, schema string) (string, error) {
	v, err := parseValue(text, signature.Parse(json.RawMessage(schema)).Resolved())
	return string(v), err
}

// Signature returns the signature of a tool with the given schema.
func Signature(schema string) string {
	return ToolSignature(toolbox.Descriptor{Name: "t", Schema: json.RawMessage(schema)})
}

// Object returns the arguments in words for a tool with the given schema.
func Object(
	words []string, whole, schema string, read func(string) ([]byte, error),
) (object json.RawMessage, doubts []string, err error) {
	in, err := Parse(words, whole, read)
	if err != nil {
		return nil, nil, err
	}
	object, err = in.Object(json.RawMessage(schema))
	if err != nil {
		return nil, nil, err
	}
	return object, in.Unknown(json.RawMessage(schema)), nil
}
