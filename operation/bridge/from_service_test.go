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

// service is a real MCP server, of the Go SDK, behind a door that sees every request.
type service struct {
	url     string
	mcp     *mcp.Server
	handler http.Handler // of the SDK

	mu       sync.Mutex
	accepts  []string          // tokens; nil: everybody may enter
	requests []request         // that came
	bound    map[string]string // by session, the token that opened it
	crossed  []string          // what came in a session with another token than its own
	deleted  int               // sessions
	more     chan struct{}
}

type request struct{ http, rpc, token, session string }

const (
	eraLegacy = "legacy"
	eraModern = "modern"
)

var eras = []string{eraLegacy, eraModern}

// newService starts one that speaks one era.
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
		if !s.enters(r, token) {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="`+token+`"`)
			http.Error(w, "the token "+token+" is not valid", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(&binder{ResponseWriter: w, service: s, token: token}, r)
		if r.Method == http.MethodDelete {
			s.mu.Lock()
			s.deleted++
			s.mu.Unlock()
			s.tell()
		}
	})
}

// enters notes a request, and says whether its token is good.
func (s *service) enters(r *http.Request, token string) bool {
	defer s.tell()
	s.mu.Lock()
	defer s.mu.Unlock()
	session := r.Header.Get("Mcp-Session-Id")
	s.requests = append(s.requests, request{r.Method, r.Header.Get("Mcp-Method"), token, session})
	if owner, known := s.bound[session]; known && owner != token {
		s.crossed = append(s.crossed, fmt.Sprintf("session %s of %q: %s by %q", session, owner, r.Method, token))
	}
	return s.accepts == nil || slices.Contains(s.accepts, token)
}

func (s *service) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.more)
	s.more = make(chan struct{})
}

// wait blocks until ok holds; it is asked after each request.
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

// accept changes who may enter.
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

// sessions is how many were opened, by token.
func (s *service) sessions() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, token := range s.bound {
		n[token]++
	}
	return n
}

// binder notes which token a session was opened with.
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

// has is a tool that gives a result. Its row is a whole tool object but for the schema of
// its input, which is one where there is none.
func has(tool mcp.Tool, result func(*mcp.CallToolRequest) *mcp.CallToolResult) func(*mcp.Server) {
	return func(s *mcp.Server) {
		if tool.InputSchema == nil {
			tool.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		s.AddTool(&tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result(r), nil })
	}
}

func gives(r mcp.CallToolResult) func(*mcp.CallToolRequest) *mcp.CallToolResult {
	return func(*mcp.CallToolRequest) *mcp.CallToolResult { return &r }
}

func text(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }

// whoami tells which token its request came with, and in which session.
var whoami = has(mcp.Tool{Name: "whoami"}, func(r *mcp.CallToolRequest) *mcp.CallToolResult {
	token := strings.TrimPrefix(r.Extra.Header.Get("Authorization"), "Bearer ")
	return &mcp.CallToolResult{Content: text(token + " in " + r.Extra.Header.Get("Mcp-Session-Id"))}
})

// imported is a registry with what an adapter gives.
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
	}) // it may be there already
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

// them is the adapter of a server.
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

// names is what was imported.
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
