package conn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/protocol"
)

// rawSSE returns a server of HTTP+SSE. It does the handshake itself and passes other requests to h. send writes to the
// stream; "" ends the stream.
func rawSSE(endpoint string, h func(w http.ResponseWriter, r rawRequest, send func(string))) http.Handler {
	stream := make(chan string, 100)
	send := func(s string) { stream <- s }
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		if hr.Method == http.MethodGet {
			rawEvents(w, ": welcome\n\nevent: endpoint\ndata: "+endpoint+"\n\n")
			for {
				select {
				case s := <-stream:
					if s == "" {
						return
					}
					rawEvents(w, s)
				case <-hr.Context().Done():
					return
				}
			}
		}
		switch r := readRequest(hr); r.Method {
		case protocol.MethodInitialize:
			send(fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{}}}\n\n", r.ID))
			w.WriteHeader(202)
		case protocol.NoteInitialized:
			w.WriteHeader(202)
		default:
			h(w, r, send)
		}
	})
}

func mustDialSSE(t *testing.T, o dialOptions) Conn {
	t.Helper()
	c, h, err := dialSSE(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if h.Version != "2024-11-05" || h.Era != protocol.Legacy {
		t.Errorf("handshake = %+v", h)
	}
	t.Cleanup(c.Close)
	return c
}

func TestSSEEndpoint(t *testing.T) {
	for _, tt := range []struct{ endpoint, path string }{
		{"/messages?s=1", "/messages?s=1"}, {"messages", "/a/messages"}, {"?s=1", "/a/sse?s=1"}, {"ORIGIN/m", "/m"},
		{"https://elsewhere.example/m", ""}, {"//elsewhere.example/m", ""}, {"http://127.0.0.1:1/m", ""}, {":bad", ""}, {"file:///etc", ""},
	} {
		t.Run(tt.endpoint, func(t *testing.T) {
			noLeaks(t)
			paths := make(chan string, 10)
			var origin string
			origin = serve(t, http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
				rawSSE(strings.ReplaceAll(tt.endpoint, "ORIGIN", origin), func(w http.ResponseWriter, r rawRequest, send func(string)) {}).ServeHTTP(w, hr)
				if hr.Method == http.MethodPost {
					paths <- hr.URL.String()
				}
			}))
			// Each request gets a server of its own, so that there is no handshake.
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.path != "" {
				go func() {
					defer cancel()
					if got := <-paths; got != tt.path {
						t.Errorf("posted to %s", got)
					}
				}()
			}
			_, _, err := dialSSE(ctx, dialOptions{url: origin + "/a/sse", headers: http.Header{"X-Key": {"k"}}})
			var bad *ProtocolError
			if tt.path == "" && (!errors.As(err, &bad) || len(paths) > 0) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestSSEFailures(t *testing.T) {
	noLeaks(t)
	c := mustDialSSE(t, dialOptions{max: 1000, url: serve(t, rawSSE("/m", func(w http.ResponseWriter, r rawRequest, send func(string)) {
		switch {
		case strings.Contains(string(r.Params), "500"):
			http.Error(w, "boom", 500)
			return
		case strings.Contains(string(r.Params), "long"):
			send(fmt.Sprintf("data: {\"id\":%s,\"jsonrpc\":\"2.0\",\"result\":%q}\n\n", r.ID, strings.Repeat("x", 2000)))
		case strings.Contains(string(r.Params), "broken"):
			send(fmt.Sprintf("data: {\"id\":%s,\"jsonrpc\":\"2.0\",\"result\":{,}}\n\n", r.ID))
		case strings.Contains(string(r.Params), "noise"):
			send("data: noise\n\nevent: ping\ndata: x\n\n" + resultOf(r.ID, "ok"))
		case strings.Contains(string(r.Params), "end"):
			send("")
		}
		w.WriteHeader(202)
		io.WriteString(w, "Accepted")
	}))})
	var he *HTTPError
	var bad *ProtocolError
	var lost *LostError
	if _, err := c.Call(t.Context(), toolCall(protocol.Legacy, "500", `{}`, 0)); !errors.As(err, &he) ||
		he.Status != 500 || errors.As(err, &lost) {
		t.Errorf("500: %v", err)
	}
	for _, name := range []string{"long", "broken"} {
		if _, err := c.Call(t.Context(), toolCall(protocol.Legacy, name, `{}`, 0)); !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := c.Call(t.Context(), toolCall(protocol.Legacy, "noise", `{}`, 0)); err != nil ||
		string(got) != `{"text":"ok"}` {
		t.Errorf("noise: %s, %v", got, err)
	}
	if c.Err() != nil {
		t.Errorf("died: %v", c.Err())
	}
	if _, err := c.Call(t.Context(), toolCall(protocol.Legacy, "end", `{}`, 0)); !errors.As(err, &lost) {
		t.Errorf("end: %v", err)
	}
	waitFor(t, c.Done(), "done")
}

func TestSSEIsNotThere(t *testing.T) {
	noLeaks(t)
	for name, tt := range map[string]struct {
		h    http.Handler
		text string
	}{
		"not found":     {respondAlways(404, "text/plain", "nothing"), "HTTP 404 Not Found: nothing"},
		"no stream":     {respondAlways(200, "text/html", "<html>"), `type "text/html"`},
		"other stream":  {respondAlways(200, "text/event-stream", "data: {}\n\n"), "a stream of events without its endpoint"},
		"many others":   {respondAlways(200, "text/event-stream", strings.Repeat("data: {}\n\n", 101)+"event: endpoint\ndata: /m\n\n"), "a stream of events without its endpoint"},
		"ends at once":  {respondAlways(200, "text/event-stream", ""), "ended before"},
		"refuses posts": {rawSSEWithoutPosts(), "HTTP 403"},
	} {
		if _, _, err := dialSSE(t.Context(), dialOptions{url: serve(t, tt.h)}); err == nil ||
			!strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func rawSSEWithoutPosts() http.Handler {
	h := rawSSE("/m", nil)
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		if hr.Method == http.MethodPost {
			w.WriteHeader(403)
			return
		}
		h.ServeHTTP(w, hr)
	})
}

func TestSSEWithoutAnEndpointEvent(t *testing.T) {
	noLeaks(t)
	s, err := newHTTPServer(URL{URL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		rawEvents(w, ": nothing to say\n\n")
		<-hr.Context().Done()
	}))}, Options{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	var bad *ProtocolError
	if _, _, err := openSSE(t.Context(), s, 20*time.Millisecond); !errors.As(err, &bad) ||
		!strings.Contains(err.Error(), "no endpoint event within 20ms") {
		t.Errorf("err = %v", err)
	}
}

// Events before the endpoint are left out, as SDK 1 of TypeScript does.
func TestSSEEventsBeforeTheEndpoint(t *testing.T) {
	noLeaks(t)
	for _, before := range []string{"data: {}\n\n", "event: ping\ndata: x\n\n", "data: {\"jsonrpc\":\"2.0\",\"method\":\"hello\"}\n\n", "data: hello\n\n"} {
		inner := rawSSE("/m", nil)
		c := mustDialSSE(t, dialOptions{url: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				rawEvents(w, before)
			}
			inner.ServeHTTP(w, r)
		}))})
		c.Close()
	}
}

