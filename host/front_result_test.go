package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
)

// fixedBackend is a backend that gives every request the same answer.
type fixedBackend struct {
	result string
	err    error
	panics bool
	notify func(interop.Message)
}

func (f *fixedBackend) Handle(_ context.Context, m interop.Message, _ interop.Peer) (json.RawMessage, error) {
	if m.Method == "server/discover" {
		return json.RawMessage(`{"capabilities":{"prompts":{"listChanged":true},"resources":{"listChanged":false}},"instructions":"theirs","ttlMs":1,"cacheScope":"private"}`), nil
	}
	if f.panics {
		panic("oh")
	}
	return json.RawMessage(f.result), f.err
}

func (f *fixedBackend) Watch(notify func(interop.Message)) (stop func()) {
	f.notify = notify
	return func() {}
}

const (
	ourInfo = `"io.modelcontextprotocol/serverInfo":{"name":"indus-provider-host","version":"0.1.0"}`
	ourMeta = `"_meta":{` + ourInfo + `}`
)

func TestResultsAreAdaptedToTheEra(t *testing.T) {
	big := strings.Repeat(`{"x":"y"},`, 200_000) + "1"
	tests := []struct {
		name, method, raw, legacy, modern string // legacy "": an error
	}{
		{"legacy result", "prompts/get", `{ "a":1, "b":[ 2 ] }`, `{ "a":1, "b":[ 2 ] }`, `{"resultType":"complete",` + ourMeta + `,"a":1, "b":[ 2 ]}`},
		{"empty", "prompts/get", `{}`, `{}`, `{"resultType":"complete",` + ourMeta + `}`},
		{"modern result", "prompts/get",
			`{"resultType":"complete","a":1,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"up"},"io.modelcontextprotocol\/x":1,"trace":"T" },"ttlMs":5,"b":2,"cacheScope":"public"}`,
			`{"a":1,"_meta":{"trace":"T"},"b":2}`,
			`{"resultType":"complete","a":1,"_meta":{` + ourInfo + `,"trace":"T"},"ttlMs":5,"b":2,"cacheScope":"public"}`},
		{"only the server's name in _meta", "prompts/get", `{"a":1,"_meta":{"io.modelcontextprotocol/serverInfo":{}},"resultType":"complete"}`,
			`{"a":1}`, `{"a":1,"_meta":{` + ourInfo + `},"resultType":"complete"}`},
		{"foreign _meta", "prompts/get", `{"_meta":{ "x":1 },"a":1}`, `{"_meta":{ "x":1 },"a":1}`, `{"resultType":"complete","_meta":{` + ourInfo + `, "x":1 },"a":1}`},
		{"empty _meta", "prompts/get", `{"_meta":{ }}`, `{"_meta":{ }}`, `{"resultType":"complete","_meta":{` + ourInfo + `}}`},
		{"list", "prompts/list", `{"prompts":[]}`, `{"prompts":[]}`, `{"resultType":"complete","ttlMs":0,"cacheScope":"public",` + ourMeta + `,"prompts":[]}`},
		{"list with its own hints", "prompts/list", `{"ttlMs":3,"prompts":[]}`, `{"prompts":[]}`, `{"resultType":"complete","cacheScope":"public",` + ourMeta + `,"ttlMs":3,"prompts":[]}`},
		{"input required", "resources/read", `{"resultType":"input_required","inputRequests":{}}`, "", `{` + ourMeta + `,"resultType":"input_required","inputRequests":{}}`},
		{"input required of a tool", "tools/call", `{"resultType":"input_required","requestState":"x"}`, "", `{` + ourMeta + `,"resultType":"input_required","requestState":"x"}`},
		{"a task", "tools/call", `{"resultType":"task","taskId":"1"}`, "", `{` + ourMeta + `,"resultType":"task","taskId":"1"}`},
		{"type of an extension", "prompts/get", `{"resultType":"task","t":1}`, "", `{` + ourMeta + `,"resultType":"task","t":1}`},
		{"large", "prompts/get", `{"big":[` + big + `],"resultType":"complete"}`, `{"big":[` + big + `]}`, `{` + ourMeta + `,"big":[` + big + `],"resultType":"complete"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := host.NewFront(&fixedBackend{result: tt.raw}, nil)
			t.Cleanup(h.Close)
			site := serveSite(t, h)
			for range 2 { // the second time from the cache
				_, got := request{body: `{"jsonrpc":"2.0","id":7,"method":"` + tt.method + `"}`, header: session(t, site)}.
					send(t, site)
				if tt.legacy == "" {
					if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,`) {
						t.Errorf("legacy: %s", got)
					}
				} else if want := `{"jsonrpc":"2.0","id":7,"result":` + tt.legacy + `}`; got != want {
					t.Errorf("legacy: %s", cmp.Diff(want, got))
				}
				name := map[string]string{"prompts/get": "n", "resources/read": "n", "tools/call": "n"}[tt.method]
				_, got = modern(tt.method, name, "").send(t, site)
				if want := `{"jsonrpc":"2.0","id":7,"result":` + tt.modern + `}`; got != want {
					t.Errorf("modern: %s", cmp.Diff(want, got))
				}
			}
		})
	}
}

