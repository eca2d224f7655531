package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/wire"
)

func ExampleRewrite() {
	obj := []byte(`{ "id": 1, "n": 1.0, "drop": [], "z": null }`)
	out, err := wire.Rewrite(obj,
		wire.Edit{Key: "id", Value: []byte(`"a-7"`)},
		wire.Edit{Key: "drop"},
		wire.Edit{Key: "new", Value: []byte(`{}`)})
	fmt.Println(string(out), err)
	// Output:
	// { "id": "a-7", "n": 1.0, "z": null,"new":{} } <nil>
}

func set(key, value string) wire.Edit { return wire.Edit{Key: key, Value: []byte(value)} }

func cut(key string) wire.Edit { return wire.Edit{Key: key} }

func TestRewrite(t *testing.T) {
	const obj = ` { "a" : 1 , "b" : [ 2 ] , "\u0063" : "}" } `
	for _, c := range []struct {
		in    string
		edits []wire.Edit
		want  string
	}{
		{obj, nil, obj},
		{obj, []wire.Edit{set("b", `{}`)}, ` { "a" : 1 , "b" : {} , "\u0063" : "}" } `},
		{obj, []wire.Edit{set("c", `0`)}, ` { "a" : 1 , "b" : [ 2 ] , "\u0063" : 0 } `},
		{obj, []wire.Edit{set("d", `0`)}, ` { "a" : 1 , "b" : [ 2 ] , "\u0063" : "}","d":0 } `},
		{obj, []wire.Edit{cut("a")}, ` { "b" : [ 2 ] , "\u0063" : "}" } `},
		{obj, []wire.Edit{cut("b")}, ` { "a" : 1 , "\u0063" : "}" } `},
		{obj, []wire.Edit{cut("c")}, ` { "a" : 1 , "b" : [ 2 ] } `},
		{obj, []wire.Edit{cut("a"), cut("b")}, ` { "\u0063" : "}" } `},
		{obj, []wire.Edit{cut("c"), cut("b")}, ` { "a" : 1 } `},
		{obj, []wire.Edit{cut("a"), cut("c")}, ` { "b" : [ 2 ] } `},
		{obj, []wire.Edit{cut("a"), set("b", `7`), cut("c")}, ` { "b" : 7 } `},
		{obj, []wire.Edit{cut("a"), cut("b"), cut("c")}, ` {  } `},
		{obj, []wire.Edit{cut("a"), cut("b"), cut("c"), set("é\n", `1`)}, ` { "é\n":1 } `},
		{obj, []wire.Edit{cut("c"), set("d", `1`), set("e", `2`)}, ` { "a" : 1 , "b" : [ 2 ],"d":1,"e":2 } `},
		{obj, []wire.Edit{cut("x"), set("d", `1`), cut("d")}, obj},
		{obj, []wire.Edit{set("d", `1`), set("e", `2`), set("d", `3`)}, ` { "a" : 1 , "b" : [ 2 ] , "\u0063" : "}","e":2,"d":3 } `},
		{obj, []wire.Edit{cut("a"), set("a", `3`)}, ` { "a" : 3 , "b" : [ 2 ] , "\u0063" : "}" } `},
		{`{}`, []wire.Edit{set("a", `1`), set("b", `2`)}, `{"a":1,"b":2}`},
		{`{ }`, []wire.Edit{set("a", `1`)}, `{ "a":1}`},
		{`{"x":1,"x":2}`, []wire.Edit{set("a", `1`)}, `{"x":1,"x":2,"a":1}`},
	} {
		got, err := wire.Rewrite([]byte(c.in), c.edits...)
		if err != nil || string(got) != c.want {
			t.Errorf("rewrite %s\n got %s, %v\nwant %s", c.in, got, err, c.want)
		}
	}
}

func TestRewriteRefuses(t *testing.T) {
	var key *wire.KeyError
	for _, e := range []wire.Edit{set("a", `1`), cut("a")} {
		if out, err := wire.Rewrite([]byte(`{"a":1,"b":2,"\u0061":3}`), e); !errors.As(err, &key) || key.Offset != 13 ||
			out != nil {
			t.Errorf("%s, %v, want a KeyError", out, err)
		}
	}
	for _, obj := range []string{``, `[]`, `{`, `{}}`, `{"a":1`, `{"a"}`, `null`} {
		if out, err := wire.Rewrite([]byte(obj), set("a", `1`)); err == nil || out != nil {
			t.Errorf("%q: %s, %v", obj, out, err)
		}
	}
	if _, err := wire.Rewrite([]byte(`{}`), wire.Edit{Key: "a", Value: json.RawMessage{}}); err == nil {
		t.Error("an empty value is no error")
	}
}