// A refused stream is not read any more, because its requests could not be answered.
func TestSSEAsksBesideABadEndpoint(t *testing.T) {
	noLeaks(t)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rawEvents(w, "event: endpoint\ndata: https://elsewhere.example/\n\n"+strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n", 100))
		<-r.Context().Done()
	}))
	for range 50 {
		var bad *ProtocolError
		if _, _, err := dialSSE(t.Context(), dialOptions{url: url}); !errors.As(err, &bad) {
			t.Fatalf("err = %v", err)
		}
	}
}

// A refused request of the server has an id of the server, so it answers no call.
func TestABrokenRequestAnswersNoCall(t *testing.T) {
	noLeaks(t)
	c := mustDialSSE(t, dialOptions{max: 1000, url: serve(t, rawSSE("/m", func(w http.ResponseWriter, r rawRequest, send func(string)) {
		if r.ID != nil {
			for _, params := range []string{`{,}`, fmt.Sprintf("%q", strings.Repeat("x", 2000))} {
				send(fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"sampling/createMessage\",\"params\":%s}\n\n", r.ID, params))
			}
			send(resultOf(r.ID, "ok"))
		}
		w.WriteHeader(202)
	}))})
	if got, err := c.Call(t.Context(), toolCall(protocol.Legacy, "ask", `{}`, 0)); err != nil ||
		string(got) != `{"text":"ok"}` || c.Noise() != 2 {
		t.Errorf("%s, %v, %d", got, err, c.Noise())
	}
}

// A call that is cancelled while its message is being sent does not end the request with the message. Otherwise the
// next request on the connection would get its error.
func TestACancelledCallOverSSELeavesItsConnectionToOthers(t *testing.T) {
	noLeaks(t)
	inner := newSDKServer().sse()
	ctx, cancel := context.WithCancel(t.Context())
	cut := make(chan bool, 1)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if !bytes.Contains(body, []byte("tools/call")) {
			r.Body = io.NopCloser(bytes.NewReader(body))
			inner.ServeHTTP(w, r)
			return
		}
		cancel()
		select {
		case <-r.Context().Done():
			cut <- true
		case <-time.After(httpAnswerWait / 5):
			w.WriteHeader(http.StatusAccepted)
			cut <- false
		}
	}))
	c, _, err := dialSSE(t.Context(), dialOptions{url: url})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Call(ctx, toolCall(protocol.Legacy, "echo", `{}`, 0)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if <-cut {
		t.Error("the request was cut off")
	}
}
