package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
)

func ExampleCheck() {
	raw := json.RawMessage(`{"type":"object","anyOf":[{"required":["id"]},{"required":["name"]}],
		"properties":{"id":{"type":"integer","exclusiveMinimum":true},"name":{"type":"string"}}}`)
	for _, f := range schema.Check(raw, schema.Anthropic) {
		fmt.Printf("%s: %s (%s)\n", f.Path, f.Message, f.Source)
	}
	// Output:
	// /anyOf: anyOf cannot stand at the root (anomalyco/opencode#37916)
	// /properties/id/exclusiveMinimum: exclusiveMinimum is true; draft 2020-12 takes a number (Dokploy/mcp#74)
}

// found returns the findings of Check, as a path and a rule each.
func found(raw string, p *schema.Profile) []string {
	return findingLines(schema.Check(json.RawMessage(raw), p))
}

func findingLines(findings []rule.Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, f.Path+" "+string(f.Rule))
	}
	return all
}

// inside returns a root with one property, x.
func inside(property string) string {
	return `{"type":"object","properties":{"x":` + property + `}}`
}

func TestCheck(t *testing.T) {
	for _, group := range checks {
		for _, c := range group.cases {
			t.Run(group.profile.Name()+"/"+c.name, func(t *testing.T) {
				if diff := cmp.Diff(c.want, found(c.raw, group.profile)); diff != "" {
					t.Errorf("%.500s\n-want +got:\n%s", c.raw, diff)
				}
			})
		}
	}
}

func TestCheckOfWhatIsNoSchema(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"nothing", ``, " json"},
		{"no JSON", `{"type":`, " json"},
		{"two values", `{} {}`, " json"},
		{"no UTF-8", "{\"description\":\"\xff\"}", " json"},
		{"a list", `[]`, " json"},
		{"true", `true`, " json"},
		{"null", `null`, " json"},
		{"too deep", strings.Repeat(`{"not":`, 65) + `{}` + strings.Repeat(`}`, 65), strings.Repeat("/not", 64) + " size"},
		{"too many values", `{"enum":[` + strings.Repeat("1,", 10_000) + `1]}`, "/enum/9998 size"},
		{"too long", `{"description":"` + strings.Repeat("x", 1<<20) + `"}`, " size"},
	}
	for _, c := range tests {
		for _, p := range schema.Profiles() {
			if diff := cmp.Diff([]string{c.want}, found(c.raw, p)); diff != "" {
				t.Errorf("%s, %s: -want +got:\n%s", p.Name(), c.name, diff)
			}
		}
	}
}

func TestCheckWithoutRules(t *testing.T) {
	const raw = `{"type":"string[]","properties":[],"$ref":"#/nowhere","anyOf":null}`
	for _, p := range []*schema.Profile{nil, schema.Original, schema.Seed} {
		if got := found(raw, p); got != nil {
			t.Errorf("%s: %v", p.Name(), got)
		}
		if got := schema.CheckTool("", "\u202e\x00", p); got != nil {
			t.Errorf("%s: %v", p.Name(), got)
		}
		if got := schema.CheckCount(1_000_000, p); got != nil {
			t.Errorf("%s: %v", p.Name(), got)
		}
	}
}

// A value inside data is not checked as a schema.
func TestCheckLeavesDataAlone(t *testing.T) {
	const bad = `{"type":"string[]","properties":[],"required":null,"$ref":"#/nowhere","exclusiveMinimum":true}`
	for _, keyword := range []string{"const", "default", "example", "x-data"} {
		if got := found(inside(`{"`+keyword+`":`+bad+`}`), schema.Anthropic); got != nil {
			t.Errorf("%s: %v", keyword, got)
		}
	}
	for _, keyword := range []string{"enum", "examples"} {
		if got := found(inside(`{"`+keyword+`":[`+bad+`]}`), schema.Anthropic); got != nil {
			t.Errorf("%s: %v", keyword, got)
		}
	}
}

