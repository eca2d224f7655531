package host_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/toolbox"
)

func TestParamHeadersMustMatchTheArguments(t *testing.T) {
	schema := `{"type":"object","properties":{
		"s":{"type":"string","x-mcp-header":"Str"},
		"n":{"type":"integer","x-mcp-header":"Num"},
		"b":{"type":"boolean","x-mcp-header":"Flag"},
		"in":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"Deep"}}},
		"plain":{"type":"string"}}}`
	src := shelf.OneTool(func(context.Context, toolbox.Call) (*toolbox.Result, error) { return nil, nil })
	snap := &toolbox.Snapshot{Tools: []toolbox.Descriptor{
		{Name: "t", Schema: json.RawMessage(schema)},
		{Name: "bad", Schema: json.RawMessage(`{"type":"object","properties":{"s":{"type":"array","x-mcp-header":"S"}}}`)},
	}}
	src.Tools = func(toolbox.Principal) *toolbox.Snapshot { return snap }
	site := newSite(t, src, nil)
	tests := []struct {
		args    string
		headers map[string]string
		ok      bool
	}{
		{`{}`, nil, true},
		{`{"plain":"x"}`, nil, true},
		{`{"s":"a"}`, map[string]string{"Mcp-Param-Str": "a"}, true},
		{`{"s":"a"}`, map[string]string{"mcp-param-STR": "  a "}, true},
		{`{"s":"a"}`, nil, false},
		{`{"s":"a"}`, map[string]string{"Mcp-Param-Str": "A"}, false},
		{`{"s":null}`, nil, true},
		{`{"s":null}`, map[string]string{"Mcp-Param-Str": "null"}, false},
		{`{}`, map[string]string{"Mcp-Param-Str": "a"}, false},
		{`{"s":""}`, map[string]string{"Mcp-Param-Str": ""}, true},
		{`{"s":"Hello, \u4e16\u754c"}`, map[string]string{"Mcp-Param-Str": "=?base64?SGVsbG8sIOS4lueVjA==?="}, true},
		{`{"s":"世"}`, map[string]string{"Mcp-Param-Str": "世"}, false},
		{`{"s":"SGVsbG8="}`, map[string]string{"Mcp-Param-Str": "SGVsbG8="}, true},
		{`{"s":"Hello"}`, map[string]string{"Mcp-Param-Str": "=?base64?SGVsbG8?="}, false},
		{`{"n":42}`, map[string]string{"Mcp-Param-Num": "42"}, true},
		{`{"n":42.0}`, map[string]string{"Mcp-Param-Num": "42"}, true},
		{`{"n":42}`, map[string]string{"Mcp-Param-Num": "42.0"}, true},
		{`{"n":42}`, map[string]string{"Mcp-Param-Num": "43"}, false},
		{`{"n":9007199254740993}`, map[string]string{"Mcp-Param-Num": "9007199254740993"}, false},
		{`{"n":"42"}`, map[string]string{"Mcp-Param-Num": "42.0"}, false},
		{`{"b":true}`, map[string]string{"Mcp-Param-Flag": "true"}, true},
		{`{"b":true}`, map[string]string{"Mcp-Param-Flag": "True"}, false},
		{`{"in":{"x":"y"}}`, map[string]string{"Mcp-Param-Deep": "y"}, true},
		{`{"in":{"x":"y"}}`, nil, false},
		{`{"in":7}`, nil, true},
		{`{"s":[1]}`, map[string]string{"Mcp-Param-Str": "[1]"}, false},
		{`{}`, map[string]string{"Mcp-Param-Unknown": "x"}, true},
		{`{"s":"b","s":"a"}`, map[string]string{"Mcp-Param-Str": "a"}, false},
		{`{"in":{"x":"z"},"in":{"x":"y"}}`, map[string]string{"Mcp-Param-Deep": "y"}, false},
		{`{"in":{"x":"z","\u0078":"y"}}`, map[string]string{"Mcp-Param-Deep": "y"}, false},
	}
	for _, tt := range tests {
		r := modern("tools/call", "t", `"name":"t","arguments":`+tt.args)
		for k, v := range tt.headers {
			r = r.with(k, v)
		}
		resp, body := r.send(t, site)
		if ok := resp.StatusCode == http.StatusOK; ok != tt.ok || !ok && !strings.Contains(body, "-32020") {
			t.Errorf("%s %v: %s %s", tt.args, tt.headers, resp.Status, body)
		}
	}
	// Annotations that clients must refuse have no effect.
	if resp, body := modern("tools/call", "bad", `"name":"bad","arguments":{"s":["x"]}`).send(t, site); resp.StatusCode != 200 {
		t.Errorf("%s %s", resp.Status, body)
	}
	// Legacy clients know none of these headers.
	if resp, body := (request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"s":"a"}}}`, header: session(t, site)}).send(t, site); !strings.Contains(body, `"result"`) {
		t.Errorf("%s %s", resp.Status, body)
	}
}