func TestErrorsPassOn(t *testing.T) {
	rpc := func(code int64) error {
		return interop.NewFault(interop.ToolError, "s", "x", &interop.RPCError{Code: code, Message: "m", Data: json.RawMessage(`{"k": 1}`)})
	}
	tests := []struct {
		name   string
		b      *fixedBackend
		status int // of a modern answer
		want   string
	}{
		{"its own", &fixedBackend{err: rpc(-5)}, 200, `{"code":-5,"message":"m","data":{"k": 1}}`},
		{"not found as it was", &fixedBackend{err: rpc(-32002)}, 200, `{"code":-32602,"message":"m","data":{"k": 1}}`},
		{"a hop's headers", &fixedBackend{err: rpc(-32020)}, 200, `{"code":-32603,"message":"m","data":{"k": 1}}`},
		{"a hop's version", &fixedBackend{err: rpc(-32022)}, 200, `{"code":-32603,"message":"m","data":{"k": 1}}`},
		{"unknown method", &fixedBackend{err: rpc(-32601)}, 404, `{"code":-32601,"message":"m","data":{"k": 1}}`},
		{"fault", &fixedBackend{err: interop.NewFault(interop.Timeout, "s", "x", nil)}, 200, `{"code":-32603,"message":"s: x; what to try: try again (npx, uvx and docker download a server before its first start, behind a proxy only with its variables in \"env\", such as NODE_EXTRA_CA_CERTS), or raise this server's timeout"}`},
		{"any other", &fixedBackend{err: errors.New("oh")}, 200, `{"code":-32603,"message":"prompts/x: internal error"}`},
		{"panic", &fixedBackend{panics: true}, 200, `{"code":-32603,"message":"prompts/x: internal error"}`},
		{"no object", &fixedBackend{result: `[]`}, 200, `{"code":-32603,"message":"prompts/x: the result is not an object"}`},
		{"nothing", &fixedBackend{}, 200, `{"code":-32603,"message":"prompts/x: the result is not an object"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := host.NewFront(tt.b, nil)
			t.Cleanup(h.Close)
			site := serveSite(t, h)
			want := `{"jsonrpc":"2.0","id":7,"error":` + tt.want + `}`
			resp, got := request{body: `{"jsonrpc":"2.0","id":7,"method":"prompts/x"}`, header: session(t, site)}.send(t, site)
			legacy := want
			if tt.name == "not found as it was" {
				legacy = strings.Replace(want, "-32602", "-32002", 1)
			}
			if got != legacy || resp.StatusCode != 200 {
				t.Errorf("legacy: %s %s", resp.Status, cmp.Diff(legacy, got))
			}
			resp, got = modern("prompts/x", "", "").send(t, site)
			if got != want || resp.StatusCode != tt.status {
				t.Errorf("modern: %s %s", resp.Status, cmp.Diff(want, got))
			}
		})
	}
}

func TestTheBackendDescribesTheHost(t *testing.T) {
	h := host.NewFront(&fixedBackend{}, &host.Options{Info: interop.Info{Name: "me", Title: "Me", Version: "9"}})
	t.Cleanup(h.Close)
	site := serveSite(t, h)
	const caps = `"capabilities":{"prompts":{"listChanged":true},"resources":{"listChanged":false}}`
	for requested, agreed := range map[string]string{"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18",
		"2025-11-25": "2025-11-25", "2026-07-28": "2025-11-25", "1.0": "2025-11-25"} {
		_, got := request{body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + requested + `"}}`}.send(t, site)
		want := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + agreed + `",` + caps + `,"serverInfo":{"name":"me","title":"Me","version":"9"},"instructions":"theirs"}}`
		if got != want {
			t.Errorf("%s: %s", requested, cmp.Diff(want, got))
		}
	}
	_, got := modern("server/discover", "", "").send(t, site)
	want := `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],` + caps +
		`,"instructions":"theirs","ttlMs":1,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"me","title":"Me","version":"9"}}}}`
	if got != want {
		t.Error(cmp.Diff(want, got))
	}
}
