package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/indusagi/indus/schema"
)

// TestUniversalKeepsPydanticsTypes checks, for each shape of Pydantic v2, the type that a model sees, and the words of
// the description that replace lost constraints.
func TestUniversalKeepsPydanticsTypes(t *testing.T) {
	for _, c := range []struct {
		name string
		want string
		says []string
	}{
		{"optional-str", "{cursor?: string, lang?: string, query: string}", nil},
		{"optional-described", "{lang?: string, limit?: integer, query: string}", []string{"RFC 5646", "100", "How many"}},
		{"optional-literal", `{depth?: integer, level?: "debug", mode?: "fast" | "safe"}`, []string{"1, 2, 3"}},
		{"literal", `{kind: "run", mixed?: "a" | integer | boolean, mode: "fast" | "safe", one: integer}`, nil},
		{"list-of-models", "{more?: []{name: string, weight?: number}, tags: []{name: string, weight?: number}}", []string{"5", "1.0"}},
		{"dict-of-models", "{by_name: {}, counts?: {}, maybe?: {}}", []string{"name: string", "weight?: number", "integer"}},
		{"dict-keys", "{by_code: {}, by_color: {}}", []string{"red", "green", "^[a-z]{2}$", "integer"}},
		{"discriminated-union", `{shape: {kind: "circle", radius: number} | {kind?: "square", side: number}}`, nil},
		{"union-of-models", "{all: []({address: string} | {country?: string, number: string}), " +
			"to: {address: string} | {country?: string, number: string} | string}", nil},
		{"recursive", "{tree: {children?: []{…}, value: integer}}", []string{"Node"}},
		{"recursive-optional", "{head?: {next?: {…}, value: integer}}", []string{"Link"}},
		{"recursive-root", "{all_of?: []{…}, field: string, negated?: {…}}", []string{"Filter"}},
		{"recursive-mutual", `{filters?: {key: string, type: "eq" | "ne", value: string} | {filters: []({…} | {…}), type: "and" | "or"}}`, []string{"Compound"}},
		{"json-value", "{value?: string | number | boolean | []… | {…}}", nil},
		{"enum-str", `{color: "red" | "green" | "blue", described: "red" | "green" | "blue", second?: "red" | "green" | "blue", ` +
			`third?: "red" | "green" | "blue"}`, []string{"What colors there are.", "The frame's color"}},
		{"enum-int", "{fallback?: integer, priority: integer}", []string{"1, 2, 3"}},
		{"enum-default-v20", `{color?: "red" | "green", where: {street: string, zip?: string}}`, []string{"The wall's color"}},
		{"bounds", "{ids: []integer, limit: integer, name: string, ratio?: number, step: integer}", []string{"100", "64", "^[a-z][a-z0-9-]*$", "10", "5"}},
		{"formats", "{at: string, day: string, file: string, hour?: string, id: string, id4: string, ip: string, long: string, mail: string, " +
			"secret: string, url: string}", []string{"date-time", "uuid", "email", "uri", "2083"}},
		{"decimal", "{amount: number | string, tip?: number | string}", nil},
		{"bytes", "{b64: string, data: string}", []string{"base64", "binary"}},
		{"tuple", "{box: []…, many: []number, pair: [](string | {name: string, weight?: number}), rest: [](string | integer), size: []integer}", []string{"2"}},
		{"set", `{colors?: []("red" | "green"), labels: []string}`, nil},
		{"nested-optional-model", "{person: {home?: {street: string, zip?: string}, name: string, work?: {street: string, zip?: string}}, " +
			"to?: {street: string, zip?: string}}", []string{"Where they live"}},
		{"union-of-scalars", "{ids: string | []string, maybe?: integer | string, value: string | integer | number | boolean}", nil},
		{"any", "{extra?: …, items: []…, maybe?: …, options: {}, payload: …}", nil},
		{"forbid", "{name: string, where: {x: integer, y: integer}}", nil},
		{"no-arguments", "{}", nil},
		{"named-tuple", "{to: []integer}", []string{"2"}},
		{"examples", "{body?: string, to: string, trace?: string}", []string{"a@example.org", "The receiver"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, doc := universal(t, read(t, filepath.Join("testdata", "corpus", "pydantic", c.name+".json")))
			if got := signature(doc); !like(got, c.want) {
				t.Errorf("%s\nwant %s\nin   %s", got, c.want, a.Schema)
			}
			for _, words := range c.says {
				quoted := strings.Trim(quote(words), `"`)
				if !strings.Contains(string(a.Schema), quoted) && !strings.Contains(a.Note, words) {
					t.Errorf("nothing says %q in %s (%s)", words, a.Schema, a.Note)
				}
			}
		})
	}
}

