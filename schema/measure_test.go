package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
)

func TestMeasure(t *testing.T) {
	const all = -1 // no limit
	tests := []struct {
		name   string
		limits schema.Limits
		input  string
		want   string // "" for none
	}{
		{"a byte too many", schema.Limits{Depth: 2, Nodes: 4, Bytes: 15}, `{"a":[1,"b,:]"]}`, "schema: 16 bytes exceed the limit of 15"},
		{"at every limit", schema.Limits{Depth: 2, Nodes: 4, Bytes: 16}, `{"a":[1,"b,:]"]}`, ""},
		{"a scalar has no depth", schema.Limits{Depth: 1, Nodes: 1}, `"x"`, ""},
		{"bytes count whitespace", schema.Limits{Bytes: 3}, `{}  `, "schema: 4 bytes exceed the limit of 3"},

		{"depth by default", schema.Limits{}, nest(64, "[", "]", ""), ""},
		{"depth beyond the default", schema.Limits{}, nest(65, "[", "]", ""), `schema: 65 levels exceed the limit of 64 at "` + strings.Repeat("/0", 64) + `"`},
		{"the root is one deep", schema.Limits{Depth: 1}, `{"a":1}`, ""},
		{"depth in an object", schema.Limits{Depth: 1}, `{"a":1,"b":{}}`, `schema: 2 levels exceed the limit of 1 at "/b"`},
		{"containers beside one another do not nest", schema.Limits{Depth: 2}, `[[],[],{},{}]`, ""},
		{"no limit of depth", schema.Limits{Depth: all, Nodes: all}, nest(10_000, "[", "]", ""), ""},
		{"no limit is 10,000 all the same", schema.Limits{Depth: all, Nodes: all}, nest(10_001, "[", "]", ""), `schema: 10001 levels exceed the limit of 10000 at "` + strings.Repeat("/0", 128) + `…"`},

		{"nodes by default", schema.Limits{}, "[" + strings.Repeat("0,", 9_998) + "0]", ""},
		{"nodes beyond the default", schema.Limits{}, "[" + strings.Repeat("0,", 9_999) + "0]", `schema: 10001 nodes exceed the limit of 10000 at "/9999"`},
		{"keys are no nodes", schema.Limits{Nodes: 3}, `{"a":"b","c":"d"}`, ""},
		{"nodes in an object", schema.Limits{Nodes: 3}, `{"a":"b","c":"d","e":[]}`, `schema: 4 nodes exceed the limit of 3 at "/e"`},
		{"no limit of nodes", schema.Limits{Nodes: all}, "[" + strings.Repeat("0,", 20_000) + "0]", ""},

		{"bytes by default", schema.Limits{}, `"` + strings.Repeat("x", 1<<20-2) + `"`, ""},
		{"bytes beyond the default", schema.Limits{}, `"` + strings.Repeat("x", 1<<20-1) + `"`, "schema: 1048577 bytes exceed the limit of 1048576"},
		{"no limit of bytes", schema.Limits{Bytes: all}, `"` + strings.Repeat("x", 1<<20) + `"`, ""},

		{"a pointer is escaped", schema.Limits{Depth: 2}, `{"a/b~c":{"\u0064\"":[]}}`, `schema: 3 levels exceed the limit of 2 at "/a~1b~0c/d\""`},
		{"a pointer is safe to print", schema.Limits{Nodes: 1}, `{"\u001b[31m\ud800\u202e":1}`, `schema: 2 nodes exceed the limit of 1 at "/\x1b[31m\u202e"`},
		{"a pointer is cut between characters", schema.Limits{Nodes: 1}, `{"` + strings.Repeat("é", 500) + `":1}`, `schema: 2 nodes exceed the limit of 1 at "/` + strings.Repeat("é", 127) + `…"`},
		{"a pointer into an array", schema.Limits{Depth: 2}, `{"a":[1,{}]}`, `schema: 3 levels exceed the limit of 2 at "/a/1"`},
		{"a pointer after other members", schema.Limits{Depth: 3}, `{"a":[1,{}],"b":[0,"c",{"d":true,"e":{}}]}`, `schema: 4 levels exceed the limit of 3 at "/b/2/e"`},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, text(schema.Measure([]byte(c.input), c.limits))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMeasureSaysWhichBound(t *testing.T) {
	err := schema.Measure([]byte(`{"a": [ {"b":1} ]}`), schema.Limits{Depth: 2})
	var got *schema.LimitError
	if !errors.As(fmt.Errorf("tool: %w", err), &got) {
		t.Fatalf("%T: %v", err, err)
	}
	want := &schema.LimitError{Bound: "depth", Found: 3, Limit: 2, Pointer: "/a/0", Offset: 8}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if errors.Is(err, schema.ErrMalformed) {
		t.Error("too deep is not malformed")
	}
}

func TestMeasureMalformed(t *testing.T) {
	tests := []struct{ name, input, want string }{
		{"nothing", "", "schema: malformed JSON: unexpected end of JSON input at byte 0"},
		{"cut", `{"a":`, "schema: malformed JSON: unexpected end of JSON input at byte 5"},
		{"an open string", `"a\"`, "schema: malformed JSON: unexpected end of JSON input at byte 4"},
		{"brackets that do not match", `{]`, "schema: malformed JSON: invalid character ']' looking for beginning of object key string at byte 2"},
		{"only closing brackets", `]]}`, "schema: malformed JSON: invalid character ']' looking for beginning of value at byte 1"},
		{"a stray byte", "\x00", `schema: malformed JSON: invalid character '\x00' looking for beginning of value at byte 1`},
		{"two values", `{}{}`, "schema: malformed JSON: invalid character '{' after top-level value at byte 3"},
		{"invalid UTF-8", "\"\xff\"", "schema: malformed JSON: invalid UTF-8"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			err := schema.Measure([]byte(c.input), schema.Limits{})
			if diff := cmp.Diff(c.want, text(err)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !errors.Is(err, schema.ErrMalformed) {
				t.Error("is not ErrMalformed")
			}
		})
	}
}

// Measure reports an exceeded bound without reading on. The rest of each input is not JSON, but is never read.
func TestMeasureStopsEarly(t *testing.T) {
	tests := []struct {
		limits       schema.Limits
		input, bound string
	}{
		{schema.Limits{Bytes: 10}, "\xff" + strings.Repeat("!", 10), "bytes"},
		{schema.Limits{Depth: 3}, "[[[[!", "depth"},
		{schema.Limits{Nodes: 3}, "[1,2,3,!", "nodes"},
		{schema.Limits{Depth: -1, Nodes: -1, Bytes: -1}, strings.Repeat("[", 1_000_000), "depth"},
	}
	for _, c := range tests {
		var got *schema.LimitError
		if err := schema.Measure([]byte(c.input), c.limits); !errors.As(err, &got) || got.Bound != c.bound {
			t.Errorf("%s: %v", c.bound, err)
		}
	}
}
