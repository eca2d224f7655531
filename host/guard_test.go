package host_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// serveDirect sends a request to a handler without a network. The handler sees local as its own address.
func serveDirect(h http.Handler, local, host string, r request) *httptest.ResponseRecorder {
	if r.method == "" {
		r.method = http.MethodPost
	}
	req := httptest.NewRequest(r.method, "/mcp", strings.NewReader(r.body))
	req.Header.Set("Content-Type", "application/json")
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	if host != "" {
		req.Host = host
	}
	if local != "" {
		addr, err := net.ResolveTCPAddr("tcp", local)
		if err != nil {
			panic(err)
		}
		req = req.WithContext(context.WithValue(req.Context(), http.LocalAddrContextKey, net.Addr(addr)))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

func TestForeignHostsAndOriginsAreRefused(t *testing.T) {
	open := newHost(t, echoTool(), nil).Handler()
	closed := newHost(t, echoTool(), &host.Options{AllowedHosts: []string{"mcp.example", "Other.example:99"}, AllowedOrigins: []string{"https://app.example"}}).Handler()
	const loop, public = "127.0.0.1:7332", "192.0.2.1:80"
	tests := []struct {
		h                   http.Handler
		local, host, origin string
		ok                  bool
	}{
		{open, loop, "localhost:7332", "", true},
		{open, loop, "LOCALHOST", "", true},
		{open, loop, "127.0.0.1:7332", "", true},
		{open, loop, "127.9.9.9", "", true},
		{open, loop, "[::1]:7332", "", true},
		{open, "[::1]:1", "[::1]", "", true},
		{open, loop, "evil.example", "", false},
		{open, loop, "localhost.evil.example", "", false},
		{open, loop, "127.0.0.1.evil.example:7332", "", false},
		{open, loop, "192.0.2.1", "", false},
		{open, loop, "mcp.example", "", false},
		{open, public, "anything.example", "", true},
		{open, "", "anything.example", "", true},
		{closed, loop, "localhost", "", true},
		{closed, loop, "MCP.example:8080", "", true},
		{closed, public, "mcp.example", "", true},
		{closed, public, "other.example:99", "", true},
		{closed, public, "other.example:98", "", false},
		{closed, public, "192.0.2.1", "", false},
		{open, loop, "localhost:7332", "http://localhost:7332", true},
		{open, loop, "localhost:7332", "http://localhost:6274", true},
		{open, loop, "localhost:7332", "https://127.0.0.1", true},
		{open, loop, "localhost:7332", "http://[::1]:1", true},
		{open, loop, "localhost:7332", "https://evil.example", false},
		{open, loop, "localhost:7332", "https://localhost.evil.example", false},
		{open, loop, "localhost:7332", "null", false},
		{open, loop, "localhost:7332", "file://", false},
		{open, loop, "localhost:7332", "chrome-extension://localhost", false},
		{open, loop, "localhost:7332", "http://", false},
		{closed, public, "mcp.example", "https://mcp.example", true},
		{closed, public, "mcp.example", "https://mcp.example:444", false},
		{open, public, "192.0.2.1:7332", "http://192.0.2.1:7332", true},
		{open, public, "[2001:db8::1]:7332", "http://[2001:db8::1]:7332", true},
		{open, public, "rebound.example:7332", "http://rebound.example:7332", false},
		{closed, public, "mcp.example", "https://app.example", true},
		{closed, public, "mcp.example", "http://app.example", false},
	}
	for _, tt := range tests {
		r := modern("server/discover", "", "")
		if tt.origin != "" {
			r = r.with("Origin", tt.origin)
		}
		for _, method := range []string{"POST", "GET"} {
			r.method = method
			w := serveDirect(tt.h, tt.local, tt.host, r)
			if (w.Code == 403) == tt.ok || tt.ok && method == "POST" && w.Code != 200 {
				t.Errorf("%s at %q, host %q, origin %q: %d", method, tt.local, tt.host, tt.origin, w.Code)
			}
		}
	}
}

func TestASessionBelongsToItsPrincipal(t *testing.T) {
	var callers []toolbox.Principal
	src := shelf.OneTool(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		callers = append(callers, c.Caller)
		return nil, nil
	})
	h := newHost(t, src, &host.Options{Authenticate: func(r *http.Request) (toolbox.Principal, error) {
		switch user := r.Header.Get("X-User"); user {
		case "":
			return "", errors.New("who are you?")
		case "banned":
			return "", fmt.Errorf("list: %w", &interop.HTTPError{Status: 403, Body: "not you", Header: http.Header{"Www-Authenticate": {"Bearer"}}})
		default:
			return toolbox.Principal(user), nil
		}
	}}).Handler()
	as := func(user string, r request) *httptest.ResponseRecorder {
		return serveDirect(h, "", "", r.with("X-User", user))
	}
	opened := as("ann", request{body: fmt.Sprintf(initializeLine, "2025-06-18")})
	call := legacyCall(map[string]string{"Mcp-Session-Id": opened.Header().Get("Mcp-Session-Id")}, "1", "")
	if w := as("ann", call); w.Code != 200 {
		t.Errorf("ann: %d %s", w.Code, w.Body)
	}
	if w := as("bob", call); w.Code != 404 {
		t.Errorf("bob: %d %s", w.Code, w.Body)
	}
	if w := serveDirect(h, "", "", call); w.Code != 401 || w.Body.String() != `{"jsonrpc":"2.0","error":{"code":-32600,"message":"unauthorized"}}` {
		t.Errorf("nobody: %d %s", w.Code, w.Body)
	}
	if w := as("banned", call); w.Code != 403 || w.Header().Get("Www-Authenticate") != "Bearer" ||
		!strings.Contains(w.Body.String(), "not you") {
		t.Errorf("banned: %d %s", w.Code, w.Body)
	}
	if w := as("bob", modern("tools/call", "t", `"name":"t"`)); w.Code != 200 {
		t.Errorf("modern: %d %s", w.Code, w.Body)
	}
	if w := as("bob", modern("tools/list", "", "")); !strings.Contains(w.Body.String(), `"cacheScope":"private"`) {
		t.Error(w.Body)
	}
	if len(callers) != 2 || callers[0] != "ann" || callers[1] != "bob" {
		t.Error(callers)
	}
}

// open opens a session without a network.
func open(h http.Handler) map[string]string {
	w := serveDirect(h, "", "", request{body: fmt.Sprintf(initializeLine, "2025-06-18")})
	return map[string]string{"Mcp-Session-Id": w.Header().Get("Mcp-Session-Id")}
}

func isAccepted(h http.Handler, header map[string]string) bool {
	return serveDirect(h, "", "", request{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header: header}).Code == 200
}

func TestIdleSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newHeldTool()
		host := host.New(g, &host.Options{KeepAlive: -1})
		defer host.Close()
		h := host.Handler()
		idle, used, busy, streaming := open(h), open(h), open(h), open(h)
		done := make(chan int, 2)
		go func() { done <- serveDirect(h, "", "", legacyCall(busy, "7", "")).Code }()
		<-g.begun
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			req.Header.Set("Mcp-Session-Id", streaming["Mcp-Session-Id"])
			h.ServeHTTP(httptest.NewRecorder(), req)
			done <- 0
		}()
		time.Sleep(40 * time.Minute)
		if !isAccepted(h, used) {
			t.Error("it was used")
		}
		time.Sleep(40 * time.Minute)
		if isAccepted(h, idle) {
			t.Error("idle for longer than an hour")
		}
		if !isAccepted(h, used) {
			t.Error("used 40 minutes ago")
		}
		time.Sleep(2 * time.Hour)
		close(g.free)
		leave()
		<-done
		<-done
		if !isAccepted(h, busy) || !isAccepted(h, streaming) {
			t.Error("not idle: they had a call, a stream")
		}
		if isAccepted(h, used) {
			t.Error("idle for two hours")
		}
		time.Sleep(61 * time.Minute)
		if isAccepted(h, busy) || isAccepted(h, streaming) {
			t.Error("idle since their call, their stream ended")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		host := host.New(echoTool(), &host.Options{SessionIdle: -1})
		defer host.Close()
		h := host.Handler()
		s := open(h)
		time.Sleep(1000 * time.Hour)
		if !isAccepted(h, s) {
			t.Error("it was to live for good")
		}
	})
}

