package schema_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
)

const fallback = `{"type":"object","properties":{}}`

// The vectors are the exact results that every edition of the bridge returns.
func TestNormalizeVectors(t *testing.T) {
	file, err := os.ReadFile("testdata/normalize.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name        string
		Input, Want json.RawMessage
	}
	if err := json.Unmarshal(file, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) == 0 {
		t.Fatal("no vectors")
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			var want bytes.Buffer
			if err := json.Compact(&want, v.Want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.String(), string(schema.Normalize(v.Input))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

var edges = []struct{ name, input, want string }{
	// Values that are not schemas.
	{"nothing", "", fallback},
	{"whitespace", " \n", fallback},
	{"a boolean", "true", fallback},
	{"a number", "1", fallback},
	{"an array", `[{"type":"string"}]`, fallback},
	{"cut short", `{"type":"string"`, fallback},
	{"two values", `{"type":"string"}{"type":"string"}`, fallback},
	{"a comma too many", `{"type":"string",}`, fallback},
	{"a byte order mark", "\uFEFF" + `{"type":"string"}`, fallback},
	{"a comment", `{"type":"string"/**/}`, fallback},
	{"invalid UTF-8", "{\"type\":\"string\",\"title\":\"\xff\"}", fallback},
	{"a raw half of a surrogate pair", "{\"type\":\"string\",\"title\":\"\xed\xa0\x80\"}", fallback},
	{"a control character in a string", "{\"type\":\"string\",\"title\":\"\x01\"}", fallback},

	// Types.
	{"no key", `{}`, fallback},
	{"every scalar", `{"type":"null"}`, `{"type":"null"}`},
	{"a type in capitals", `{"type":"Object"}`, fallback},
	{"an empty type", `{"type":""}`, fallback},
	{"a type with a space", `{"type":"object "}`, fallback},
	{"a null type", `{"type":null}`, fallback},
	{"one type in a list", `{"type":["string"]}`, fallback},
	{"a boolean schema as a property", `{"type":"object","properties":{"a":true}}`, `{"type":"object","properties":{"a":` + fallback + `}}`},
	{"only a type below counts", `{"properties":{"type":"object"}}`, fallback},

	// Escapes: keys are compared without escapes, and keep their spelling.
	{"an escaped key", `{"ty\u0070e":"string","d\u0065fault":1}`, `{"ty\u0070e":"string"}`},
	{"an escaped type", `{"type":"\u006fbject"}`, `{"type":"\u006fbject","properties":{}}`},
	{"escaped structure", `{"type":"object","p\u0072operties":{"a":{"type":"null","\u0024id":1}}}`, `{"type":"object","p\u0072operties":{"a":{"type":"null"}}}`},
	{"escapes in required", `{"type":"object","properties":{"a/b":{},"c":{}},"required":["a\/b","\u0063","\u0064"]}`,
		`{"type":"object","properties":{"a/b":` + fallback + `,"c":` + fallback + `},"required":["a\/b","\u0063"]}`},
	{"a pair of surrogates is its character", `{"type":"object","properties":{"😀":{}},"required":["\ud83d\ude00"]}`,
		`{"type":"object","properties":{"😀":` + fallback + `},"required":["\ud83d\ude00"]}`},
	{"halves of pairs are not one another", `{"type":"object","properties":{"\ud800":{},"\ud801":{}},"required":["\udbff","\uD801","\ufffd"]}`,
		`{"type":"object","properties":{"\ud800":` + fallback + `,"\ud801":` + fallback + `},"required":["\uD801"]}`},
	{"all short escapes", `{"type":"object","properties":{"\b\f\n\r\t\"\\\/":{}},"required":["\u0008\u000c\u000a\u000d\u0009\u0022\u005c\u002f"]}`,
		`{"type":"object","properties":{"\b\f\n\r\t\"\\\/":` + fallback + `},"required":["\u0008\u000c\u000a\u000d\u0009\u0022\u005c\u002f"]}`},
	{"brackets and quotes in strings", `{"type":"object","title":"}]\"{[\\","properties":{"{\"":{"type":"null"}}}`, `{"type":"object","title":"}]\"{[\\","properties":{"{\"":{"type":"null"}}}`},

	// Repeated keys: the last value takes the place of the first.
	{"a repeated type", `{"type":"string","minLength":1,"type":"integer"}`, `{"type":"integer","minLength":1}`},
	{"a repeated type, escaped", `{"type":"string","ty\u0070e":"integer"}`, `{"type":"integer"}`},
	{"repeated properties", `{"type":"object","properties":{"a":{"type":"null"}},"x":1,"properties":{"b":{"type":"null"}},"required":["a","b"]}`,
		`{"type":"object","properties":{"b":{"type":"null"}},"x":1,"required":["b"]}`},
	{"repeated properties, the last is no record", `{"type":"object","properties":{"a":{}},"properties":1}`, fallback},
	{"a repeated property", `{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"},"\u0061":{"type":"string"}}}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"null"}}}`},
	{"repeated keys in what is passed on", `{"type":"string","x":{"a":1,"a":2},"enum":[{"b":1,"b":1}]}`, `{"type":"string","x":{"a":1,"a":2},"enum":[{"b":1,"b":1}]}`},

	// Objects.
	{"properties are null", `{"properties":null,"type":"object"}`, `{"properties":{},"type":"object"}`},
	{"a property named properties", `{"type":"object","properties":{"properties":{"type":"null"}},"required":["properties"]}`, `{"type":"object","properties":{"properties":{"type":"null"}},"required":["properties"]}`},
	{"an empty name", `{"type":"object","properties":{"":{"type":"null"}},"required":[""]}`, `{"type":"object","properties":{"":{"type":"null"}},"required":[""]}`},
	{"required is no array", `{"type":"object","properties":{"a":{"type":"null"}},"required":"a"}`, `{"type":"object","properties":{"a":{"type":"null"}}}`},
	{"required is null, and first", `{"required":null,"type":"object"}`, `{"type":"object","properties":{}}`},
	{"required holds more than strings", `{"type":"object","required":[1,"b",null,["a"],{"a":"a"},"a","b"],"properties":{"a":{"type":"null"},"b":{"type":"null"}}}`,
		`{"type":"object","required":["b","a","b"],"properties":{"a":{"type":"null"},"b":{"type":"null"}}}`},
	{"required without properties", `{"type":"object","required":["a"]}`, fallback},
	{"required is empty", `{"type":"object","properties":{},"required":[]}`, fallback},
	{"required of a string stays", `{"type":"string","required":true}`, `{"type":"string","required":true}`},
	{"additionalProperties true", `{"type":"object","additionalProperties":true}`, `{"type":"object","additionalProperties":true,"properties":{}}`},
	{"additionalProperties null", `{"type":"object","additionalProperties":null}`, fallback},
	{"additionalProperties a list", `{"type":"object","additionalProperties":[{"type":"string"}]}`, fallback},
	{"additionalProperties a text", `{"additionalProperties":"no","type":"object"}`, fallback},
	{"additionalProperties {}", `{"type":"object","additionalProperties":{}}`, `{"type":"object","additionalProperties":` + fallback + `,"properties":{}}`},
	{"items of an object are not entered", `{"type":"object","items":[{"default":1}]}`, `{"type":"object","items":[{"default":1}],"properties":{}}`},

	// Arrays.
	{"no items", `{"type":"array"}`, `{"type":"array"}`},
	{"empty items", `{"type":"array","items":[],"minItems":1}`, `{"type":"array","minItems":1}`},
	{"only empty items", `{"items":[ ],"type":"array"}`, `{"type":"array"}`},
	{"boolean items", `{"type":"array","items":true}`, `{"type":"array","items":true}`},
	{"a boolean tuple", `{"type":"array","items":[false,{"type":"string"}]}`, `{"type":"array","items":false}`},
	{"items that say nothing", `{"type":"array","items":{}}`, `{"type":"array","items":` + fallback + `}`},
	{"items that are no schema", `{"type":"array","items":"string"}`, `{"type":"array","items":` + fallback + `}`},
	{"a tuple of tuples", `{"type":"array","items":[[{"type":"string"}]]}`, `{"type":"array","items":` + fallback + `}`},
	{"a tuple's first element is entered", `{"type":"array","items":[{"type":"array","default":[[]],"items":[{"type":"null","$id":1}]},{}],"x":[{}]}`,
		`{"type":"array","items":{"type":"array","items":{"type":"null"}},"x":[{}]}`},
	{"properties of an array are not entered", `{"type":"array","properties":{"a":{"default":1}},"additionalProperties":null}`, `{"type":"array","properties":{"a":{"default":1}},"additionalProperties":null}`},

	// Keywords that stay as they are.
	{"numbers keep their digits", `{"type":"number","minimum":-0,"maximum":9007199254740993,"multipleOf":1.0e+2,"x":1E400}`, `{"type":"number","minimum":-0,"maximum":9007199254740993,"multipleOf":1.0e+2,"x":1E400}`},
	{"other schemas are not entered", `{"type":"string","anyOf":[{"default":1,"$ref":"#"}],"not":{"$id":"x"},"patternProperties":{"a":{"default":1}}}`, `{"type":"string","anyOf":[{"default":1,"$ref":"#"}],"not":{"$id":"x"},"patternProperties":{"a":{"default":1}}}`},
	{"whitespace goes, but not in strings", "\t{ \"type\" :\r\n\"string\" , \"enum\" : [ \" a \" , 1 ] }\n", `{"type":"string","enum":[" a ",1]}`},
	{"nothing is escaped for HTML", `{"type":"string","pattern":"<&>` + "\u2028" + `"}`, `{"type":"string","pattern":"<&>` + "\u2028" + `"}`},
	{"keywords are exact", `{"type":"string","Default":1,"$SCHEMA":2,"example":3}`, `{"type":"string","Default":1,"$SCHEMA":2,"example":3}`},
}

func TestNormalizeEdges(t *testing.T) {
	for _, c := range edges {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, string(schema.Normalize([]byte(c.input)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNormalizeLevels(t *testing.T) {
	const open, shut, leaf = `{"type":"array","items":`, `}`, `{"type":"string"}`
	tests := []struct{ name, input, want string }{
		{"the thousandth is kept", nest(999, open, shut, leaf), nest(999, open, shut, leaf)},
		{"the next is not", nest(1000, open, shut, leaf), nest(1000, open, shut, fallback)},
		{"nor what lies below it", nest(4000, open, shut, leaf), nest(1000, open, shut, fallback)},
		{"a tuple is no level", nest(999, open+"[", "]"+shut, leaf), nest(999, open, shut, leaf)},
		{"deep values are passed on", `{"type":"string","x":` + nest(9999, "[", "]", "") + `}`, `{"type":"string","x":` + nest(9999, "[", "]", "") + `}`},
		{"too deep for encoding/json", `{"type":"string","x":` + nest(10000, "[", "]", "") + `}`, fallback},
		{"far too deep", nest(1_000_000, "[", "]", ""), fallback},
		{"far too deep and cut", strings.Repeat(open, 1_000_000), fallback},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			if got := string(schema.Normalize([]byte(c.input))); got != c.want {
				t.Errorf("got %d bytes, want %d", len(got), len(c.want))
			}
		})
	}
}

// Large objects use another lookup than small ones.
func TestNormalizeManyMembers(t *testing.T) {
	for _, n := range []int{15, 16, 17, 40} {
		var properties, want []string
		for i := range n {
			name := `"` + strings.Repeat("p", i+1) + `":`
			properties = append(properties, name+`{"type":"string"}`)
			want = append(want, name+`{"type":"integer"}`)
		}
		twice := append(properties, want...)
		last := `["` + strings.Repeat("p", n) + `"]`
		got := schema.Normalize([]byte(`{"type":"object","properties":{` + strings.Join(twice, ",") + `},"required":` + last + `}`))
		if diff := cmp.Diff(`{"type":"object","properties":{`+strings.Join(want, ",")+`},"required":`+last+`}`, string(got)); diff != "" {
			t.Errorf("%d members, -want +got:\n%s", n, diff)
		}
	}
}

func TestNormalizeGivesNewBytes(t *testing.T) {
	for _, input := range []string{`{"type":"string"}`, `{}`, ``} {
		raw := []byte(input)
		once := schema.Normalize(raw)
		want := string(once)
		clear(once)
		if string(raw) != input {
			t.Errorf("%q: the result is the input's own bytes", input)
		}
		if got := string(schema.Normalize(raw)); got != want {
			t.Errorf("%q: the second result is %q", input, got)
		}
	}
}
