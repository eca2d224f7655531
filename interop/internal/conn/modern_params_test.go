package conn

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/protocol"
)

func TestParamHeaders(t *testing.T) {
	props := func(s string) string { return `{"type":"object","properties":{` + s + `}}` }
	for name, tt := range map[string]struct {
		schema string
		want   string // path=header, …
		err    string
	}{
		"none":                    {props(`"a":{"type":"string"}`), "", ""},
		"three types":             {props(`"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"integer","x-mcp-header":"b-2"},"c":{"type":"boolean","x-mcp-header":"~"}`), "a=A b=b-2 c=~", ""},
		"nested":                  {props(`"o":{"type":"object","properties":{"p":{"properties":{"q":{"type":"string","x-mcp-header":"Q"}}}}}`), "o.p.q=Q", ""},
		"nullable":                {props(`"a":{"type":["string","null"],"x-mcp-header":"A"}`), "a=A", ""},
		"escaped key":             {props(`"a":{"type":"string","x\u002dmcp-header":"A"}`), "a=A", ""},
		"a property of that name": {props(`"x-mcp-header":{"type":"string"}`), "", ""},
		"in data":                 {props(`"a":{"type":"object","default":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}],"const":{"x-mcp-header":1}}`), "", ""},
		"empty":                   {props(`"a":{"type":"string","x-mcp-header":""}`), "", "empty"},
		"no string":               {props(`"a":{"type":"string","x-mcp-header":7}`), "", "not a string"},
		"number":                  {props(`"a":{"type":"number","x-mcp-header":"A"}`), "", "only a string"},
		"object":                  {props(`"a":{"type":"object","x-mcp-header":"A"}`), "", "only a string"},
		"null":                    {props(`"a":{"type":"null","x-mcp-header":"A"}`), "", "only a string"},
		"only null":               {props(`"a":{"type":["null"],"x-mcp-header":"A"}`), "", "only a string"},
		"number among":            {props(`"a":{"type":["string","number"],"x-mcp-header":"A"}`), "", "only a string"},
		"no type":                 {props(`"a":{"x-mcp-header":"A"}`), "", "only a string"},
		"space":                   {props(`"a":{"type":"string","x-mcp-header":"A B"}`), "", "no header name"},
		"colon":                   {props(`"a":{"type":"string","x-mcp-header":"A:"}`), "", "no header name"},
		"not ASCII":               {props(`"a":{"type":"string","x-mcp-header":"Région"}`), "", "no header name"},
		"control":                 {props(`"a":{"type":"string","x-mcp-header":"A\t1"}`), "", "no header name"},
		"twice":                   {props(`"a":{"type":"string","x-mcp-header":"My"},"b":{"type":"string","x-mcp-header":"mY"}`), "", "twice"},
		"at the root":             {`{"type":"string","x-mcp-header":"A"}`, "", "where no argument"},
		"in items":                {props(`"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`), "", "where no argument"},
		"in oneOf":                {`{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, "", "where no argument"},
		"in then":                 {`{"then":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, "", "where no argument"},
		"in $defs":                {`{"$defs":{"d":{"type":"string","x-mcp-header":"A"}},"properties":{"a":{"$ref":"#/$defs/d"}}}`, "", "where no argument"},
		"in additional":           {`{"additionalProperties":{"type":"string","x-mcp-header":"A"}}`, "", "where no argument"},
		"not JSON":                {`{"x-mcp-header":`, "", "unexpected end"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := protocol.ParamHeaders(json.RawMessage(tt.schema))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || list != nil {
					t.Errorf("%v, %v", list, err)
				}
				return
			}
			var got []string
			for _, h := range list {
				got = append(got, strings.Join(h.Path, ".")+"="+h.Name)
			}
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	var many []string
	for i := range protocol.MaxParamHeaders + 1 {
		many = append(many, fmt.Sprintf(`"p%d":{"type":"string","x-mcp-header":"H%d"}`, i, i))
	}
	if _, err := protocol.ParamHeaders(json.RawMessage(props(strings.Join(many, ",")))); err == nil {
		t.Error("any number of headers is taken")
	}
}

func TestParamText(t *testing.T) {
	list := []protocol.ParamHeader{{Path: []string{"a"}, Name: "A"}, {Path: []string{"o", "p"}, Name: "P"}}
	for args, want := range map[string]string{
		`{}`: "", ``: "", `null`: "", `[]`: "", `{"a":null}`: "", `{"o":{}}`: "", `{"o":7}`: "",
		`{"a":"x","o":{"p":true}}`: "Mcp-Param-A: x, Mcp-Param-P: true",
		`{"a":""}`:                 "Mcp-Param-A: ",
		`{"a":"\u00e9"}`:           "Mcp-Param-A: é",
		`{"a":false}`:              "Mcp-Param-A: false",
		`{"a":-42}`:                "Mcp-Param-A: -42",
		`{"a":42.0}`:               "Mcp-Param-A: 42",
		`{"a":-0}`:                 "Mcp-Param-A: 0",
		`{"a":1e3}`:                "Mcp-Param-A: 1000",
		`{"a":9007199254740991}`:   "Mcp-Param-A: 9007199254740991",
		`{"a":9007199254740993}`:   "",
		`{"a":1.5}`:                "",
		`{"a":1e999}`:              "",
		`{"a":{}}`:                 "",
		`{"a":["x"]}`:              "",
	} {
		var got []string
		for _, h := range list {
			if text, ok := paramText(json.RawMessage(args), h.Path); ok {
				got = append(got, protocol.HeaderParam+h.Name+": "+text)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q", args, got)
		}
	}
}

func TestHeaderText(t *testing.T) {
	for s, want := range map[string]string{
		"us-west1":           "us-west1",
		"us west 1":          "us west 1",
		"Hello, 世界":          "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":           "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":       "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64?open":      "=?base64?open",
		"":                   "=?base64??=",
		"a\x7f":              "=?base64?YX8=?=",
	} {
		if got := protocol.HeaderText(s); got != want {
			t.Errorf("%q: %q", s, got)
		}
	}
}

func FuzzParamHeaders(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"o":{"properties":{"b":{"type":"integer","x-mcp-header":"B"}}}}}`), []byte(`{"a":"\u00e9","o":{"b":12}}`))
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		list, err := protocol.ParamHeaders(schema)
		if err != nil && list != nil || len(list) > protocol.MaxParamHeaders {
			t.Fatalf("%v, %v", list, err)
		}
		for _, h := range list {
			value, _ := paramText(args, h.Path)
			text := protocol.HeaderText(value)
			for i := range len(text) {
				if text[i] < ' ' || text[i] > '~' {
					t.Fatalf("%q is no header", text)
				}
			}
			if in, ok := strings.CutPrefix(text, protocol.SentinelPrefix); ok && strings.HasSuffix(in, protocol.SentinelSuffix) {
				b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(in, protocol.SentinelSuffix))
				if err != nil || string(b) != value {
					t.Fatalf("%q decodes to %q, %v", text, b, err)
				}
			} else if text != value {
				t.Fatalf("%q became %q", value, text)
			}
		}
	})
}