// Check enters every position that holds schemas.
func TestCheckLooksEverywhere(t *testing.T) {
	const bad = `{"minLength":"1"}`
	tests := map[string]string{
		`{"properties":{"a":%s}}`:             "/properties/a",
		`{"patternProperties":{"a":%s}}`:      "/patternProperties/a",
		`{"$defs":{"a/b~c":%s}}`:              "/$defs/a~1b~0c",
		`{"definitions":{"a":%s}}`:            "/definitions/a",
		`{"dependentSchemas":{"a":%s}}`:       "/dependentSchemas/a",
		`{"dependencies":{"b":["c"],"a":%s}}`: "/dependencies/a",
		`{"items":%s}`:                        "/items",
		`{"prefixItems":[true,%s]}`:           "/prefixItems/1",
		`{"additionalProperties":%s}`:         "/additionalProperties",
		`{"additionalItems":%s}`:              "/additionalItems",
		`{"unevaluatedItems":%s}`:             "/unevaluatedItems",
		`{"unevaluatedProperties":%s}`:        "/unevaluatedProperties",
		`{"propertyNames":%s}`:                "/propertyNames",
		`{"contains":%s}`:                     "/contains",
		`{"not":%s}`:                          "/not",
		`{"if":%s}`:                           "/if",
		`{"then":%s}`:                         "/then",
		`{"else":%s}`:                         "/else",
		`{"anyOf":[%s]}`:                      "/anyOf/0",
		`{"oneOf":[%s]}`:                      "/oneOf/0",
		`{"allOf":[%s]}`:                      "/allOf/0",
		`{"contentSchema":%s}`:                "/contentSchema",
	}
	for shape, path := range tests {
		want := []string{"/properties/x" + path + "/minLength form"}
		if diff := cmp.Diff(want, found(inside(fmt.Sprintf(shape, bad)), schema.Anthropic)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", shape, diff)
		}
	}
	want := []string{"/properties/x/items form", "/properties/x/items/1/minLength form"}
	if diff := cmp.Diff(want, found(inside(`{"items":[true,`+bad+`]}`), schema.Anthropic)); diff != "" {
		t.Errorf("items: -want +got:\n%s", diff)
	}
}

// Inside a refused keyword, only forms are checked.
func TestCheckInsideOfWhatIsRefused(t *testing.T) {
	const raw = `{"type":"object","allOf":[{"properties":{"a b":{"type":"string[]"}}}],"properties":{}}`
	want := []string{"/allOf unlisted", "/allOf/0/properties/a b/type form"}
	if diff := cmp.Diff(want, found(raw, schema.Universal)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want = []string{"/allOf unlisted"}
	if diff := cmp.Diff(want, found(raw, schema.Ollama)); diff != "" {
		t.Errorf("what is dropped is not read, -want +got:\n%s", diff)
	}
}

func TestCheckOfRepeatedKeys(t *testing.T) {
	const raw = `{"type":"string","properties":{"a":{"type":"x"},"a":{}},"type":"object"}`
	if got := found(raw, schema.Anthropic); got != nil {
		t.Errorf("the last value is not the one that counts: %v", got)
	}
}

// The path of a finding leads to the faulty value, and its message is one line.
func TestCheckIsPrintable(t *testing.T) {
	raw := inside(`{"type":"line\nfeed","` + strings.Repeat("é", 500) + `\u202e":1,"a\nb\u202e":2,"":3,"$ref":"\u0000` + strings.Repeat("x", 500) + `"}`)
	for _, p := range schema.Profiles() {
		for _, f := range schema.Check(json.RawMessage(raw), p) {
			if len(f.Message) > 2_000 || strings.ContainsAny(f.Message, "\n\x00\u202e") {
				t.Errorf("%s: %q", p.Name(), f.Message)
			}
		}
	}
}

// times returns n elements with commas between them.
func times(n int, element func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = element(i)
	}
	return strings.Join(all, ",")
}

func TestCheckIsBounded(t *testing.T) {
	long := strings.Repeat("k", 500_000)
	tests := map[string]string{
		"many findings": `{"type":"object","properties":{` + times(3_000, func(i int) string { return fmt.Sprintf(`"%d":1`, i) }) + `}}`,
		"long paths":    `{"type":"object","properties":{"` + long + `":{"enum":[` + times(5_000, func(int) string { return `""` }) + `]}}}`,
		"references to references": `{"type":"object","$defs":{` +
			times(3_000, func(i int) string { return fmt.Sprintf(`"%d":{"$ref":"#/$defs/%d"}`, i, (i+1)%3_000) }) + `}}`,
		"references to what doubles": `{"type":"object","$defs":{"0":{},` + times(1_500, func(i int) string {
			return fmt.Sprintf(`"%d":{"anyOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]}`, i+1, i, i)
		}) + `}}`,
	}
	for name, raw := range tests {
		for _, p := range rotated(len(name)) {
			begin := time.Now()
			findings, size := schema.Check(json.RawMessage(raw), p), 0
			for _, f := range findings {
				size += len(f.Path) + len(f.Message)
			}
			if took := time.Since(begin); took > time.Minute || len(findings) > 1_000 || size > 3<<20 {
				t.Errorf("%s, %s: %d findings of %d bytes in %v", p.Name(), name, len(findings), size, took)
			}
		}
	}
}

