package validate_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/schema/validate"
)

// Each draft's own keywords are checked by the rules of that draft. A schema without a draft is read in the newest
// draft that accepts it.
func TestDrafts(t *testing.T) {
	const draft4, draft6, draft7 = "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "https://json-schema.org/draft-07/schema"
	const draft2019, draft2020 = "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema#"
	for _, tt := range []struct{ declared, body, good, bad string }{
		{draft4, `"minimum":1,"exclusiveMinimum":true`, `1.1`, `1`},
		{draft4, `"properties":{"a":{"id":"#a","type":"string"},"b":{"$ref":"#a"}}`, `{"b":"x"}`, `{"b":1}`},
		{draft6, `"exclusiveMinimum":1`, `1.1`, `1`},
		{draft6, `"propertyNames":{"const":"a"}`, `{"a":1}`, `{"b":1}`},
		{draft7, `"if":{"required":["a"]},"then":{"required":["b"]}`, `{"b":1}`, `{"a":1}`},
		{draft7, `"items":[{"type":"string"}],"additionalItems":{"type":"integer"}`, `["a",1]`, `["a","b"]`},
		{draft7, `"definitions":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/s","maxLength":1}}`, `{"a":"xx"}`, `{"a":1}`},
		{draft2019, `"dependentRequired":{"a":["b"]}`, `{"a":1,"b":1}`, `{"a":1}`},
		{draft2019, `"$defs":{"s":{"$anchor":"s","type":"string"}},"properties":{"a":{"$ref":"#s","maxLength":1}}`, `{"a":"x"}`, `{"a":"xx"}`},
		{draft2019, `"items":[{"type":"string"}],"unevaluatedItems":false`, `["a"]`, `["a",1]`},
		{draft2020, `"prefixItems":[{"type":"string"}],"items":{"type":"integer"}`, `["a",1]`, `["a","b"]`},
		{draft2020, `"$id":"https://example.com/a","$defs":{"s":{"$id":"b","type":"string"}},"properties":{"a":{"$ref":"https://example.com/b"}}`, `{"a":"x"}`, `{"a":1}`},
		{"", `"prefixItems":[{"type":"string"}]`, `["a",1]`, `[1]`},
		{"", `"items":[{"type":"string"},{"type":"integer"}]`, `["a",1]`, `["a","b"]`},
		{"", `"minimum":1,"exclusiveMinimum":true`, `1.1`, `1`},
		{"http://json-schema.org/draft-03/schema#", `"type":"string"`, `"a"`, `1`},
		{"https://example.com/my-own", `"type":"string"`, `"a"`, `1`},
		// Many generators write this form.
		{draft7, `"minimum":1,"exclusiveMinimum":true`, `1.1`, `1`},
		{"", `"maximum":1,"exclusiveMaximum":true,"not":{"const":0}`, `0.9`, `0`},
		{"", `"minimum":1,"exclusiveMaximum":false,"maximum":2`, `2`, `0`},
		{"", `"minimum":1,"exclusiveMaximum":true`, `2`, `0`},
		{"", `"oneOf":[{"properties":{"k":{"const":"a"},"n":{"minimum":1,"exclusiveMinimum":true}}},{"properties":{"k":{"const":"b"}}}]`, `{"k":"b","n":1}`, `{"k":"a","n":1}`},
		{draft2020, `"items":[{"type":"string"}]`, `["a"]`, `[1]`},
	} {
		schema := "{" + tt.body + "}"
		if tt.declared != "" {
			schema = `{"$schema":"` + tt.declared + `",` + tt.body + "}"
		}
		v := open(t, schema)
		if got := errorText(t, v, tt.good); got != "" {
			t.Errorf("%s of %s: %s", tt.good, schema, got)
		}
		if errorText(t, v, tt.bad) == "" {
			t.Errorf("%s fits %s", tt.bad, schema)
		}
	}
}

func TestSchemasThatCannotBeUsed(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{`{"$ref":"https://example.com/other.json"}`, "https://example.com/other.json is not fetched"},
		{`{"$ref":"other.json#/a"}`, "other.json is not fetched"},
		{`{"$ref":"file:///etc/passwd"}`, "is not fetched"},
		{`{"$ref":"#/$defs/missing"}`, "not found"},
		{`{"$ref":"#missing"}`, "not found"},
		{`[1]`, ""},
		{`{"type":`, "malformed"},
		{strings.Repeat(`{"items":`, 100) + "{}" + strings.Repeat("}", 100), "levels"},
		{`{"$recursiveRef":"#","$schema":"https://json-schema.org/draft/2019-09/schema"}`, "$recursiveRef"},
	} {
		_, err := validate.New(json.RawMessage(tt.schema))
		if err == nil || !strings.HasPrefix(err.Error(), "validate: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80s: %v, want %q", tt.schema, err, tt.want)
			continue
		}
		if len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("%.80s: an error that is not one short line: %q", tt.schema, err)
		}
	}
}

