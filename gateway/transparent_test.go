package gateway_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
)

// A transparent server is as if nothing were between it and its clients: what it declares, what it lists however odd
// that is, what nobody here knows.
func TestTransparent(t *testing.T) {
	t.Parallel()
	const tools = `{"tools":[{"name":"odd","title":null,"inputSchema":{"type":"string"}},{"name":"odd","inputSchema":{}}],"x":1}`
	s := &script{info: `{"name":"real","version":"7","x":true}`, answers: map[string]func(interop.Message) (string, error){
		"server/discover": discovers(`{"tools":{},"experimental":{"x":{}},"prompts":{}}`),
		"tools/list":      says(tools),
		"tools/call":      says(`{"content":[{"type":"strange"}],"structuredContent":3}`),
		"prompts/list":    says(`{"prompts":[{"name":"p"},{"name":"p"}],"nextCursor":"theirs"}`),
		"x/y":             func(m interop.Message) (string, error) { return `{"given":` + string(m.Params) + `}`, nil },
	}}
	g := scripts{"s": s}.open(t, gateway.Options{Transparent: "s"}, interop.Server{ID: "s", Tools: interop.ToolRules{Deny: []string{"no"}}}).Handler()
	const end = `,"resultType":"complete","ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"real","version":"7","x":true}}}`
	for _, tt := range []struct{ method, params, want string }{
		{"server/discover", `{}`, `{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"tools":{},"experimental":{"x":{}},"prompts":{}},"instructions":"Read me.","ttlMs":300000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"real","version":"7","x":true}}}`},
		{"tools/list", `{}`, strings.TrimSuffix(tools, "}") + end},
		{"tools/call", `{"name":"odd"}`, `{"content":[{"type":"strange"}],"structuredContent":3` + strings.Replace(end, `"ttlMs":0,"cacheScope":"public",`, "", 1)},
		{"prompts/list", `{}`, `{"prompts":[{"name":"p"},{"name":"p"}],"nextCursor":"theirs"` + end},
	} {
		got := ask(t, g, "/mcp", tt.method, tt.params)
		if diff := cmp.Diff(sorted(t, []byte(tt.want)), sorted(t, got.Result)); diff != "" || got.Error != nil {
			t.Errorf("%s: %s %v", tt.method, diff, got.Error)
		}
	}
	if got := ask(t, g, "/mcp", "x/y", `{"a":1,"a":2}`); !strings.Contains(string(got.Result), `"a":1,"a":2`) {
		t.Errorf("an unknown method: %s %v", got.Result, got.Error)
	}
	if got := ask(t, g, "/mcp", "x/z", `{}`); got.Error == nil || got.Error.Code != -32601 || string(got.Error.Data) != `{"of":"script"}` {
		t.Errorf("a method that it does not know: %s %+v", got.Result, got.Error)
	}
	if got := ask(t, g, "/mcp", "tools/call", `{"name":"no"}`); got.Error == nil && !strings.Contains(string(got.Result), "isError") || s.times("tools/call") != 1 {
		t.Errorf("a denied tool: %s", got.Result)
	}
}
