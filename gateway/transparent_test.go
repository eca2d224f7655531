package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// The clients of a transparent server see its capabilities, its lists even if they are odd, and methods that the
// gateway does not know.
func TestTransparent(t *testing.T) {
	t.Parallel()
	const tools = `{"tools":[{"name":"odd","title":null,"inputSchema":{"type":"string"}},{"name":"odd","inputSchema":{}}],"x":1}`
	s := &script{info: `{"name":"real","version":"7","x":true}`, answers: map[string]func(interop.Message) (string, error){
		"server/discover": discovers(`{"tools":{},"experimental":{"x":{}},"prompts":{}}`),
		"tools/list":      replyWith(tools),
		"tools/call":      replyWith(`{"content":[{"type":"strange"}],"structuredContent":3}`),
		"prompts/list":    replyWith(`{"prompts":[{"name":"p"},{"name":"p"}],"nextCursor":"theirs"}`),
		"x/y":             func(m interop.Message) (string, error) { return `{"given":` + string(m.Params) + `}`, nil },
	}}
	g := scripts{"s": s}.open(t, gateway.Options{Transparent: "s"}, config.Server{ID: "s"}).Handler()
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
}

// A transparent view guards tools too. It neither lists nor calls a tool that is denied, or that changed since it was
// approved.
func TestTransparentGuards(t *testing.T) {
	t.Parallel()
	s := &script{answers: map[string]func(interop.Message) (string, error){
		"server/discover": discovers(`{"tools":{}}`),
		"tools/list":      replyWith(`{"tools":[{"name":"yes","inputSchema":{"type":"object"}},{"name":"no","inputSchema":{"type":"object"}}]}`),
		"tools/call":      replyWith(`{"content":[]}`),
	}}
	for _, tt := range []struct {
		name   string
		server config.Server
		policy config.ChangePolicy
		listed []string
	}{
		{name: "denied", server: config.Server{Tools: config.ToolRules{Deny: []string{"no"}}}, listed: []string{"yes"}},
		{name: "not allowed", server: config.Server{Tools: config.ToolRules{Allow: []string{"yes"}}}, listed: []string{"yes"}},
		{name: "changed, and held", server: config.Server{Changes: config.HoldChanges}},
		{name: "changed, and denied", server: config.Server{Changes: config.DenyChanges}},
		{name: "held by the policy of all", policy: config.HoldChanges},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.server.ID = "s"
			o := scripts{"s": s}.options(t)
			o.Policy = tt.policy
			if tt.listed == nil {
				o.Log = unreadable{} // the approved tools are unknown
			}
			g := gateway.New(t.Context(), []config.Server{tt.server}, &gateway.Options{Transparent: "s", Ledger: o})
			t.Cleanup(g.Close)
			var list struct{ Tools []struct{ Name string } }
			got := ask(t, g.Handler(), "/mcp", "tools/list", `{}`)
			if err := json.Unmarshal(got.Result, &list); err != nil {
				t.Fatal(err, got.Error)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if diff := cmp.Diff(tt.listed, names); diff != "" {
				t.Error(diff)
			}
			before := s.times("tools/call")
			if got := ask(t, g.Handler(), "/mcp", "tools/call", `{"name":"no"}`); got.Error == nil && !strings.Contains(string(got.Result), `"isError":true`) || s.times("tools/call") != before {
				t.Errorf("%s %v", got.Result, got.Error)
			}
		})
	}
}

// unreadable is a log that cannot be read, so that the approved tools are unknown.
type unreadable struct{}

func (unreadable) Append(context.Context, ...ledger.Entry) ([]ledger.Entry, error) {
	return nil, errors.New("it is lost")
}

func (unreadable) Read(context.Context, uint64) ([]ledger.Entry, error) {
	return nil, errors.New("it is lost")
}
