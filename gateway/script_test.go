package gateway_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/activity"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// script is a server that answers with the bytes that a test gives it, by method.
type script struct {
	info    string
	answers map[string]func(m interop.Message) (string, error)

	mu      sync.Mutex
	methods []string                // methods
	kill    func()                  // closes its last connection
	senders []func(interop.Message) // send a message outside of requests to its clients, in the order of connection
}

func (s *script) Handle(_ context.Context, m interop.Message, _ interop.Peer) (json.RawMessage, error) {
	s.mu.Lock()
	s.methods = append(s.methods, m.Method)
	s.mu.Unlock()
	answer := s.answers[m.Method]
	if answer == nil {
		return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "script: no " + m.Method, Data: json.RawMessage(`{"of":"script"}`)}
	}
	text, err := answer(m)
	return json.RawMessage(text), err
}

func (s *script) Watch(send func(interop.Message)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.senders = append(s.senders, send)
	return func() {}
}

func (s *script) Info() json.RawMessage {
	if s.info == "" {
		return nil
	}
	return json.RawMessage(s.info)
}

// times returns how often a method was requested.
func (s *script) times(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.methods {
		if m == method {
			n++
		}
	}
	return n
}

// replyWith returns an answer that never changes.
func replyWith(text string) func(interop.Message) (string, error) {
	return func(interop.Message) (string, error) { return text, nil }
}

// discovers returns an answer with the capabilities of a server.
func discovers(capabilities string) func(interop.Message) (string, error) {
	return replyWith(`{"capabilities":` + capabilities + `,"instructions":"Read me."}`)
}

// scripts holds servers by id.
type scripts map[string]*script

func (s scripts) options(t testing.TB) *ledger.Options {
	return &ledger.Options{Mount: &interop.MountOptions{FleetOptions: interop.FleetOptions{
		Grace: -1, Restart: interop.Restart{Off: true},
		Endpoint: func(of config.Server) *interop.EndpointOptions {
			clientEnd, serverEnd := mcp.NewInMemoryTransports()
			if s[of.ID] == nil {
				return &interop.EndpointOptions{Transport: broken{}}
			}
			h := host.NewFront(s[of.ID], &host.Options{Exact: true})
			go func() { _ = h.Serve(context.Background(), serverEnd) }()
			t.Cleanup(h.Close)
			s[of.ID].mu.Lock()
			s[of.ID].kill = h.Close
			s[of.ID].mu.Unlock()
			return &interop.EndpointOptions{Transport: clientEnd}
		},
	}}}
}

// broken is a transport to a server that is down.
type broken struct{}

func (broken) Connect(context.Context) (mcp.Connection, error) { return nil, errors.New("it is down") }

// withAll gives a guard an activity, as "indus serve" has one.
func withAll(opts *gateway.Options) {
	if opts.Guard == nil {
		opts.Guard = control.New(nil)
	}
	if c, ok := opts.Guard.(*control.Control); ok {
		c.Activity = cmp.Or(c.Activity, activity.New())
	}
}

func (s scripts) open(t testing.TB, opts gateway.Options, servers ...config.Server) *gateway.Gateway {
	t.Helper()
	opts.Ledger = s.options(t)
	withAll(&opts)
	g := gateway.New(t.Context(), servers, &opts)
	t.Cleanup(g.Close)
	return g
}

// answer is the reply to one request of a modern client: a result or an error.
type answer struct {
	Result json.RawMessage
	Error  *struct {
		Code    int64
		Message string
		Data    json.RawMessage
	}
}

// ask sends one request to a view, as a modern client.
func ask(t testing.TB, g http.Handler, path, method, params string) answer {
	t.Helper()
	return askAs(t, g, path, "", method, params)
}

func askAs(t testing.TB, g http.Handler, path, principal, method, params string) answer {
	t.Helper()
	var p map[string]json.RawMessage
	if err := json.Unmarshal([]byte(params), &p); err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, key := range []string{"name", "uri"} {
		if method == "tools/call" || method == "prompts/get" || method == "resources/read" {
			_ = json.Unmarshal(p[key], &name)
		}
		if name != "" {
			break
		}
	}
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	if params != "{}" {
		meta += ","
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + meta + params[1:] + `}`
	r := httptest.NewRequestWithContext(t.Context(), "POST", path, bytes.NewReader([]byte(body)))
	r.Host = "127.0.0.1"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", method)
	r.Header.Set("X-Principal", principal)
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	raw, _ := io.ReadAll(w.Body)
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("%s: %d %s", method, w.Code, raw)
	}
	return a
}

// sorted formats JSON with sorted members.
func sorted(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	b, _ := json.MarshalIndent(v, "", " ")
	return string(b)
}
