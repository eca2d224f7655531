package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/operation/bridge"
)

// service is a real MCP server of the Go SDK. A handler in front of it records every request.
type service struct {
	url     string
	mcp     *mcp.Server
	handler http.Handler // the SDK's handler

	mu         sync.Mutex
	accepts    []string          // valid tokens; nil accepts every request
	requests   []request         // in the order of arrival
	bound      map[string]string // by session: the token that opened it
	mismatches []string          // requests in a session with a different token
	deleted    int               // number of deleted sessions
	more       chan struct{}
}

type request struct{ http, rpc, token, session string }

const (
	eraLegacy = "legacy"
	eraModern = "modern"
)

var eras = []string{eraLegacy, eraModern}

// newService starts a service that supports one era.
func newService(t testing.TB, era string, tools ...func(*mcp.Server)) *service {
	t.Helper()
	s := &service{bound: map[string]string{}, more: make(chan struct{})}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "service", Version: "1"}, &mcp.ServerOptions{PageSize: 3})
	for _, add := range tools {
		add(s.mcp)
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless: era == eraModern, DisableLocalhostProtection: true, PropagateRequestCancellation: true,
	})
	s.handler = h
	server := httptest.NewServer(s.door(h))
	t.Cleanup(func() {
		for one := range s.mcp.Sessions() {
			one.Close()
		}
		server.CloseClientConnections()
		server.Close()
	})
	s.url = server.URL + "/mcp"
	return s
}

func (s *service) door(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !s.admit(r, token) {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="`+token+`"`)
			http.Error(w, "the token "+token+" is not valid", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(&binder{ResponseWriter: w, service: s, token: token}, r)
		if r.Method == http.MethodDelete {
			s.mu.Lock()
			s.deleted++
			s.mu.Unlock()
			s.notify()
		}
	})
}

// admit records a request and reports whether its token is valid.
func (s *service) admit(r *http.Request, token string) bool {
	defer s.notify()
	s.mu.Lock()
	defer s.mu.Unlock()
	session := r.Header.Get("Mcp-Session-Id")
	s.requests = append(s.requests, request{r.Method, r.Header.Get("Mcp-Method"), token, session})
	if owner, known := s.bound[session]; known && owner != token {
		s.mismatches = append(s.mismatches, fmt.Sprintf("session %s of %q: %s by %q", session, owner, r.Method, token))
	}
	return s.accepts == nil || slices.Contains(s.accepts, token)
}

func (s *service) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.more)
	s.more = make(chan struct{})
}

// wait blocks until ok returns true, which it checks after each request. After 30 s it fails the
// test.
func (s *service) wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		more, done := s.more, ok()
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}

// accept changes the valid tokens.
func (s *service) accept(tokens ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepts = tokens
}

func (s *service) seen() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// sessions returns the number of opened sessions by token.
func (s *service) sessions() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, token := range s.bound {
		n[token]++
	}
	return n
}

// binder records the token with which a session was opened.
type binder struct {
	http.ResponseWriter
	service *service
	token   string
}

func (b *binder) bind() {
	b.service.mu.Lock()
	defer b.service.mu.Unlock()
	if id := b.Header().Get("Mcp-Session-Id"); id != "" && b.service.bound[id] == "" {
		b.service.bound[id] = b.token
	}
}

func (b *binder) WriteHeader(status int) {
	b.bind()
	b.ResponseWriter.WriteHeader(status)
}

func (b *binder) Write(p []byte) (int, error) {
	b.bind()
	return b.ResponseWriter.Write(p)
}

func (b *binder) Flush()                      { b.ResponseWriter.(http.Flusher).Flush() }
func (b *binder) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// withTool adds a tool that returns a result. If the tool has no input schema, it gets an empty one.
func withTool(tool mcp.Tool, result func(*mcp.CallToolRequest) *mcp.CallToolResult) func(*mcp.Server) {
	return func(s *mcp.Server) {
		if tool.InputSchema == nil {
			tool.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		s.AddTool(&tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result(r), nil })
	}
}

func respondWith(r mcp.CallToolResult) func(*mcp.CallToolRequest) *mcp.CallToolResult {
	return func(*mcp.CallToolRequest) *mcp.CallToolResult { return &r }
}

func text(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }

// whoami returns the token and the session of its request.
var whoami = withTool(mcp.Tool{Name: "whoami"}, func(r *mcp.CallToolRequest) *mcp.CallToolResult {
	token := strings.TrimPrefix(r.Extra.Header.Get("Authorization"), "Bearer ")
	return &mcp.CallToolResult{Content: text(token + " in " + r.Extra.Header.Get("Mcp-Session-Id"))}
})

// imported returns a registry with the operations of an adapter.
func imported(t testing.TB, f *bridge.FromMCP) *operation.Registry {
	t.Helper()
	r := newRegistry(t)
	if err := r.Import(t.Context(), "them", f); err != nil {
		t.Fatal(err)
	}
	return r
}

func newRegistry(t testing.TB) *operation.Registry {
	t.Helper()
	r := operation.NewRegistry(nil)
	t.Cleanup(r.Close)
	return r
}

type envelopeKey struct{}

// ask calls an internal operation from another one, as services do.
func ask(ctx context.Context, r *operation.Registry, name, input string, with operation.Capabilities) (got operation.Envelope) {
	_ = r.Add(operation.Registration{
		Spec: operation.Spec{Name: "ask " + name, Visibility: operation.External}, Env: []string{name},
		Handler: func(ctx context.Context, c *operation.Context, in json.RawMessage) (json.RawMessage, error) {
			*ctx.Value(envelopeKey{}).(*operation.Envelope) = c.Call(ctx, name, in)
			return nil, nil
		},
	}) // it may already exist
	outer := r.Call(context.WithValue(ctx, envelopeKey{}, &got), operation.Call{
		Operation: "ask " + name, Input: json.RawMessage(input), Capabilities: with,
	})
	if outer.Err != nil && got.Value == nil && got.Err == nil {
		got.Err = outer.Err
	}
	return got
}

func token(text string) operation.Capabilities {
	return operation.Capabilities{"mcp:them": operation.NewSecret(text)}
}

// them returns the adapter of a server.
func them(url string) *bridge.FromMCP { return &bridge.FromMCP{Endpoint: url, Namespace: "them"} }

func find(t testing.TB, r *operation.Registry, name string) operation.Entry {
	t.Helper()
	for _, e := range r.Snapshot().Operations {
		if e.Spec.Name == name {
			return e
		}
	}
	t.Fatalf("there is no operation %q in %v", name, names(r))
	return operation.Entry{}
}

// names returns the names of the imported operations.
func names(r *operation.Registry) (list []string) {
	for _, e := range r.Snapshot().Operations {
		if e.Provenance == operation.FromMCP {
			list = append(list, e.Spec.Name)
		}
	}
	return list
}

func code(e operation.Envelope) operation.Code {
	if e.Err == nil {
		return ""
	}
	return e.Err.Code
}
