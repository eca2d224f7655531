package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/internal/advice"
	"github.com/indusagi/indus/interop/internal/conn"
)

// If bytes arrived that match no request, a timeout error quotes them, for every kind of deadline.
func TestATimeoutNamesWhatArrived(t *testing.T) {
	e := NewEndpoint(config.Server{ID: "s"}, nil)
	defer e.Close()
	late := &conn.DeadlineError{After: time.Second, What: "no answer"}
	arrived := &conn.UnmatchedError{Late: late, What: "what arrived answers no request: a reply to no request"}
	over, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	for _, outer := range []context.Context{t.Context(), over} {
		err := e.sendFault(outer, over, Message{Method: protocol.MethodToolsCall}, "x", arrived)
		f, ok := errors.AsType[*Fault](err)
		if !ok || f.Kind != Timeout || !strings.Contains(err.Error(), arrived.What) || f.Advice() != adviceAfter(t, "bytes that answer no request, in a call") {
			t.Errorf("%v; %s", err, f.Advice())
		}
	}
}

// rawRequest is the part of a POST that a raw server reads.
type rawRequest struct {
	ID     json.RawMessage
	Method string
	HTTP   *http.Request
}

type rawHandler func(w http.ResponseWriter, r rawRequest)

// rawModern is a modern server that passes every request except server/discover to h.
func rawModern(h rawHandler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := rawRequest{HTTP: hr}
		_ = json.NewDecoder(hr.Body).Decode(&r)
		if r.Method == "server/discover" {
			rawAnswer(w, r, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`)
			return
		}
		h(w, r)
	})
}

func rawAnswer(w http.ResponseWriter, r rawRequest, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// adviceAfter returns the advice of the table for a cause.
func adviceAfter(t *testing.T, cause string) string {
	t.Helper()
	for _, row := range advice.Rows {
		if row.Cause == cause {
			return row.Advice
		}
	}
	t.Fatalf("no such row: %s", cause)
	return ""
}

// Every kind has advice of its own, even without a cause.
func TestEachKindHasAdvice(t *testing.T) {
	for _, kind := range []Kind{Transport, Protocol, Timeout, ToolError, NotConnected, SpawnFailed} {
		if got, want := NewFault(kind, "SERVER", "x", nil).Advice(), adviceAfter(t, string(kind)); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

// Failures of real servers get the advice of their cause.
func TestAdviceFitsTheCause(t *testing.T) {
	t.Parallel()
	method := protocol.MethodToolsCall
	want := func(t *testing.T, s config.Server, cause string, call bool) {
		t.Helper()
		s.ID = "s"
		e := NewEndpoint(s, nil)
		defer e.Close()
		err := e.Open(t.Context())
		if call && err == nil && method == protocol.MethodToolsCall {
			_, err = e.Invoke(t.Context(), "x", nil)
		} else if call && err == nil {
			_, err = e.Do(t.Context(), Message{Method: method, Params: json.RawMessage(`{"name":"x"}`)})
		}
		var f *Fault
		if !errors.As(err, &f) {
			t.Fatalf("no fault: %v", err)
		}
		if got, want := f.Advice(), strings.ReplaceAll(adviceAfter(t, cause), "SERVER", "s"); got != want {
			t.Errorf("%s: %s (%s): %q, want %q", cause, f, f.Kind, got, want)
		}
	}
	status := func(code int) rawHandler {
		return func(w http.ResponseWriter, r rawRequest) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
		}
	}
	rpc := func(code int) rawHandler {
		return func(w http.ResponseWriter, r rawRequest) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, r.ID, code)
		}
	}
	hangUp := func(http.ResponseWriter, rawRequest) { panic(http.ErrAbortHandler) }
	headers := []config.Pair{{Name: "Authorization", Value: config.NewSecret("Bearer of-nothing")}}
	for _, tt := range []struct {
		cause string
		call  rawHandler // of a modern server
	}{
		{"the connection ended during the call", hangUp},
		{"the connection ended during the call", func(w http.ResponseWriter, r rawRequest) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"jsonrpc"`)
		}},
		{"input_required", func(w http.ResponseWriter, r rawRequest) {
			rawAnswer(w, r, `{"resultType":"input_required","inputRequests":{}}`)
		}},
		{"an answer beyond the limit", func(w http.ResponseWriter, r rawRequest) {
			w.Header().Set("Content-Length", fmt.Sprint(MaxMessage+1))
			w.Header().Set("Content-Type", "application/json")
		}},
		{"HTTP 3xx", func(w http.ResponseWriter, r rawRequest) {
			http.Redirect(w, r.HTTP, "http://elsewhere.example/", http.StatusTemporaryRedirect)
		}},
		{"HTTP 401, with the Authorization that is configured", status(401)}, {"HTTP 403", status(403)}, {"HTTP 407", status(407)}, {"HTTP 404, 410, or a web page", status(404)},
		{"HTTP 413", status(413)}, {"HTTP 429", status(429)}, {"HTTP 408, 502, 503, 504", status(503)}, {"HTTP 5xx", status(500)}, {"any other status", status(405)},
		{"-32602", rpc(-32602)}, {"-32601", rpc(-32601)}, {"-32700, -32600, -32020, -32021", rpc(-32020)}, {"no version of the protocol in common", rpc(-32022)},
		{"any other JSON-RPC code", rpc(-32000)},
		{"a timeout of a call", func(_ http.ResponseWriter, r rawRequest) { <-r.HTTP.Context().Done() }},
	} {
		t.Run("call/"+tt.cause, func(t *testing.T) {
			url := serve(t, rawModern(tt.call))
			timeouts := config.Timeouts{}
			if tt.cause == "a timeout of a call" {
				timeouts.Call = 300 * time.Millisecond
			}
			want(t, config.Server{Transport: config.HTTP{URL: url, Headers: headers}, Timeouts: timeouts}, tt.cause, true)
		})
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	web := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>")
	}))
	oauth := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="x"`)
		w.WriteHeader(401)
	}))
	prefixed := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/prefix/sse" {
			w.WriteHeader(404)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: /messages/?session_id=1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})) + "/prefix/sse"
	// started answers initialize at /mcp, and over HTTP+SSE at /sse. Then notifications/initialized fails.
	started := func(fail func(w http.ResponseWriter)) string {
		replies := make(chan string, 1)
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
			if hr.Method == http.MethodGet && hr.URL.Path == "/sse" {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "event: endpoint\ndata: /messages\n\n")
				_ = http.NewResponseController(w).Flush()
				fmt.Fprintf(w, "data: %s\n\n", <-replies)
				_ = http.NewResponseController(w).Flush()
				<-hr.Context().Done()
				return
			}
			var r rawRequest
			_ = json.NewDecoder(hr.Body).Decode(&r)
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}`, r.ID)
			switch {
			case hr.Method != http.MethodPost || hr.URL.Path == "/sse":
				w.WriteHeader(405)
			case r.Method == protocol.NoteInitialized:
				fail(w)
			case r.Method != protocol.MethodInitialize:
				rpc(-32601)(w, r)
			case hr.URL.Path == "/messages":
				replies <- answer
				w.WriteHeader(202)
			default:
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, answer)
			}
		}))
	}
	refusing := started(func(w http.ResponseWriter) { w.WriteHeader(400) })
	elsewhere := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(404)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: https://%s/messages\n\n", r.Host)
	})) + "/sse"
	shell := func(script string) config.Stdio { return config.Stdio{Command: "sh", Args: []string{"-c", script}} }
	for _, tt := range []struct {
		cause string
		t     config.TransportConfig
	}{
		{"connection refused", config.HTTP{URL: gone.URL}},
		{"HTTP 404, 410, or a web page", config.HTTP{URL: web}},
		{"HTTP 401 that names where to sign in", config.HTTP{URL: oauth}},
		{"the connection ended otherwise", config.HTTP{URL: serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))}},
		{"HTTP+SSE with an endpoint event that leads to no server", config.SSE{URL: prefixed}},
		{"HTTP+SSE with an endpoint event that leads to no server", config.HTTP{URL: prefixed}},
		{"notifications/initialized fails", config.HTTP{URL: refusing + "/mcp"}},
		{"notifications/initialized fails", config.HTTP{URL: refusing + "/sse"}},
		{"notifications/initialized fails", config.SSE{URL: refusing + "/sse"}},
		{"notifications/initialized fails", config.HTTP{URL: started(func(http.ResponseWriter) { panic(http.ErrAbortHandler) }) + "/mcp"}},
		{"HTTP 403", config.HTTP{URL: started(func(w http.ResponseWriter) { w.WriteHeader(403) }) + "/mcp"}},
		{"HTTP+SSE with an endpoint event of another origin", config.SSE{URL: elsewhere}},
		{"HTTP+SSE with an endpoint event of another origin", config.HTTP{URL: elsewhere}},
		{"no TLS", config.HTTP{URL: strings.Replace(web, "http:", "https:", 1)}},
		{"no such command", config.Stdio{Command: "no-such-command-anywhere"}},
		{`no such "cwd"`, config.Stdio{Command: "sh", Dir: "/no/such/directory"}},
		{"no such file", config.Stdio{Command: "/no/such/file"}},
		{"a file that may not be executed", config.Stdio{Command: "/etc/passwd"}},
		{"exit status 127", shell("no-such-command-anywhere")},
		{"a container engine that does not run", shell("echo 'docker: Cannot connect to the Docker daemon at unix:///none' >&2; exit 125")},
		{"a signal", shell("kill -9 $$")},
		{"any other exit status", shell("exit 3")},
		{"exit status 0", shell("exit 0")},
		{string(Timeout), shell("exec sleep 60")},
	} {
		t.Run("connect/"+tt.cause, func(t *testing.T) {
			timeouts := config.Timeouts{}
			if tt.cause == string(Timeout) {
				timeouts.Connect = 100 * time.Millisecond
			}
			want(t, config.Server{Transport: tt.t, Timeouts: timeouts}, tt.cause, false)
		})
	}
	t.Run("connect/single", func(t *testing.T) {
		server := config.Server{Transport: shell("exit 0"), Single: true}
		want(t, server, "a server that runs once in a cluster, in another command", false)
	})
	t.Run("call/the process ended", func(t *testing.T) {
		const answers = `read x; echo '{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}'; read x; exit 3`
		want(t, config.Server{Transport: shell(answers)}, "the process ended during the call", true)
		method = "prompts/get"
		want(t, config.Server{Transport: shell(answers)}, "a process that ended after it was connected", true)
		hangsUp := rawModern(func(http.ResponseWriter, rawRequest) { panic(http.ErrAbortHandler) })
		want(t, config.Server{Transport: config.HTTP{URL: serve(t, hangsUp)}}, "the connection ended during another request", true)
	})
	e := NewEndpoint(config.Server{ID: "s", Transport: config.Stdio{Command: "no-such-command-anywhere"}}, nil)
	defer e.Close()
	failed := e.Open(context.Background())
	_, err := e.Invoke(t.Context(), "x", nil)
	var why, f *Fault
	if !errors.As(failed, &why) || !errors.As(err, &f) || f.Kind != NotConnected || f.Advice() != why.Advice() {
		t.Errorf("not connected: %v", err)
	}
}
