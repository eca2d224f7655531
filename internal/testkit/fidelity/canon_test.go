package fidelity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// compact returns JSON without the whitespace outside its strings. It changes and checks nothing
// else.
func compact(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case ' ', '\t', '\r', '\n':
		case '"':
			end := stringEnd(b, i)
			out = append(out, b[i:end]...)
			i = end - 1
		default:
			out = append(out, b[i])
		}
	}
	return out
}

// stringEnd returns the end of the string that begins at i: the next quote after an even number of
// backslashes.
func stringEnd(b []byte, i int) int {
	for at := i + 1; ; at++ {
		n := bytes.IndexByte(b[at:], '"')
		if n < 0 {
			return len(b)
		}
		at += n
		slashes := at
		for b[slashes-1] == '\\' {
			slashes--
		}
		if (at-slashes)%2 == 0 {
			return at + 1
		}
	}
}

// parts returns the members of a compact object or the elements of a compact array.
func parts(b []byte) [][]byte {
	if len(b) < 2 || b[0] != '{' && b[0] != '[' {
		return nil
	}
	b = b[1 : len(b)-1]
	var out [][]byte
	depth, from := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, b[from:i])
				from = i + 1
			}
		}
	}
	if len(b) > 0 {
		out = append(out, b[from:])
	}
	return out
}

// member splits a member of a compact object into its decoded key and its value.
func member(m []byte) (key string, value []byte) {
	end := stringEnd(m, 0)
	if json.Unmarshal(m[:end], &key) != nil || end == len(m) {
		return "", nil
	}
	return key, m[end+1:]
}

// lookup returns the value of a key in a compact object, or nil.
func lookup(obj []byte, key string) []byte {
	for _, m := range parts(obj) {
		if k, v := member(m); k == key {
			return v
		}
	}
	return nil
}

// without returns a compact object without some of its members.
func without(obj []byte, drop func(key string, value []byte) bool) []byte {
	if len(obj) == 0 || obj[0] != '{' {
		return obj
	}
	var members [][]byte
	for _, m := range parts(obj) {
		if !drop(member(m)) {
			members = append(members, m)
		}
	}
	return append(append([]byte("{"), bytes.Join(members, []byte(","))...), '}')
}

// canon returns a result or params without whitespace and without the members of the hop. If _meta
// has no other members, it goes too.
func canon(raw []byte) string {
	obj := compact(raw)
	var members [][]byte
	for _, m := range parts(obj) {
		switch key, value := member(m); key {
		case "resultType", "ttlMs", "cacheScope", "progressToken", "name":
			continue
		case "_meta":
			meta := without(value, func(key string, _ []byte) bool {
				return key == "progressToken" || strings.HasPrefix(key, "io.modelcontextprotocol/")
			})
			if string(meta) == "{}" {
				continue
			}
			m = append(m[:len(m)-len(value):len(m)-len(value)], meta...)
		}
		members = append(members, m)
	}
	return "{" + string(bytes.Join(members, []byte(","))) + "}"
}

// diff describes the first difference of two texts. It returns "" if there is none.
func diff(want, got string) string {
	if want == got {
		return ""
	}
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	around := func(s string) string { return s[min(len(s), max(0, i-40)):min(len(s), i+80)] }
	return fmt.Sprintf("at byte %d\nwant …%s…\ngot  …%s…", i, around(want), around(got))
}

func TestCompact(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		" { \"a b\" :\t[ 1 ,\r\n 2 ] }\n":   `{"a b":[1,2]}`,
		`{"a":" \" } , "}`:                  `{"a":" \" } , "}`,
		`{"a":"\\" , "b":"\\\" "}`:          `{"a":"\\","b":"\\\" "}`,
		"[\"\u2028 \u00a0\", 1.0 , -0]":     "[\"\u2028 \u00a0\",1.0,-0]",
		`"unterminated \`:                   `"unterminated \`,
		"{\"\xff \": 9007199254740993 , 1}": "{\"\xff \":9007199254740993,1}",
	} {
		if got := string(compact([]byte(in))); got != want {
			t.Errorf("compact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCanon(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                                   `{}`,
		`{ "resultType":"complete", "a" : 1 }`: `{"a":1}`,
		`{"a":1,"ttlMs":0,"b":{"ttlMs":0,"_meta":{}},"cacheScope":"x"}`:                               `{"a":1,"b":{"ttlMs":0,"_meta":{}}}`,
		`{"_meta":{"io.modelcontextprotocol/serverInfo":{"a":[1,2]}},"b":[]}`:                         `{"b":[]}`,
		`{"_meta":{"x":1,"io.modelcontextprotocol/serverInfo":{},"progressToken":7,"y":"},"},"b":""}`: `{"_meta":{"x":1,"y":"},"},"b":""}`,
		`{"_meta":null,"\u006eame":"x","n":1}`:                                                        `{"_meta":null,"n":1}`,
		`{"progressToken":"a","progress":1}`:                                                          `{"progress":1}`,
		`{"a":1,"a":2,"":{"name":3}}`:                                                                 `{"a":1,"a":2,"":{"name":3}}`,
	} {
		if got := canon([]byte(in)); got != want {
			t.Errorf("canon(%s) = %s, want %s", in, got, want)
		}
	}
}

// TestCanonKeepsDifferences checks that canon keeps a difference of one byte, unless it is
// whitespace outside of a string.
func TestCanonKeepsDifferences(t *testing.T) {
	in := []byte(canon([]byte(kitchenSink)))
	if !json.Valid(in) {
		t.Fatalf("not JSON: %s", in)
	}
	for i := range in {
		other := bytes.Clone(in)
		other[i] ^= 1
		if string(compact(other)) == string(in) {
			t.Errorf("byte %d makes no difference: %s", i, other)
		}
	}
}

// FuzzCompact compares compact with encoding/json, which does the same to valid JSON.
func FuzzCompact(f *testing.F) {
	f.Add([]byte(kitchenSink))
	f.Add([]byte(` { "a" : [ 1 , "\\\"" ] } `))
	f.Fuzz(func(t *testing.T, b []byte) {
		var want bytes.Buffer
		if json.Compact(&want, b) != nil {
			return
		}
		if got := compact(b); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%q, want %q", got, want.Bytes())
		}
	})
}