// Keywords that cannot be checked pass at any place, and all other keywords are still checked.
func TestWhatCannotBeCheckedPasses(t *testing.T) {
	const ahead = `"pattern":"^(?=x)y"`
	for _, tt := range []struct{ schema, good, bad, note string }{
		{`{"type":"string","format":"date-time"}`, `"today"`, `1`, ""},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"string","format":"ipv4"}`, `"today"`, `1`, ""},
		{`{"type":"string",` + ahead + `}`, `"y"`, `1`, "the pattern ^(?=x)y is skipped"},
		{`{"type":"string","pattern":"^\\u0061$"}`, `"a"`, `1`, "is skipped"},
		{`{"type":"integer","not":{` + ahead + `}}`, `1`, `"a"`, "not"},
		{`{"type":"string","not":{"format":"uri"}}`, `"a"`, `1`, "not"},
		{`{"type":"string","not":{"$ref":"#/$defs/u"},"$defs":{"u":{"format":"uri"}}}`, `"a"`, `1`, "not"},
		{`{"oneOf":[{"type":"string","format":"uri"},{"type":"string","format":"email"}]}`, `"a"`, `1`, ""},
		{`{"oneOf":[{"type":"string",` + ahead + `},{"type":"string"}],"allOf":[{"maxLength":2}]}`, `"a"`, `"abc"`, "is skipped"},
		{`{"type":"string","if":{` + ahead + `},"then":{"maxLength":1},"else":{"maxLength":2}}`, `"abc"`, `1`, "if"},
		{`{"contains":{` + ahead + `},"minContains":1,"maxContains":1}`, `["a","b"]`, `[]`, "is skipped"},
		{`{"patternProperties":{"(?!x)":{"type":"integer"},"^y":{"type":"integer"}},"additionalProperties":false}`, `{"a":"b","y":1}`, `{"y":"b"}`, "patternProperties"},
		{`{"patternProperties":{"(?!x)":{}},"unevaluatedProperties":false,"type":"object"}`, `{"a":"b"}`, `1`, "patternProperties"},
		{`{"type":"string","nullable":true,"enum":["a","b"]}`, `null`, `"c"`, ""},
		{`{"properties":{"nullable":{"type":"string"},"format":{"type":"string"},"pattern":{"type":"integer"},"not":{"format":"x","type":"string"}}}`, `{"pattern":1,"not":"a"}`, `{"format":1}`, ""},
		{`{"const":{"format":"x"}}`, `{"format":"x"}`, `{}`, ""},
		{`{"$schema":1,"type":"string"}`, `"a"`, `1`, ""},
		{`{"type":"string","properties":{"a":{"$schema":"nonsense"}}}`, `"a"`, `1`, ""},
		{`{"$schema":"http://json-schema.org/draft-07/schema","$defs":{"a":{"$id":"#a"}},"type":"string"}`, `"a"`, `1`, ""},
		{`{"type":"object","if":{"properties":{"m":{"format":"email"}}},"then":{"properties":{"a":{}}},"unevaluatedProperties":false}`, `{"a":1}`, `1`, "if"},
		{`{"type":"object","anyOf":5,"unevaluatedProperties":false}`, `{"a":1}`, `1`, "anyOf"},
		{`{"oneOf":[{"type":"string","nullable":true},{"type":"null"}]}`, `null`, `1`, ""},
		{`{"type":"string","pattern":"^\\a[^]$"}`, `"ab"`, `1`, "reads it as something else"},
		{`{"$id":"a.json","properties":{"x":{"$ref":"a.json#/$defs/y"}},"$defs":{"y":{"type":"integer"}}}`, `{"x":1}`, `{"x":"1"}`, ""},
		{`{"items":[{"type":"string"}]}`, `["a"]`, `[1]`, "it is no valid draft 2020-12, and is read as draft 2019-09"},
	} {
		v := open(t, tt.schema)
		if got := errorText(t, v, tt.good); got != "" {
			t.Errorf("%s of %s: %s", tt.good, tt.schema, got)
		}
		if errorText(t, v, tt.bad) == "" {
			t.Errorf("%s fits %s", tt.bad, tt.schema)
		}
		noted := slices.ContainsFunc(v.Notes(), func(n string) bool { return strings.Contains(n, tt.note) })
		if noted != (tt.note != "") {
			t.Errorf("%s: noted %q, want %q", tt.schema, v.Notes(), tt.note)
		}
	}
}

// If a schema is checked in full, its exclusions stay.
func TestWhatCanBeCheckedIsNotLoosened(t *testing.T) {
	for _, tt := range []struct{ schema, bad string }{
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"when":{"format":"date"}}}`, `{"a":1,"b":1}`},
		{`{"not":{"required":["a"]},"properties":{"when":{"format":"date"}}}`, `{"a":1}`},
		{`{"not":{"$ref":"#/$defs/a"},"$defs":{"a":{"required":["a"]}}}`, `{"a":1}`},
		{`{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{"y":1}`},
	} {
		if errorText(t, open(t, tt.schema), tt.bad) == "" {
			t.Errorf("%s fits %s", tt.bad, tt.schema)
		}
	}
}
