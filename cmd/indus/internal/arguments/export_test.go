package arguments

import (
	"encoding/json"

	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/toolbox"
)

// Typed is a parameter's value as it goes out.
func Typed(text, schema string) (string, error) {
	v, err := parseValue(text, signature.Parse(json.RawMessage(schema)).Resolved())
	return string(v), err
}

// Signature is a tool's with that schema.
func Signature(schema string) string {
	return ToolSignature(toolbox.Descriptor{Name: "t", Schema: json.RawMessage(schema)})
}

// Object is what words mean for a tool with that schema.
func Object(words []string, whole, schema string, read func(string) ([]byte, error)) (object json.RawMessage, doubts []string, err error) {
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
