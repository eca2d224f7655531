package keyword_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/indusagi/indus/internal/keyword"
)

func TestSchemasAreWhereAKeywordHoldsThem(t *testing.T) {
	for _, c := range []struct {
		keyword, value string
		want           int
	}{
		{"not", `{}`, 1},
		{"not", `[{}]`, 1}, // a list is not a schema, but it is returned
		{"items", `true`, 1},
		{"items", `[{}, {}]`, 2},
		{"anyOf", `[{}, {}, {}]`, 3},
		{"anyOf", `{"a": {}}`, 0},
		{"properties", `{"a": {}, "b": false}`, 2},
		{"properties", `[{}]`, 0},
		{"dependencies", `{"a": {}, "b": ["c"]}`, 1},
		{"enum", `[{}]`, 0},
		{"x", `{}`, 0},
	} {
		var value any
		if err := json.Unmarshal([]byte(c.value), &value); err != nil {
			t.Fatal(err)
		}
		if got := len(slices.Collect(keyword.Schemas(c.keyword, value))); got != c.want {
			t.Errorf("%s: %s has %d schemas, want %d", c.keyword, c.value, got, c.want)
		}
	}
	if !keyword.IsNamed("$defs") || !keyword.IsNamed("dependencies") || keyword.IsNamed("items") ||
		keyword.IsNamed("enum") {
		t.Error("IsNamed")
	}
}