func FuzzRewrite(f *testing.F) {
	for i, s := range corpus() {
		f.Add([]byte(s), "id", uint8(i), "result", uint8(i>>3), "new")
	}
	f.Add([]byte(`{"a":1 ,"b":2, "c":3}`), "a", uint8(0), "b", uint8(0), "c")
	f.Fuzz(func(t *testing.T, obj []byte, k1 string, v1 uint8, k2 string, v2 uint8, k3 string) {
		values := []string{"", `1`, `{"id":[2]}`, `"\""`}
		var edits []wire.Edit
		for i, k := range []string{k1, k2, k3} {
			k = string([]rune(k)) // valid UTF-8, like a decoded key
			if v := values[(v1>>i^v2)&3]; v != "" {
				edits = append(edits, set(k, v))
			} else {
				edits = append(edits, cut(k))
			}
		}
		out, err := wire.Rewrite(obj, edits...)
		if json.Valid(obj) && bytes.HasPrefix(bytes.TrimLeft(obj, " \t\r\n"), []byte("{")) {
			checkRewrite(t, obj, edits, out, err)
		}
	})
}

// checkRewrite applies the edits to the decoded object and compares.
func checkRewrite(t *testing.T, obj []byte, edits []wire.Edit, out []byte, err error) {
	want := decodeObject(obj)
	count := map[string]int{}
	for _, m := range want {
		count[m.key]++
	}
	last := map[string]wire.Edit{}
	for _, e := range edits {
		if count[e.Key] > 1 {
			if err == nil {
				t.Fatalf("rewrite %s: no error for the duplicate %q", clip(obj), e.Key)
			}
			return
		}
		last[e.Key] = e
	}
	if err != nil || !json.Valid(out) {
		t.Fatalf("rewrite %s %s: %s, %v", clip(obj), edits, clip(out), err)
	}
	raw, _ := wire.Members(obj)
	var keys []string
	for i := range want {
		keys = append(keys, string(raw[i].RawKey))
	}
	for i, e := range edits {
		if slices.ContainsFunc(edits[i+1:], func(l wire.Edit) bool { return l.Key == e.Key }) {
			continue
		}
		at := slices.IndexFunc(want, func(p pair) bool { return p.key == e.Key })
		switch {
		case at >= 0 && e.Value != nil:
			want[at].value = string(e.Value)
		case at >= 0:
			want, keys = slices.Delete(want, at, at+1), slices.Delete(keys, at, at+1)
		case e.Value != nil:
			want, keys = append(want, pair{e.Key, string(e.Value)}), append(keys, string(wire.Quote(e.Key)))
		}
	}
	if got := decodeObject(out); !slices.Equal(got, want) {
		t.Fatalf("rewrite %s %s\n got %s\nwant %q", clip(obj), edits, clip(out), want)
	}
	got, _ := wire.Members(out)
	for i := range got {
		if string(got[i].RawKey) != keys[i] {
			t.Fatalf("rewrite %s %s\n got %s, where key %d was %s", clip(obj), edits, clip(out), i, keys[i])
		}
	}
}

func TestWithout(t *testing.T) {
	for _, tt := range []struct{ obj, path, want string }{
		{`{"a":1, "b":2}`, "a", `{"b":2}`},
		{`{"a":1, "b":2}`, "c", `{"a":1, "b":2}`},
		{`{ "a" : {"b":1,"c":2} }`, "a b", `{ "a" : {"c":2} }`},
		{`{ "a" : {"b":1} }`, "a b", `{ "a" : {} }`},
		{`{"a":[]}`, "a b", `{"a":[]}`},
		{`{"a":{"c":1}}`, "a b", `{"a":{"c":1}}`},
		{`{}`, "a b", `{}`},
		{`{"a":1,"a":2}`, "a", `{"a":1,"a":2}`},
		{``, "a", ``},
		{`7`, "a b", `7`},
	} {
		if got := wire.Without(json.RawMessage(tt.obj), strings.Fields(tt.path)...); string(got) != tt.want {
			t.Errorf("%s without %s is %s", tt.obj, tt.path, got)
		}
	}
}
