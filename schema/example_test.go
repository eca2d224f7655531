package schema_test

import (
	"fmt"

	"github.com/indusagi/indus/schema"
)

func Example() {
	tools := map[string]string{
		"read":  `{"type":"object","properties":{"path":{"type":"string","default":"."}}}`,
		"write": `{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"array","items":{"type":"string"}}}}`,
	}
	for _, name := range []string{"read", "write"} {
		raw := []byte(tools[name])
		if err := schema.Measure(raw, schema.Limits{Depth: 3}); err != nil {
			fmt.Println(name, "is not shown:", err)
			continue
		}
		fmt.Println(name, string(schema.Normalize(raw)))
	}
	// Output:
	// read {"type":"object","properties":{"path":{"type":"string"}}}
	// write is not shown: schema: 4 levels exceed the limit of 3 at "/properties/lines/items"
}

func ExampleNormalize() {
	fmt.Println(string(schema.Normalize([]byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type": "object",
		"properties": {
			"path": {"type": "string", "default": "/tmp"},
			"tags": {"type": "array", "items": [{"type": "string"}, {"type": "number"}]}
		},
		"required": ["path", "missing"]
	}`))))
	fmt.Println(string(schema.Normalize([]byte(`{"type": ["string", "null"]}`))))
	fmt.Println(string(schema.Normalize([]byte(`not JSON`))))
	// Output:
	// {"type":"object","properties":{"path":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},"required":["path"]}
	// {"type":"object","properties":{}}
	// {"type":"object","properties":{}}
}

func ExampleMeasure() {
	raw := []byte(`{"type":"object","properties":{"size":{"enum":[1,2,3]}}}`)
	fmt.Println(schema.Measure(raw, schema.Limits{}))
	fmt.Println(schema.Measure(raw, schema.Limits{Nodes: 6}))
	fmt.Println(schema.Measure(raw[:10], schema.Limits{}))
	// Output:
	// <nil>
	// schema: 7 nodes exceed the limit of 6 at "/properties/size/enum/1"
	// schema: malformed JSON: unexpected end of JSON input at byte 10
}
