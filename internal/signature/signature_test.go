package signature_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/testkit/linear"
)

func ExampleSchema_Signature() {
	s := signature.Parse(json.RawMessage(`{
		"type": "object",
		"properties": {
			"head": {"type": "integer", "default": 10},
			"path": {"type": "string"},
			"edits": {"type": "array", "items": {"type": "object", "properties": {"old": {"type": "string"}, "new": {"type": "string"}}}}
		},
		"required": ["path"]
	}`))
	fmt.Println(s.Signature(signature.Line))
	// Output: (path: string, head?: integer = 10, edits?: {old?: string, new?: string}[])
}

func TestSignature(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{``, `(any)`},
		{`null`, `(any)`},
		{`{"type":"object"}`, `()`},
		{`{}`, `()`},
		{`{"properties":{"mode":{"enum":["a","b"]},"one":{"const":1},"many":{"enum":[1,2,3,4,5,6,7]}}}`, `(mode?: "a" | "b", one?: 1, many?: 1 | 2 | 3 | 4 | 5 | 6 | …)`},
		{`{"properties":{"list":{"type":"array","items":{"type":"string"}},"any":{"type":"array"},"both":{"type":"array","items":{"type":["string","null"]}}}}`, `(list?: string[], any?: array, both?: (string | null)[])`},
		{`{"properties":{"u":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"string"}]},"r":{"$ref":"#/$defs/Color"},"x":{},"y":true,"z":false}}`, `(u?: string | integer, r?: Color, x?: any, y?: any, z?: nothing)`},
		{`{"properties":{"r":{"$ref":"#/$defs/a%7E1b"}},"$defs":{"a/b":{"$ref":"#/$defs/c"},"c":{"type":"null"}}}`, `(r?: null)`},
		{`{"$ref":"#/$defs/in","$defs":{"in":{"properties":{"a":{"type":"string"}}}}}`, `(a?: string)`},
		{`{"properties":{"c":{"$ref":"#/properties/c"}}}`, `(c?: c)`},
		{`{"properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"}}}}}`, `(n?: {n?: {n?: n}})`},
		{`{"type":"string"}`, `(string)`},
		{`{"type":"array","items":{"type":"number"}}`, `(number[])`},
		{`{"properties":{"a":{"allOf":[{"type":"string"},{"enum":["x","y"]},{}]},"b":{"allOf":[{}]}}}`, `(a?: string & ("x" | "y"), b?: any)`},
		{`{"properties":{"t":{"prefixItems":[{"type":"string"},{"type":"integer"}],"type":"array"},"l":{"items":[{"type":"null"}],"type":"array"}}}`, `(t?: [string, integer], l?: [null])`},
		{`{"properties":{"o":{"type":"object","additionalProperties":{"type":"integer"}},"r":{"required":["a","b"]}}}`, `(o?: {[key]: integer}, r?: {a, b})`},
		{`{"properties":{"o":{"type":"object","properties":{"` + strings.Repeat("x", 55) + `":{"type":"string"}}}}}`, `(o?: object)`},
		{`{"properties":{"a b\u202e":{"const":"\u202e"}}}`, `("a b\u202e"?: "\u202e")`},
		{`{"properties":5,"type":{"a":1},"required":"x"}`, `()`},
	} {
		if got := signature.Parse(json.RawMessage(tt.schema)).Signature(signature.Line); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.schema, got, tt.want)
		}
	}
}

func TestDefaultsAreShown(t *testing.T) {
	s := signature.Parse(json.RawMessage(`{"properties":{"a":{"default":1},"b":{"default":null},"c":{"default":"a value that is long"}}}`))
	if got, want := s.Signature(signature.Line), `(a?: any = 1, b?: any, c?: any)`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestBound(t *testing.T) {
	for _, tt := range []struct{ keyword, value, want string }{
		{"minimum", "1", "at least 1"}, {"exclusiveMaximum", "0.5", "less than 0.5"}, {"minLength", "1", "at least 1 character"},
		{"maxProperties", "2", "at most 2 properties"}, {"pattern", `"^\\d$"`, `text matching ^\d$`}, {"uniqueItems", "true", "unique items"},
		{"uniqueItems", "false", ""}, {"title", `"x"`, ""},
	} {
		if got := signature.Bound(tt.keyword, signature.Parse(json.RawMessage(tt.value)).Node); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.keyword, tt.value, got, tt.want)
		}
	}
}

