package schema_test

import (
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/schema"
)

// ExampleAdapt adapts a tool of a Python server to a form that every provider accepts, and restores the arguments of a
// model.
func ExampleAdapt() {
	raw := json.RawMessage(`{
		"type": "object",
		"properties": {
			"filter[owner]": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "Owner"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10}
		},
		"required": ["filter[owner]"]
	}`)
	adapted, err := schema.Adapt(raw, schema.Universal)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(adapted.Schema))
	fmt.Println(string(adapted.Restore(json.RawMessage(`{"filter_owner":"me","limit":5}`))))
	fmt.Println(string(adapted.Restore(json.RawMessage(`{}`))))
	for _, c := range adapted.Changes {
		if c.Lost != "" {
			fmt.Println(c.Path, "lost:", c.Lost)
		}
	}
	// Output:
	// {"type":"object","properties":{"filter_owner":{"type":"string"},"limit":{"type":"integer","description":"(at least 1; at most 50; default 10)"}}}
	// {"filter[owner]":"me","limit":5}
	// {"filter[owner]":null}
	// /properties/limit lost: minimum 1
	// /properties/limit lost: maximum 50
}
