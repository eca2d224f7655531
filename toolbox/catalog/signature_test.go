package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

func TestSignature(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{``, `(any)`},
		{`{"type":"object"}`, `()`},
		{`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"]}`, `(path: string, limit?: integer)`},
		{`{"properties":{"mode":{"enum":["a","b"]},"one":{"const":1},"many":{"enum":[1,2,3,4,5]}}}`, `(mode?: "a" | "b", one?: 1, many?: 1 | 2 | 3 | 4 | 5)`},
		{`{"properties":{"list":{"type":"array","items":{"type":"string"}},"any":{"type":"array"},"both":{"type":"array","items":{"type":["string","null"]}}}}`, `(list?: string[], any?: array, both?: (string | null)[])`},
		{`{"properties":{"u":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"string"}]},"r":{"$ref":"#/$defs/Color"},"x":{},"y":true}}`, `(u?: string | integer, r?: Color, x?: any, y?: any)`},
		{`{"type":"string"}`, `(string)`},
		{`{"type":"array","items":{"type":"number"}}`, `(number[])`},
		{`{"type":"object","properties":{"a":{"description":"no type"},"b":{"type":"object","properties":{"c":{"type":"string"}}}}}`, `(a?: any, b?: {c?: string})`},
	} {
		src := catalog.Over(&testSource{snapshot: snapshotOf(toolbox.Descriptor{Name: "x",
			Schema: json.RawMessage(tt.schema)})}, nil)
		var got struct {
			Operations []struct{ Parameters string }
		}
		if err := json.Unmarshal([]byte(do(t, src, "search", `{"query":"x"}`)), &got); err != nil {
			t.Fatal(err)
		}
		if got.Operations[0].Parameters != tt.want {
			t.Errorf("%s: got %s, want %s", tt.schema, got.Operations[0].Parameters, tt.want)
		}
	}
}

func TestSummary(t *testing.T) {
	for _, tt := range []struct{ description, want string }{
		{"", ""},
		{"Reads a file. Then more.", "Reads a file."},
		{"  Reads\n a   file\n\nmore", "Reads a file"},
		{"No end", "No end"},
		{"ünïcode " + string(make([]byte, 10)), "ünïcode"},
	} {
		src := catalog.Over(&testSource{snapshot: snapshotOf(toolbox.Descriptor{Name: "x",
			Description: tt.description})}, nil)
		var got struct {
			Operations []struct{ Description string }
		}
		if err := json.Unmarshal([]byte(do(t, src, "search", `{"query":"x"}`)), &got); err != nil {
			t.Fatal(err)
		}
		if got.Operations[0].Description != tt.want {
			t.Errorf("%q: got %q, want %q", tt.description, got.Operations[0].Description, tt.want)
		}
	}
}