// Some clients end a stream that is silent for 10 s. So a comment is sent before, on every kind of stream.
func TestNoStreamIsSilentForTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newHeldTool()
		host := host.New(g, nil)
		defer host.Close()
		h := host.Handler()
		header := open(h)
		ctx, leave := context.WithCancel(t.Context())
		streams := map[string]*httptest.ResponseRecorder{}
		var done sync.WaitGroup
		for name, serve := range map[string]http.Handler{"standing": h, "HTTP+SSE": host.SSEHandler()} {
			req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			req.Header.Set("Accept", "text/event-stream")
			if name == "standing" {
				req.Header.Set("Mcp-Session-Id", header["Mcp-Session-Id"])
			}
			w := httptest.NewRecorder()
			streams[name] = w
			done.Go(func() { serve.ServeHTTP(w, req) })
		}
		done.Go(func() { streams["answer"] = serveDirect(h, "", "", legacyCall(header, "7", "")) })
		<-g.begun
		time.Sleep(10*time.Second - 1)
		leave()
		g.free <- struct{}{}
		done.Wait()
		for name, w := range streams {
			if !strings.Contains(w.Body.String(), ":\n\n") {
				t.Errorf("%s: %q", name, w.Body)
			}
		}
	})
}

func TestTheStalestSessionMakesRoom(t *testing.T) {
	g := newHeldTool()
	h := newHost(t, g, &host.Options{MaxSessions: 3}).Handler()
	a, b, c := open(h), open(h), open(h)
	if !isAccepted(h, a) {
		t.Fatal()
	}
	d := open(h)
	if isAccepted(h, b) || !isAccepted(h, a) || !isAccepted(h, c) || !isAccepted(h, d) {
		t.Error("b was idle for longest")
	}
	for _, s := range []map[string]string{a, c, d} {
		go serveDirect(h, "", "", legacyCall(s, "7", ""))
		<-g.begun
	}
	if w := serveDirect(h, "", "", request{body: fmt.Sprintf(initializeLine, "2025-06-18")}); w.Code != 503 ||
		w.Header().Get("Mcp-Session-Id") != "" {
		t.Errorf("all are busy: %d", w.Code)
	}
	close(g.free)
}