func TestCheckTool(t *testing.T) {
	long := strings.Repeat("x", 65)
	tests := []struct {
		profile           *schema.Profile
		name, description string
		want              []string
	}{
		{schema.Universal, "a-Good_name9", "Says what it does.\n\tWell.", nil},
		{schema.Universal, "", "x", []string{`name: the tool's name is empty`}},
		{schema.Universal, "9lives", "x", []string{`name: the tool's name "9lives" begins with '9'; it must begin with one of a-zA-Z`}},
		{schema.Universal, "a.b", "x", []string{`name: the tool's name "a.b" has '.'; accepted are a-zA-Z0-9_-`}},
		{schema.Universal, "aé", "x", []string{`name: the tool's name "aé" has 'é'; accepted are a-zA-Z0-9_-`}},
		{schema.Universal, long, "x", []string{`name: the tool's name "` + long[1:] + `…" has 65 characters; 64 are accepted`}},
		{schema.Universal, "a", "", []string{"description: the description is empty; it must have a character at least"}},
		{schema.Universal, "a", strings.Repeat("é", 100_000), nil},
		{schema.Flat, "a", strings.Repeat("é", 10_000), nil},
		{schema.Flat, "a", strings.Repeat("é", 10_001), []string{"description: the description has 10001 characters; 10000 are accepted"}},
		{schema.Universal, "a", "x\x1b[2J", nil}, // CheckHidden reports it
		{schema.Universal, "a", "x\xff", []string{"description: the description is not UTF-8"}},
		{schema.Gemini, "_a.b:c-d", "", nil},
		{schema.Moonshot, "21st_magic_component_builder", "x", []string{
			`name: the tool's name "21st_magic_component_builder" begins with '2'; it must begin with one of a-zA-Z`,
		}},
		{schema.OpenAI, "21st_magic_component_builder", "x", nil},
		{schema.Ollama, "any name", strings.Repeat("x", 100_000), nil},
	}
	for _, c := range tests {
		var got []string
		for _, f := range schema.CheckTool(c.name, c.description, c.profile) {
			got = append(got, string(f.Rule)+": "+f.Message)
			if f.Path != "" || f.Source == "" {
				t.Errorf("%+v", f)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s, %s: -want +got:\n%s", c.profile.Name(), c.name, diff)
		}
	}
}

func TestCheckHidden(t *testing.T) {
	raw := "{\"type\":\"object\",\"properties\":{\"a\u200b\":{\"description\":\"x\\u202ey\",\"enum\":[\"می\u200cخواهم\",\"\U000E0041\"]}}}"
	want := []string{
		" 2 characters that no reader sees, U+0085 first",
		"/properties/a\u200b 1 character that no reader sees, U+200B first",
		"/properties/a\u200b/description 1 character that no reader sees, U+202E first",
		"/properties/a\u200b/enum/1 1 character that no reader sees, U+E0041 first",
	}
	var got []string
	for _, f := range schema.CheckHidden("x\u0085\U000E0042", json.RawMessage(raw)) {
		if got = append(got, f.Path+" "+f.Message); f.Rule != rule.Hidden || f.Source == "" {
			t.Errorf("%+v", f)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := schema.CheckHidden("Reads.\n\t👩\u200d💻", json.RawMessage("{")); got != nil {
		t.Errorf("%+v", got)
	}
}

// For strict tools, the limits count over the whole request.
func TestCheckRequest(t *testing.T) {
	tool := json.RawMessage(closed(`{"type":["string","null"]}`))
	for n, want := range map[int][]string{16: nil, 17: {" limit"}, 25: {" count", " limit", " limit"}} {
		var all []json.RawMessage
		for range n {
			all = append(all, tool)
		}
		if diff := cmp.Diff(want, findingLines(schema.CheckRequest(all, schema.AnthropicStrict))); diff != "" {
			t.Errorf("%d tools: -want +got:\n%s", n, diff)
		}
	}
	if found := schema.CheckRequest([]json.RawMessage{tool, tool}, schema.OpenAIStrict); found != nil {
		t.Error(found)
	}
	for _, tt := range []struct {
		profile *schema.Profile
		size    int // of each of two tools
		want    []string
	}{
		{schema.AnthropicStrict, 3_500, nil},
		{schema.AnthropicStrict, 3_501, []string{" request"}},
		{schema.LlamaCpp, 48_500, nil},
		{schema.LlamaCpp, 48_501, []string{" request"}},
		{schema.OpenAI, 200_000, nil},
	} {
		empty := `{ "type":"object","properties":{},"required":[],"additionalProperties":false,"description":""}`
		large := json.RawMessage(strings.Replace(empty, `""`, fmt.Sprintf("%q", strings.Repeat("x", tt.size-len(empty)+1)), 1))
		if diff := cmp.Diff(tt.want, findingLines(schema.CheckRequest([]json.RawMessage{large, large}, tt.profile))); diff != "" {
			t.Errorf("%s, %d bytes: -want +got:\n%s", tt.profile.Name(), tt.size, diff)
		}
	}
}

func TestCheckCount(t *testing.T) {
	if got := schema.CheckCount(128, schema.OpenAI); got != nil {
		t.Errorf("%v", got)
	}
	want := []rule.Finding{{
		Rule:    rule.Count,
		Message: "there are 239 tools; one request has 128 at most: allow or deny tools for each server, or configure fewer servers",
		Source:  schema.OpenAI.Rules().Sources[rule.Count].At, Class: rule.Seen, Date: "2026-03",
	}}
	if diff := cmp.Diff(want, schema.CheckCount(239, schema.OpenAI)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
