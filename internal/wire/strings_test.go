package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/wire"
)

func TestBegins(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"content":[{"type":"text","text":"a resource, a \\resource and \u0022resource"}]}`: false,
		`{"type":"resource_link"}`:         true,
		`{"type":"resou"}`:                 false,
		`{"type":"r`:                       false,
		`{"type":"r\u0065source"}`:         true,
		`{"type":"\u0072esource"}`:         true,
		`{"uri":"ui\u003a//x"}`:            true,
		`{"uri":"ui://x"}`:                 true,
		`{"uri":"uix"}`:                    false,
		`{"text":"\u00e9t\u00e9"}`:         false,
		`{"text":"one \"resource\" more"}`: true, // its bytes match
		`"`:                                false,
		``:                                 false,
	} {
		if got := wire.Begins([]byte(raw), "resource", "ui:"); got != want {
			t.Errorf("%s: %t", raw, got)
		}
	}
}

func TestEditStrings(t *testing.T) {
	double := func(s string) string {
		if s == "2" {
			return "22"
		}
		return s
	}
	for _, tt := range []struct{ raw, path, want string }{
		{`[]`, "*", `[]`},
		{` [ 1 , "x" ] `, "*", ` [ 1 , "x" ] `},
		{`[ 1, "2" ,{"a":2},"2" ]`, "*", `[ 1, "22" ,{"a":2},"22" ]`},
		{`"2"`, "*", `"22"`}, // one value in place of an array
		{`{ "a" : [ {"b": "2"} , {"c":"2"} ], "A":[{"B":"2"}] }`, "a * b", `{ "a" : [ {"b": "22"} , {"c":"2"} ], "A":[{"B":"22"}] }`},
		{`{"a":{"b":"2"}}`, "a * b", `{"a":{"b":"22"}}`},
		{`{"\u0061":"2"}`, "a", `{"\u0061":"22"}`},
		{`{"a":7}`, "a", `{"a":7}`},
		{`{"a":7}`, "a b", `{"a":7}`},
		{`[1`, "*", `[1`},
		{`["2",1`, "*", `["2",1`},
		{``, "a", ``},
	} {
		if got := wire.EditStrings(json.RawMessage(tt.raw), strings.Fields(tt.path), double); string(got) != tt.want {
			t.Errorf("%s at %s: %s", tt.raw, tt.path, got)
		}
	}
}