func TestTokens(t *testing.T) {
	const ann, bob = "0123456789abcdef-ann", "0123456789abcdef~bob=="
	var tokens identity.Tokens
	for _, bad := range [][]string{nil, {"hunter2"}, {ann, "0123456789 abcdef"}, {"0123456789abcdef\n"}} {
		if err := tokens.Set(bad...); err == nil || strings.Contains(err.Error(), "hunter") ||
			strings.Contains(err.Error(), "abcdef") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	h := newHost(t, echoTool(), &host.Options{Authenticate: identity.NewGuard(nil, &tokens).Principal}).Handler()
	if w := serveDirect(h, "", "", modern("tools/list", "", "").with("Authorization", "Bearer ")); w.Code != 401 {
		t.Errorf("before Set: %d", w.Code)
	}
	if err := tokens.Set(ann, bob); err != nil {
		t.Fatal(err)
	}
	const challenge = `Bearer realm="indus"`
	for _, tt := range []struct{ authorization, challenge string }{
		{"", challenge},
		{"Bearer " + ann, ""}, {"bearer  " + bob, ""},
		{"Bearer", challenge + `, error="invalid_token"`}, {ann, challenge + `, error="invalid_token"`},
		{"Basic " + ann, challenge + `, error="invalid_token"`}, {"Bearer " + ann + "x", challenge + `, error="invalid_token"`},
		{"Bearer " + ann[:19], challenge + `, error="invalid_token"`},
	} {
		for _, r := range []request{modern("tools/list", "", ""), {method: "GET"}, {method: "DELETE"}, {body: "{"}} {
			if tt.authorization != "" {
				r = r.with("Authorization", tt.authorization)
			}
			w := serveDirect(h, "", "", r)
			if got := w.Header().Get("WWW-Authenticate"); got != tt.challenge || (w.Code == 401) != (tt.challenge != "") ||
				strings.Contains(w.Body.String(), "abcdef") {
				t.Errorf("%s %q: %d %q %s", r.method, tt.authorization, w.Code, got, w.Body)
			}
		}
	}
	opened := serveDirect(h, "", "", request{body: fmt.Sprintf(initializeLine, "2025-06-18")}.with("Authorization", "Bearer "+ann))
	ping := request{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}.
		with("Mcp-Session-Id", opened.Header().Get("Mcp-Session-Id"))
	for token, want := range map[string]int{ann: 200, bob: 404} {
		if w := serveDirect(h, "", "", ping.with("Authorization", "Bearer "+token)); w.Code != want {
			t.Errorf("ann's session with %s: %d", token, w.Code)
		}
	}
	if err := tokens.Set(bob); err != nil {
		t.Fatal(err)
	}
	if w := serveDirect(h, "", "", ping.with("Authorization", "Bearer "+ann)); w.Code != 401 {
		t.Errorf("a token that was taken away: %d", w.Code)
	}
}

// TestPagesOfAllowedOrigins begins as a browser does: with a preflight without a token.
func TestPagesOfAllowedOrigins(t *testing.T) {
	var tokens identity.Tokens
	if err := tokens.Set("0123456789abcdef"); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, echoTool(), &host.Options{Authenticate: identity.NewGuard(nil, &tokens).Principal, AllowedOrigins: []string{"https://app.example"},
		Forward: func() []string { return []string{"X-Request-Id"} }}).Handler()
	for origin, ok := range map[string]bool{"https://app.example": true, "http://localhost:6274": true, "https://evil.example": false, "null": false} {
		ask := request{method: "OPTIONS"}.with("Origin", origin).with("Access-Control-Request-Method", "POST").
			with("Access-Control-Request-Headers", "authorization,content-type,mcp-protocol-version, Mcp-Param-Region,cookie,x-evil,x-request-id")
		requested := serveDirect(h, "127.0.0.1:7332", "localhost:7332", ask).Result()
		sent := serveDirect(h, "127.0.0.1:7332", "localhost:7332", modern("tools/list", "", "").with("Origin", origin)).Result()
		want := map[string]string{"Access-Control-Allow-Origin": "", "Access-Control-Allow-Headers": "", "Access-Control-Allow-Credentials": "", "Vary": ""}
		codes := [2]int{403, 403}
		if ok {
			codes = [2]int{204, 401}
			want["Access-Control-Allow-Origin"], want["Vary"] = origin, "Origin"
			want["Access-Control-Allow-Headers"] = "authorization, content-type, mcp-protocol-version, mcp-param-region, x-request-id"
		}
		if got := [2]int{requested.StatusCode, sent.StatusCode}; got != codes {
			t.Errorf("%s: %v, want %v", origin, got, codes)
		}
		for k, v := range want {
			if got := requested.Header.Get(k); got != v {
				t.Errorf("%s: preflight: %s: %q, want %q", origin, k, got, v)
			}
		}
		if got := sent.Header.Get("Access-Control-Expose-Headers"); ok != strings.Contains(got, "WWW-Authenticate") ||
			ok != strings.Contains(got, "Mcp-Session-Id") {
			t.Errorf("%s: exposed are %q", origin, got)
		}
	}
	if w := serveDirect(h, "", "", request{method: "OPTIONS"}); w.Code != 401 {
		t.Errorf("OPTIONS that is no preflight: %d", w.Code)
	}
}
