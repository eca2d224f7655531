package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/linear"
	"github.com/indusagi/indus/schema"
)

// These schemas of a few kB would take a day if each path to a reference were followed separately.
func TestReferencesThatFanOut(t *testing.T) {
	repeat := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	for name, raw := range map[string]string{
		"to the root":        `{"allOf":[` + repeat(200, `{"$ref":"#"}`) + `]}`,
		"unions of a union":  `{"properties":{"x":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"y":{"$ref":"#/$defs/B"}}},"B":{"anyOf":[` + repeat(400, `{"$ref":"#/$defs/B"}`) + `,{"$ref":"#/$defs/A"}]}}}`,
		"under a condition":  `{"type":"object","if":{},"then":{"$ref":"#/$defs/A"},"$defs":{"A":{"anyOf":[` + repeat(1000, `{"$ref":"#/$defs/A"}`) + `]}}}`,
		"a chain of doubles": chainOfDoubles(40),
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range shaped() {
				a, err := schema.Adapt(json.RawMessage(raw), p)
				if err == nil && len(a.Schema) > schema.DefaultBytes {
					t.Errorf("%s: %d bytes", p.Name(), len(a.Schema))
				}
			}
		})
	}
}

// chainOfDoubles returns a schema in which each definition refers to the next one twice.
func chainOfDoubles(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"D%d":{"allOf":[{"$ref":"#/$defs/D%d"},{"$ref":"#/$defs/D%d"}]}`, i, i+1, i+1))
	}
	defs = append(defs, fmt.Sprintf(`"D%d":{"type":"object"}`, n))
	return `{"$ref":"#/$defs/D0","$defs":{` + strings.Join(defs, ",") + `}}`
}

// Restore compares each value inside a recursive union with each branch once, at any depth.
func TestRestoreOfADeepUnion(t *testing.T) {
	const expression = `{"type":"object","properties":{"e":{"$ref":"#/$defs/E"}},"required":["e"],"$defs":{"E":{"anyOf":[
		{"type":"object","properties":{"arg":{"$ref":"#/$defs/E"},"kind":{"const":"not"},"note":{"type":"string"}},"required":["arg","kind"]},
		{"type":"object","properties":{"arg":{"$ref":"#/$defs/E"},"kind":{"const":"neg"},"note":{"type":"string"}},"required":["arg","kind"]},
		{"type":"object","properties":{"value":{"type":"number"}},"required":["value"]}]}}}`
	a, err := schema.Adapt(json.RawMessage(expression), schema.OpenAIStrict)
	if err != nil {
		t.Fatal(err)
	}
	const deep = 200
	arguments := `{"e":` + strings.Repeat(`{"arg":`, deep) + `{"value":1}` + strings.Repeat(`,"kind":"neg","note":null}`, deep) + `}`
	want := `{"e":` + strings.Repeat(`{"arg":`, deep) + `{"value":1}` + strings.Repeat(`,"kind":"neg"}`, deep) + `}`
	if got := string(a.Restore(json.RawMessage(arguments))); got != want {
		t.Errorf("restored to %.200s", got)
	}
}

// If inverses refer to each other at the same place of the arguments, each is applied once to a
// value.
func TestWaysThatLeadIntoOneAnother(t *testing.T) {
	const unions = `{"properties":{"x":{"$ref":"#/$defs/E"}},"$defs":{"E":{"anyOf":[{"$ref":"#/$defs/F"},{"$ref":"#/$defs/G"}]},
		"F":{"anyOf":[{"$ref":"#/$defs/E"},{"$ref":"#/$defs/G"}]},
		"G":{"anyOf":[{"$ref":"#/$defs/E"},{"$ref":"#/$defs/F"},{"type":"object","properties":{"o":{"type":"string"}}}]}}}`
	const merged = `{"properties":{"x":{"properties":{"b-2":{"$ref":"#/$defs/D1"}}}},"$defs":{"D0":{"allOf":[{"$ref":"#/$defs/D1"},{"$ref":"#/$defs/D1"}]},
		"D1":{"additionalProperties":{},"oneOf":[{"$ref":"#/$defs/D0"},{"$ref":"#/$defs/D0"}]}}}`
	for _, p := range shaped() {
		for _, raw := range []string{unions, merged} {
			a, err := schema.Adapt(json.RawMessage(raw), p)
			if err != nil {
				continue
			}
			for _, arguments := range []string{`{"x":{"o":null}}`, `{"x":{"b_2":{}}}`} {
				if got := a.Restore(json.RawMessage(arguments)); !json.Valid(got) {
					t.Errorf("%s: %s became %s", p.Name(), arguments, got)
				}
			}
			_ = a.Path("/x/o")
			_ = a.Path("/x/b-2/c")
		}
	}
	a, err := schema.Adapt(json.RawMessage(unions), schema.OpenAIStrict)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(a.Restore(json.RawMessage(`{"x":{"o":null}}`))); got != `{"x":{}}` {
		t.Errorf("restored to %s", got)
	}
}

// TestManyBranchesTakeLinearTime checks that the time for an allOf is linear in the number of its branches.
func TestManyBranchesTakeLinearTime(t *testing.T) {
	for name, branch := range map[string]string{
		"properties": `{"properties":{"%0600d":{}}}`,
		"closed":     `{"additionalProperties":false,"properties":{"%0600d":{}}}`,
		"required":   `{"required":["%0600d"]}`,
	} {
		linear.Check(t, name, 2*time.Second, func(size int) func() {
			raw := []byte(`{"type":"object","allOf":[{}`)
			for i := 0; len(raw) < size; i++ {
				raw = fmt.Appendf(append(raw, ','), branch, i)
			}
			raw = append(raw, "]}"...)
			return func() {
				if _, err := schema.Adapt(raw, schema.ProfileNamed("universal")); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
