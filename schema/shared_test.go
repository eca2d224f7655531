package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
)

// rootStyle returns a schema in the default style of zod-to-json-schema: a repeated schema is a reference to its first
// place.
func rootStyle(uses int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"first":{"type":"object","properties":{`)
	for i := range 20 {
		fmt.Fprintf(&b, `"member_%d":{"type":"string","description":"A member of the filter, number %d."},`, i, i)
	}
	b.WriteString(`"last":{"type":"string"}},"required":["last"`)
	for i := range 20 {
		fmt.Fprintf(&b, `,"member_%d"`, i)
	}
	b.WriteString(`]}`)
	for i := range uses {
		fmt.Fprintf(&b, `,"again_%d":{"$ref":"#/properties/first"}`, i)
	}
	b.WriteString(`}}`)
	return json.RawMessage(b.String())
}

// TestReferencesAnywhereAreKept checks that a schema used more than once is written once, in $defs, if the provider
// accepts $ref. The place in the original does not matter.
func TestReferencesAnywhereAreKept(t *testing.T) {
	raw := rootStyle(10)
	for _, p := range withRules() {
		if !p.Rules().Nested.Takes("$ref") {
			continue
		}
		a, err := schema.Adapt(raw, p)
		if err != nil {
			t.Errorf("%s: %v", p.Name(), err)
			continue
		}
		if n := strings.Count(string(a.Schema), "number 7."); n != 1 {
			t.Errorf("%s: the shared schema stands %d times in %s", p.Name(), n, a.Schema)
		}
		if n := strings.Count(string(a.Schema), `"$ref":"#/$defs/first"`); n != 11 {
			t.Errorf("%s: %d references in %s", p.Name(), n, a.Schema)
		}
		if found := schema.Check(a.Schema, p); found != nil {
			t.Errorf("%s: %v", p.Name(), found)
		}
		again, err := schema.Adapt(a.Schema, p)
		if err != nil || string(again.Schema) != string(a.Schema) {
			t.Errorf("%s: adapting it again gives %s, %v", p.Name(), again.Schema, err)
		}
	}
}

// TestReferencesWithADescriptionAreKept checks references with a description. Draft 2020-12 puts it beside the
// reference, and draft 7 beside an allOf with the reference. If a reference must stand alone, the description is
// dropped, because inlining the reference would cost more.
func TestReferencesWithADescriptionAreKept(t *testing.T) {
	for _, reference := range []string{
		`{"$ref":"#/properties/first","description":"Another one."}`,
		`{"description":"Another one.","allOf":[{"$ref":"#/properties/first"}]}`,
	} {
		raw := json.RawMessage(strings.ReplaceAll(string(rootStyle(10)), `{"$ref":"#/properties/first"}`, reference))
		for _, p := range withRules() {
			if !p.Rules().Nested.Takes("$ref") {
				continue
			}
			a, err := schema.Adapt(raw, p)
			if err != nil {
				t.Errorf("%s: %v", p.Name(), err)
				continue
			}
			if n := strings.Count(string(a.Schema), "number 7."); n != 1 {
				t.Errorf("%s: with %s the shared schema stands %d times", p.Name(), reference, n)
			}
			if n := strings.Count(string(a.Schema), "Another one."); n != 10 && !p.Rules().RefAlone {
				t.Errorf("%s: with %s there are %d descriptions", p.Name(), reference, n)
			}
			if found := schema.Check(a.Schema, p); found != nil {
				t.Errorf("%s: %v", p.Name(), found)
			}
			again, err := schema.Adapt(a.Schema, p)
			if err != nil || string(again.Schema) != string(a.Schema) {
				t.Errorf("%s: adapting it again gives %s, %v", p.Name(), again.Schema, err)
			}
		}
	}
}

// TestSmallSharedSchemasAreInlined checks that a target shorter than a reference is inlined.
func TestSmallSharedSchemasAreInlined(t *testing.T) {
	a, err := schema.Adapt(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`), schema.Anthropic)
	if want := `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`; err != nil || string(a.Schema) != want {
		t.Errorf("got %s, %v", a.Schema, err)
	}
}

// TestSharedSchemasAreRestored checks that arguments are restored through a definition, at its first place and at the
// others.
func TestSharedSchemasAreRestored(t *testing.T) {
	raw := strings.ReplaceAll(string(rootStyle(1)), `"member_1"`, `"member[1]"`)
	a, err := schema.Adapt(json.RawMessage(raw), schema.GeminiJSONSchema)
	if err != nil {
		t.Fatal(err)
	}
	arguments := `{"first":{"member_1":"a"},"again_0":{"member_1":"b"}}`
	want := `{"first":{"member[1]":"a"},"again_0":{"member[1]":"b"}}`
	if got := a.Restore(json.RawMessage(arguments)); string(got) != want {
		t.Errorf("%s became %s through %s", arguments, got, a.Schema)
	}
}

// TestSchemasThatGrowAreCut checks schemas for providers without $ref. References that are inlined repeatedly are cut
// before the bounds are reached, and a schema that still grows is a finding.
func TestSchemasThatGrowAreCut(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"query":{"$ref":"#/$defs/level_0"}},"$defs":{`)
	for i := range 6 {
		fmt.Fprintf(&b, `"level_%d":{"type":"object","properties":{"about":{"type":"string","description":"%s"}`, i, strings.Repeat("x", 100))
		for j := range 3 {
			fmt.Fprintf(&b, `,"part_%d":{"$ref":"#/$defs/level_%d"}`, j, i+1)
		}
		b.WriteString(`}},`)
	}
	b.WriteString(`"level_6":{"type":"string"}}}`)
	raw := json.RawMessage(b.String())
	kept, err := schema.Adapt(raw, schema.OpenAI)
	if err != nil || len(kept.Schema) > len(raw) || schema.CheckGrowth(raw, kept.Schema) != nil {
		t.Errorf("with $ref %d bytes became %d, %v", len(raw), len(kept.Schema), err)
	}
	cut, err := schema.Adapt(raw, schema.Universal)
	if err != nil || len(cut.Schema) > 3*len(raw)+4096 {
		t.Fatalf("without $ref %d bytes became %d, %v", len(raw), len(cut.Schema), err)
	}
	found := schema.CheckGrowth(raw, json.RawMessage(`"`+strings.Repeat("x", 29_963*4)+`"`))
	if len(found) != 1 || found[0].Rule != rule.Size || !strings.HasSuffix(found[0].Message, " to 29963 tokens for models") {
		t.Errorf("%+v", found)
	}
}