// TestPydanticsAliasesComeBack checks that names that no provider accepts are renamed for the model and restored for
// the server.
func TestPydanticsAliasesComeBack(t *testing.T) {
	a, _ := universal(t, read(t, filepath.Join("testdata", "corpus", "pydantic", "aliases.json")))
	properties := parse(a.Schema).get("properties")
	names := []string{"X-Request-Id", "filter[name]", "$top", "date.from", "größe"}
	given, want := obj(), obj()
	for i, name := range names {
		if !regexp.MustCompile("^[a-zA-Z_][a-zA-Z0-9_]{0,63}$").MatchString(strings.Trim(properties.keys[i], `"`)) {
			t.Errorf("%s is called %s", name, properties.keys[i])
		}
		given.keys, given.kids = append(given.keys, properties.keys[i]), append(given.kids, raw(fmt.Sprint(i)))
		want.set(name, raw(fmt.Sprint(i)))
	}
	if got := parse(a.Restore(given.bytes())); got.String() != want.String() {
		t.Errorf("%s became %s, want %s", given, got, want)
	}
	for i, name := range names {
		if got, want := a.Path("/"+name), "/"+strings.Trim(properties.keys[i], `"`); got != want {
			t.Errorf("the path /%s is %s for the model, want %s", name, got, want)
		}
	}
}

// TestAWrappedRootComesBack checks that a root that is not an object is wrapped for the model and unwrapped for the
// server.
func TestAWrappedRootComesBack(t *testing.T) {
	a, doc := universal(t, json.RawMessage(`{"type":"array","items":{"type":"object","properties":{"a.b":{"type":"integer"}},"required":["a.b"]}}`))
	m := regexp.MustCompile(`^\{(\w+): \[\]\{(\w+): integer\}\}$`).FindStringSubmatch(signature(doc))
	if m == nil {
		t.Fatalf("%s in %s", signature(doc), a.Schema)
	}
	given := fmt.Sprintf(`{ %q : [ {%q: 1.50}, {} ]}`, m[1], m[2])
	if got, want := string(a.Restore(json.RawMessage(given))), `[{"a.b":1.50},{}]`; strings.ReplaceAll(got, " ", "") != want {
		t.Errorf("%s became %s, want %s", given, got, want)
	}
	if got, want := a.Path("/0/a.b"), "/"+m[1]+"/0/"+m[2]; got != want {
		t.Errorf("the path /0/a.b is %s for the model, want %s", got, want)
	}
}

// TestNullsComeBack checks that a required property that accepts null is optional for the model and null for the
// server.
func TestNullsComeBack(t *testing.T) {
	a, _ := universal(t, read(t, filepath.Join("testdata", "corpus", "pydantic", "optional-str.json")))
	for given, want := range map[string]string{
		`{"query":"x"}`:                                        `{"query":"x","cursor":null}`,
		`{"query":"x","cursor":"y"}`:                           `{"query":"x","cursor":"y"}`,
		`{"query":"x","cursor":null}`:                          `{"query":"x","cursor":null}`,
		`{"query":"x","lang":"de","cursor":"y"}`:               `{"query":"x","lang":"de","cursor":"y"}`,
		`{"query":"x","lang":null,"cursor":"y"}`:               `{"query":"x","lang":null,"cursor":"y"}`,
		` { "cursor" : "y", "query":"\u0078" , "n":1.50e+1 } `: `{"cursor":"y","query":"\u0078","n":1.50e+1}`,
	} {
		var got bytes.Buffer
		if err := json.Compact(&got, a.Restore(json.RawMessage(given))); err != nil || got.String() != want {
			t.Errorf("%s became %s, want %s: %v", given, &got, want, err)
		}
	}
}

// like compares signatures. An ellipsis in want matches any one type, or all members of an object.
func like(got, want string) bool {
	pattern := regexp.QuoteMeta(want)
	pattern = strings.ReplaceAll(pattern, `\{…\}`, `\{.*\}`)
	return regexp.MustCompile("^" + strings.ReplaceAll(pattern, "…", ".+") + "$").MatchString(got)
}

// signature returns a schema's type in one line, as a programmer would write it: "{query: string, lang?: string}".
func signature(s any) string {
	m, ok := s.(map[string]any)
	switch {
	case !ok:
		return fmt.Sprint(s)
	case m["anyOf"] != nil:
		return strings.Join(signatures(m["anyOf"]), " | ")
	case m["enum"] != nil:
		return strings.Join(literals(m["enum"]), " | ")
	}
	switch m["type"] {
	case "array":
		items := signature(m["items"])
		if of, _ := m["items"].(map[string]any); of["anyOf"] != nil || of["enum"] != nil {
			items = "(" + items + ")"
		}
		return "[]" + items
	case "object":
		return objectSignature(m)
	}
	return fmt.Sprint(m["type"])
}

func signatures(list any) []string {
	var out []string
	for _, s := range list.([]any) {
		out = append(out, signature(s))
	}
	return out
}

func literals(list any) []string {
	var out []string
	for _, v := range list.([]any) {
		b, _ := json.Marshal(v)
		out = append(out, string(b))
	}
	return out
}

func objectSignature(m map[string]any) string {
	properties, _ := m["properties"].(map[string]any)
	required, _ := m["required"].([]any)
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		mark := "?"
		if slices.Contains(required, any(name)) {
			mark = ""
		}
		fields = append(fields, name+mark+": "+signature(properties[name]))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func universal(t *testing.T, raw json.RawMessage) (*schema.Adapted, any) {
	t.Helper()
	a, err := schema.Adapt(raw, schema.Universal)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Schema))
	if err != nil {
		t.Fatal(err)
	}
	return a, doc
}
