package validate_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/schema/validate"
)

// Keywords that no draft accepts are left out and noted, and all other keywords are checked. No value is refused
// because of a keyword that was left out.
func TestFaultyKeywordsAreLeftOut(t *testing.T) {
	const checked = `"properties":{"n":{"type":"integer"}}`
	for _, tt := range []struct{ body, noted string }{
		{`"title":7`, "/title is left out: expected string, got 7"},
		{`"required":true`, "/required is left out"},
		{`"required":["n",7]`, "/required/1 is left out"},
		{`"minProperties":"3","maxProperties":-1`, "/minProperties is left out"},
		{`"type":["object","objekt"]`, "/type is left out"},
		{`"not":{"required":true}`, "/not/required is left out"},
		{`"oneOf":[{"title":1,"required":["x"]},{"required":["n"]}]`, "/oneOf/0/title is left out"},
		{`"anyOf":[5,{"required":["x"]}]`, "/anyOf/0 is left out"},
		{`"anyOf":[]`, "/anyOf is left out"},
		{`"additionalProperties":"no"`, "/additionalProperties is left out"},
		{`"patternProperties":{"%41":7}`, "/patternProperties/%41 is left out: expected object or boolean, got 7"},
		{`"$defs":{"a":7},"patternProperties":{"x":[]}`, "/$defs/a is left out"},
		{`"$schema":"http://json-schema.org/draft-07/schema#","items":5,"enum":5`, "/items is left out"},
	} {
		v, err := validate.New(json.RawMessage(`{` + checked + `,` + tt.body + `}`))
		if err != nil {
			t.Errorf("%s: %v", tt.body, err)
			continue
		}
		if faulty := v.Faulty(); !slices.ContainsFunc(faulty, func(n string) bool { return strings.HasPrefix(n, tt.noted) }) || !slices.Contains(v.Notes(), faulty[0]) {
			t.Errorf("%s: noted %q, want %q", tt.body, faulty, tt.noted)
		}
		if err := v.Validate(json.RawMessage(`{"n":1}`)); err != nil {
			t.Errorf("%s: what fits: %v", tt.body, err)
		}
		if err := v.Validate(json.RawMessage(`{"n":"x"}`)); err == nil {
			t.Errorf("%s: what does not fit passes", tt.body)
		}
	}
	for _, sound := range []string{`{}`, `{"format":"x","pattern":"(?=a)"}`} {
		if v, err := validate.New(json.RawMessage(sound)); err != nil || v.Faulty() != nil {
			t.Errorf("%s: %v, %v", sound, v.Faulty(), err)
		}
	}
	v, _ := validate.New(json.RawMessage(`{"properties":{"a":7,"b":{"type":"string"}},"required":["a",7],"additionalProperties":false}`))
	if err := v.Validate(json.RawMessage(`{"a":"anything"}`)); err != nil {
		t.Error(err)
	}
	if err := v.Validate(json.RawMessage(`{"b":"x"}`)); err == nil {
		t.Error("a is required")
	}
}
