package host_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/toolbox"
)

func echoTool() *shelf.Shelf {
	return shelf.OneTool(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		return toolbox.NewResult(toolbox.Text(string(c.Input))), nil
	})
}

func TestPostAnswersToTheByte(t *testing.T) {
	site := newSite(t, echoTool(), &host.Options{MaxMessage: 2000, Instructions: "be kind"})
	legacy := session(t, site)
	const info = `"io.modelcontextprotocol/serverInfo":{"name":"indus-provider-host","version":"0.1.0"}`
	const meta = `"_meta":{` + info + `}`
	in := func(s string) request { return request{body: s, header: legacy} }
	call := modern("tools/call", "t", `"name":"t","arguments":{"a":1}`)
	tests := []struct {
		name   string
		send   request
		status int
		want   string
	}{
		{"modern discover", modern("server/discover", "", ""), 200,
			`{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"logging":{},"tools":{"listChanged":true}},"instructions":"be kind","ttlMs":300000,"cacheScope":"public",` + meta + `}}`},
		{"modern list", modern("tools/list", "", ""), 200,
			`{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public",` + meta + `,"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}`},
		{"modern call", call, 200,
			`{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete",` + meta + `,"content":[{"type":"text","text":"{\"a\":1}"}]}}`},
		{"modern call, name in base64", call.with("Mcp-Name", "=?base64?dA==?="), 200,
			`{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete",` + meta + `,"content":[{"type":"text","text":"{\"a\":1}"}]}}`},
		{"session and event ids mean nothing to the modern era", call.with("Mcp-Session-Id", "nope").with("Last-Event-ID", "3"), 200,
			`{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete",` + meta + `,"content":[{"type":"text","text":"{\"a\":1}"}]}}`},
		{"unknown method", modern("no/such", "", ""), 404,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not found: no/such"}}`},
		{"removed method", modern("ping", "", ""), 404,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not found: ping"}}`},
		{"modern initialize", modern("initialize", "", ""), 404,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not found: initialize"}}`},
		{"unknown tool", modern("tools/call", "x", `"name":"x"`), 200, ""},
		{"no _meta", request{body: `{"jsonrpc":"2.0","id":7,"method":"server/discover"}`, header: map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}}, 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"_meta lacks \"io.modelcontextprotocol/protocolVersion\""}}`},
		{"no capabilities", request{body: strings.Replace(modern("tools/list", "", "").body, `,"io.modelcontextprotocol/clientCapabilities":{}`, "", 1), header: modern("tools/list", "", "").header}, 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"_meta lacks \"io.modelcontextprotocol/clientCapabilities\""}}`},
		{"unknown version", request{body: strings.ReplaceAll(modern("tools/list", "", "").body, "2026-07-28", "2099-01-01"), header: modern("tools/list", "", "").with("Mcp-Protocol-Version", "2099-01-01").header}, 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2099-01-01"}}}`},
		{"version header missing", modern("tools/list", "", "").with("Mcp-Protocol-Version", "-"), 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"header mismatch: the MCP-Protocol-Version header is missing"}}`},
		{"version header differs", modern("tools/list", "", "").with("Mcp-Protocol-Version", "2025-11-25"), 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"header mismatch: the MCP-Protocol-Version header and _meta name different versions"}}`},
		{"method header missing", modern("tools/list", "", "").with("Mcp-Method", "-"), 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"header mismatch: the Mcp-Method header is missing"}}`},
		{"method header differs in case", modern("tools/list", "", "").with("Mcp-Method", "TOOLS/LIST"), 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"header mismatch: the Mcp-Method header has \"TOOLS/LIST\", the body \"tools/list\""}}`},
		{"name header missing", call.with("Mcp-Name", "-"), 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"header mismatch: the Mcp-Name header is missing"}}`},
		{"name header differs", call.with("Mcp-Name", "u"), 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"header mismatch: the Mcp-Name header has \"u\", the body \"t\""}}`},
		{"name header broken", call.with("Mcp-Name", "=?base64?dA=?="), 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"header mismatch: the Mcp-Name header has an invalid value"}}`},
		{"modern notification", request{body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, header: map[string]string{"Mcp-Protocol-Version": "2026-07-28"}}, 202, ""},
		{"cursor", modern("tools/list", "", `"cursor":"x"`), 200,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"tools/list: unknown cursor: the list has one page; begin with the first page"}}`},
		{"no name", call.with("Mcp-Name", "t"), 200, ""},

		{"legacy list", in(`{"jsonrpc":"2.0","id":"a\u0062","method":"tools/list"}`), 200,
			`{"jsonrpc":"2.0","id":"a\u0062","result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}`},
		{"legacy call", in(`{"jsonrpc":"2.0","id":12345678901234567890,"method":"tools/call","params":{"name":"t","arguments":{"n": 9007199254740993}}}`), 200,
			`{"jsonrpc":"2.0","id":12345678901234567890,"result":{"content":[{"type":"text","text":"{\"n\": 9007199254740993}"}]}}`},
		{"modern discover through a session", in(modern("server/discover", "", "").body), 200,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not found: server/discover"}}`},
		{"modern call through a session", in(call.body), 200,
			`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\"a\":1}"}]}}`},
		{"legacy ping", in(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), 200, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"legacy unknown method", in(`{"jsonrpc":"2.0","id":1,"method":"x/unknown","params":{}}`), 200,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found: x/unknown"}}`},
		{"legacy discover", in(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`), 200,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found: server/discover"}}`},
		{"name twice", in(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","n\u0061me":"u"}}`), 200,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"tools/call: wire: key \"name\" stands twice, again at byte 12"}}`},
		{"name is a number", in(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}`), 200,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"tools/call: no name"}}`},
		{"params is an array", in(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["t"]}`), 200,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params must be an object"}}`},
		{"legacy response", in(`{"jsonrpc":"2.0","id":1,"result":{}}`), 202, ""},
		{"without session", request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, 400,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"the Mcp-Session-Id header is missing: send initialize first"}}`},
		{"unknown session", request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header: map[string]string{"Mcp-Session-Id": "nope"}}, 404,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"session not found"}}`},
		{"unknown legacy version", request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header: map[string]string{"Mcp-Session-Id": legacy["Mcp-Session-Id"], "Mcp-Protocol-Version": "1999-01-01"}}, 400,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"unsupported MCP-Protocol-Version"}}`},

		{"no JSON", in(`{"jsonrpc":"2.0","id":1,`), 400, ""},
		{"two documents", in(`{"jsonrpc":"2.0","id":1,"method":"ping"}{}`), 400, ""},
		{"batch", in(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`), 400,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}`},
		{"method twice", in(`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`), 400,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"wire: key \"method\" stands twice, again at byte 40"}}`},
		{"null id", in(`{"jsonrpc":"2.0","id":null,"method":"ping"}`), 400,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"neither a request, nor a notification, nor a response of JSON-RPC 2.0"}}`},
		{"JSON-RPC 1", in(`{"id":1,"method":"ping"}`), 400,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"neither a request, nor a notification, nor a response of JSON-RPC 2.0"}}`},
		{"too large", in(`{"jsonrpc":"2.0","id":1,"method":"ping","x":"` + strings.Repeat("x", 2000) + `"}`), 413,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"the message is too large"}}`},
		{"not JSON's content type", in(`{}`).with("Content-Type", "text/plain"), 415,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"Content-Type must be application/json"}}`},
		{"a compressed body", in(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).with("Content-Encoding", "gzip"), 415,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"the body must have no Content-Encoding"}}`},
		{"a notification with an id", in(`{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`), 200,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found: notifications/initialized"}}`},
		{"content type with charset", in(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).with("Content-Type", "Application/JSON; charset=utf-8"), 200, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"accepts images", in(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).with("Accept", "image/png"), 406,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"Accept must name application/json or text/event-stream"}}`},
		{"accepts anything", in(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).with("Accept", "*/*"), 200, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"refuses JSON", in(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).with("Accept", "application/json; q=0.0, */*"), 200,
			"id: a1-1\nretry: 1000\ndata:\n\nevent: message\nid: a1-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"},
		{"refuses both", in(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).with("Accept", "*/*;q=0"), 406,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"Accept must name application/json or text/event-stream"}}`},
		{"has null for params", in(`{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`), 200, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"has a version that nobody knows", in(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).with("Mcp-Protocol-Version", "zzz"), 400,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"unsupported MCP-Protocol-Version"}}`},
		{"accepts only streams", in(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).with("Accept", "text/event-stream"), 200,
			"id: a2-3\nretry: 1000\ndata:\n\nevent: message\nid: a2-4\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"},
		{"modern GET", request{method: "GET", header: map[string]string{"Mcp-Protocol-Version": "2026-07-28"}}, 405, ""},
		{"modern DELETE", request{method: "DELETE", header: map[string]string{"Mcp-Protocol-Version": "2026-07-28"}}, 405, ""},
		{"PUT", request{method: "PUT"}, 405, ""},
		{"GET without session", request{method: "GET"}, 400, ""},
		{"GET of an unknown session", request{method: "GET", header: map[string]string{"Mcp-Session-Id": "nope"}}, 404, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := tt.send.send(t, site)
			if resp.StatusCode != tt.status {
				t.Errorf("status %d, want %d; body %s", resp.StatusCode, tt.status, body)
			}
			if tt.want != "" {
				if diff := cmp.Diff(tt.want, body); diff != "" {
					t.Errorf("body (-want +got):\n%s", diff)
				}
			}
			if resp.StatusCode == 405 && resp.Header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			if resp.StatusCode != 202 && !json.Valid([]byte(body)) && !strings.HasPrefix(body, "id:") {
				t.Errorf("the body is not JSON: %q", body)
			}
		})
	}
}

func TestDELETEEndsASession(t *testing.T) {
	site := newSite(t, echoTool(), nil)
	legacy := session(t, site)
	ping := request{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header: legacy}
	if resp, _ := ping.send(t, site); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	if resp, _ := (request{method: http.MethodDelete, header: legacy}).send(t, site); resp.StatusCode != 204 {
		t.Fatal(resp.Status)
	}
	if resp, _ := ping.send(t, site); resp.StatusCode != 404 {
		t.Fatal(resp.Status)
	}
}