// A schema with many references, or a very wide schema, costs only as much as its written part.
func TestTheWorkIsBounded(t *testing.T) {
	ref := `{"$ref":"#/$defs/a"}`
	for _, schema := range []string{
		`{"properties":{"x":` + ref + `},"$defs":{"a":{"anyOf":[` + strings.Repeat(ref+",", 5000) + ref + `]}}}`,
		`{"properties":{"x":` + ref + `},"$defs":{"a":{"allOf":[` + strings.Repeat(ref+",", 5000) + ref + `]}}}`,
		`{"properties":{"x":{"enum":[` + strings.Repeat("1,", 50_000) + `1]}}}`,
	} {
		began := time.Now()
		got := signature.Parse(json.RawMessage(schema)).Signature(signature.Line)
		if took := time.Since(began); took > time.Minute || len(got) > 2000 {
			t.Errorf("%d bytes after %v", len(got), took)
		}
	}
}

func FuzzSignature(f *testing.F) {
	f.Add(`{"properties":{"a":{"$ref":"#"}},"required":["b"]}`)
	f.Add(`{"anyOf":[{"items":[{}]},{"enum":["\ud800"]}]}`)
	f.Fuzz(func(t *testing.T, schema string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		s := signature.Parse(json.RawMessage(schema))
		for _, st := range []signature.Style{signature.Line, signature.Note} {
			if got := s.Signature(st) + s.Type(st); strings.ContainsAny(got, "\n\x00\x1b") {
				t.Errorf("%q", got)
			}
		}
	})
}

// TestSignatureIsLinear checks that signatures and declarations take linear time, also if parameters share large types.
func TestSignatureIsLinear(t *testing.T) {
	plain := signature.Style{Depth: 4, Choices: 6, Object: 60, Defaults: true} // without a limit of bytes
	// many returns members of half the size.
	many := func(size int, member string) string {
		var b strings.Builder
		for i := 0; b.Len() < size/2; i++ {
			fmt.Fprintf(&b, `"p%d":%s,`, i, strings.ReplaceAll(member, "#I", fmt.Sprint(i)))
		}
		return b.String() + `"z":{}`
	}
	large := func(size int) string { return `{"type":"object","properties":{` + many(size, "{}") + `}}` }
	for name, of := range map[string]func(size int) string{
		"a shared type": func(size int) string {
			return `{"properties":{` + many(size, `{"$ref":"#/$defs/a"}`) + `},"$defs":{"a":` + large(size) + `}}`
		},
		"a list of a shared type": func(size int) string {
			return `{"properties":{` + many(size, `{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}]}}`) +
				`},"$defs":{"a":` + large(size) + `}}`
		},
		"a shared type in a shared type": func(size int) string {
			return `{"properties":{` + many(size, `{"$ref":"#/$defs/b"}`) + `},"$defs":{"a":` + large(size) +
				`,"b":{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}}}}}`
		},
		"types of their own": func(size int) string {
			return `{"properties":{` + many(size, `{"$ref":"#/$defs/p#I"}`) + `},"$defs":{` + many(size, `{"type":"string"}`) + `}}`
		},
		"a shared choice": func(size int) string {
			return `{"properties":{` + many(size, `{"$ref":"#/$defs/a"}`) + `},"$defs":{"a":{"enum":[` +
				strings.Repeat(`"x",`, size/8) + `1]}}}`
		},
		"required names": func(size int) string {
			return `{"properties":{` + many(size, `{}`) + `},"required":["` + strings.Repeat(`p","`, size/8) + `"]}`
		},
	} {
		linear.Check(t, name, 500*time.Millisecond, func(size int) func() {
			raw := json.RawMessage(of(size))
			return func() {
				signature.Parse(raw).Signature(signature.Line)
				signature.Parse(raw).Declarations(plain)
			}
		})
	}
}
