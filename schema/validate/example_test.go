package validate_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/indusagi/indus/schema/validate"
)

func Example() {
	v, err := validate.New(json.RawMessage(`{
		"type": "object",
		"properties": {
			"path": {"type": "string"},
			"limit": {"type": "integer"},
			"order": {"enum": ["asc", "desc"]}
		},
		"required": ["path"],
		"additionalProperties": false
	}`))
	if err != nil {
		panic(err)
	}
	err = v.Validate(json.RawMessage(`{"pth": "go.mod", "limit": "ten", "order": "up"}`))
	fmt.Println(err)

	misfit := (*validate.Error)(nil)
	if errors.As(err, &misfit) {
		fmt.Println(misfit.Problems[0].Path)
	}
	// Output:
	// /: missing required "path" (string)
	// /: unknown property "pth"; did you mean "path"?
	// /limit: expected integer, got "ten"
	// /order: expected "asc" | "desc", got "up"
	// /path
}
