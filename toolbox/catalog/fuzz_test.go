package catalog_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// FuzzInput checks that every answer is one JSON value in UTF-8, and that a failure has a
// description.
func FuzzInput(f *testing.F) {
	for _, input := range []string{
		``, `{}`, `{"query":"echo","limit":3}`, `{"name":"echo"}`, `{"operation":"echo","input":"{\"text\":\"[]\"}"}`,
		`{"calls":[{"operation":"echo"},{"operation":"nix"},7]}`, `{"operation":"call","input":{"operation":"echo"}}`, "{\"query\":\"\xff\"}", `{"name":"\ud800"}`,
	} {
		f.Add(input)
	}
	inner := echoes()
	four := catalog.Over(toolbox.NewBox(nil, inner, catalog.Over(inner, nil)), nil)
	f.Fuzz(func(t *testing.T, input string) {
		for _, d := range four.Snapshot("").Tools {
			r, err := four.Do(t.Context(), toolbox.Call{Name: d.Name, Input: json.RawMessage(input)})
			if err != nil {
				t.Fatalf("%s: %v", d.Name, err)
			}
			if r.Structured() == nil { // the tool's own result
				continue
			}
			if !json.Valid(r.Structured()) || !utf8.Valid(r.Structured()) {
				t.Fatalf("%s: %q", d.Name, r.Structured())
			}
			var e catalog.Error
			if r.IsError() && (json.Unmarshal(r.Structured(), &e) != nil || e.Code == "" || e.Message == "") {
				t.Fatalf("%s: %s", d.Name, r.Structured())
			}
		}
	})
}

// FuzzBatch checks that each call of a batch has one answer, in its place, whatever the batch
// contains.
func FuzzBatch(f *testing.F) {
	f.Add([]byte(`[]`))
	f.Add([]byte(`[{"operation":"echo","input":{"text":"a"}},{"operation":"echo"}]`))
	f.Add([]byte(`[1,"",null,{},{"operation":1},{"operation":"call","input":{"operation":"batch"}},{"operation":"batch","input":{"calls":[{}]}}]`))
	f.Add([]byte(`[{"operation":"\ud800"},{"operation":"echo","input":"\"\\u0000"}]`))
	box := toolbox.NewBox(nil, echoes(), catalog.Over(echoes(), nil))
	four := catalog.Over(box, nil)
	f.Fuzz(func(t *testing.T, list []byte) {
		input := bytes.Join([][]byte{[]byte(`{"calls":`), list, []byte(`}`)}, nil)
		r, err := four.Do(t.Context(), toolbox.Call{Name: "batch", Input: input})
		if err != nil {
			t.Fatal(err)
		}
		var in struct{ Calls []json.RawMessage }
		var out struct{ Results []map[string]json.RawMessage }
		if r.IsError() {
			return
		}
		if err := json.Unmarshal(r.Structured(), &out); err != nil {
			t.Fatalf("%v: %s", err, r.Structured())
		}
		if json.Unmarshal(input, &in) != nil || len(in.Calls) != len(out.Results) {
			t.Fatalf("%d results of %d calls: %s", len(out.Results), len(in.Calls), r.Structured())
		}
		for i, one := range out.Results {
			var name struct{ Operation string }
			kinds := 0
			for _, kind := range []string{"value", "result", "error"} {
				if one[kind] != nil {
					kinds++
				}
			}
			if kinds != 1 {
				t.Fatalf("call %d has %d answers: %s", i, kinds, r.Structured())
			}
			if json.Unmarshal(in.Calls[i], &name) == nil && name.Operation == "echo" && one["error"] == nil &&
				string(one["operation"]) != `"echo"` {
				t.Fatalf("call %d has another's answer: %s", i, r.Structured())
			}
		}
	})
}

// FuzzSignature checks that the line of a schema is bounded and safe to print, because schemas come
// from outside.
func FuzzSignature(f *testing.F) {
	for _, schema := range []string{
		`{}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"enum":[1,"x",null]}},"required":["a"]}`, `{"properties":{"a":{"anyOf":[{"type":"array","items":{"oneOf":[{"$ref":"#/$defs/x"},{"type":["string","null"]}]}},{}]}}}`,
		`{"type":"array","items":{"type":"array","items":{"type":"array","items":{}}}}`, `{"properties":[1],"required":{"a":1}}`, `{"properties":{"a":`, `7`, `{"$ref":"/"}`, `{"enum":[]}`, `{"type":"string"}`,
	} {
		f.Add([]byte(schema))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		four := catalog.Over(&testSource{snapshot: snapshotOf(toolbox.Descriptor{Name: "x", Schema: schema})}, nil)
		var got struct {
			Operations []struct{ Parameters string }
		}
		raw := do(t, four, "search", `{"query":"x"}`)
		if err := json.Unmarshal([]byte(raw), &got); err != nil || len(got.Operations) != 1 {
			t.Fatalf("%v: %s", err, raw)
		}
		p := got.Operations[0].Parameters
		if len(p) > 400 || len(p) < 2 || p[0] != '(' || p[len(p)-1] != ')' {
			t.Fatalf("%d bytes: %s", len(p), p)
		}
	})
}
