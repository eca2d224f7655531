package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// The largest of 255 real tools (MongoDB's, Notion's and AntV's, Apache-2.0 and MIT) are described in some 800
// tokens, with every parameter. On request, they are described completely.
func TestSchemasAreShort(t *testing.T) {
	raw, err := os.ReadFile("testdata/large.json")
	if err != nil {
		t.Fatal(err)
	}
	var tools []struct {
		Name, Description string
		InputSchema       json.RawMessage
	}
	if err := json.Unmarshal(raw, &tools); err != nil {
		t.Fatal(err)
	}
	many := map[string]any{}
	for i := range 1000 {
		many[fmt.Sprintf("parameter_%d", i)] = map[string]any{"type": "string"}
	}
	huge, _ := json.Marshal(map[string]any{"type": "object", "properties": many})
	var odd []string
	for _, name := range []string{"description", "examples", "$schema", "type", "default"} {
		odd = append(odd, fmt.Sprintf(`%q:{"type":"string","description":%q}`, name, strings.Repeat("long ", 200)))
	}
	r := toolbox.NewRegistry(nil)
	r.Add(toolbox.Tool{Name: "named",
		Schema: json.RawMessage(`{"type":"object","properties":{` + strings.Join(odd, ",") + `}}`), Run: returnNothing})
	r.Add(toolbox.Tool{Name: "huge", Schema: huge, Run: returnNothing},
		toolbox.Tool{Name: "odd", Schema: json.RawMessage(`{"description":"` + strings.Repeat("é", 3000) +
			`","properties":[` + strings.Repeat("1,", 2000) + `1]}`), Run: returnNothing})
	for _, tool := range tools {
		r.Add(toolbox.Tool{Name: tool.Name, Description: tool.Description, Schema: tool.InputSchema, Run: returnNothing})
	}
	four := catalog.Over(r, nil)
	for _, d := range r.Snapshot("").Tools {
		short := do(t, four, "schema", `{"operation":"`+d.Name+`"}`)
		if len(short) > 3000 && d.Name != "odd" || len(short) > 6000 || !json.Valid([]byte(short)) ||
			!strings.Contains(short, `\"full\": true`) {
			t.Errorf("%s: %d bytes: %s", d.Name, len(short), short)
		}
		var schema struct{ Properties map[string]json.RawMessage }
		if d.Name != "huge" && json.Unmarshal(d.Schema, &schema) == nil {
			for name := range schema.Properties {
				if !strings.Contains(short, `"`+name+`":{`) {
					t.Errorf("%s: without %s", d.Name, name)
				}
			}
		}
		var whole struct{ Input json.RawMessage }
		if err := json.Unmarshal([]byte(do(t, four, "schema", `{"operation":"`+d.Name+`","full":true}`)),
			&whole); err != nil || len(whole.Input) < len(d.Schema)/2 {
			t.Errorf("%s: %v, %d of %d bytes", d.Name, err, len(whole.Input), len(d.Schema))
		}
	}
}

// A deeply nested schema must not be traversed level by level, because each level would be read once for each level
// above it.
func TestADeepSchemaIsShortenedAtOnce(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	r.Add(toolbox.Tool{Name: "deep",
		Schema: json.RawMessage(`{"type":"object","properties":{"a":{}},"x":` + strings.Repeat("[", 9000) + `"` +
			strings.Repeat("x", 1<<20) + `"` + strings.Repeat("]", 9000) + "}"), Run: returnNothing})
	begun := time.Now()
	if short := do(t, catalog.Over(r, nil), "schema", `{"operation":"deep"}`); !strings.Contains(short, `(a?: any)`) {
		t.Errorf("%.300s", short)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func returnNothing(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
	return nil, nil
}
