package conn

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/internal/protocol"
)

// bearer adds a credential that is not in the configuration to requests, as a sign-in does.
type bearer struct{ http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer the-token-of-a-sign-in")
	return b.RoundTripper.RoundTrip(r)
}

// echoOverSSE returns a server with errors that contain the credential of the request.
func echoOverSSE(t *testing.T) *httptest.Server {
	out := make(chan string, 4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		if hr.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "event: endpoint\ndata: /post\n\n")
			for {
				_ = http.NewResponseController(w).Flush()
				select {
				case text := <-out:
					fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
				case <-hr.Context().Done():
					return
				}
			}
		}
		w.WriteHeader(http.StatusAccepted)
		switch r := readRequest(hr); r.Method {
		case protocol.MethodInitialize:
			out <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"raw","version":"1"}}}`, r.ID)
		case "refused":
			out <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"not with %s"}}`, r.ID,
				hr.Header.Get("Authorization"))
		case "repeated":
			out <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"with":%q}}`, r.ID, hr.Header.Get("Authorization"))
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestCredentialThatIsSaidBackOverSSE(t *testing.T) {
	t.Parallel()
	c, _, err := dialSSE(t.Context(), dialOptions{url: echoOverSSE(t).URL, client: &http.Client{Transport: bearer{http.DefaultTransport}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wantMasked := func(c Conn) {
		t.Helper()
		if _, err := c.Call(t.Context(), Request{Method: "refused"}); err == nil ||
			strings.Contains(err.Error(), "the-token") || !strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
		if result, err := c.Call(t.Context(), Request{Method: "repeated"}); err != nil ||
			!strings.HasPrefix(string(result), `{"with":"Bearer <secret: `) {
			t.Errorf("%s: %v", result, err)
		}
	}
	wantMasked(c)
	// A credential that was renewed after the stream was opened is masked too, also after several
	// renewals.
	u, o := dialOptions{url: echoOverSSE(t).URL}.split()
	u.Wrap = func(base http.RoundTripper) http.RoundTripper { return &renewingTransport{base: base} }
	again, _, err := DialSSE(t.Context(), u, o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for range 32 {
		wantMasked(again)
	}
}

// renewingTransport uses another credential for each request.
type renewingTransport struct {
	base http.RoundTripper
	n    atomic.Int64
}

func (b *renewingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", fmt.Sprintf("Bearer the-token-%08d", b.n.Add(1)))
	return b.base.RoundTrip(r)
}

// A request that resumes an answer has the same forwarded headers as the call.
func TestForwardedHeadersOfAResumedAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(rawLegacy(`{}`, func(w http.ResponseWriter, r rawRequest) {
		switch {
		case r.HTTP.Method == http.MethodGet && r.HTTP.Header.Get("X-Who") != "anna", r.HTTP.Method == http.MethodDelete:
			w.WriteHeader(http.StatusUnauthorized)
		case r.HTTP.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", r.HTTP.Header.Get("Last-Event-Id"))
		case r.Method == "cut":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: %s\nretry: 1\ndata:\n\n", r.ID)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer server.Close()
	u, o := dialOptions{url: server.URL}.split()
	u.Forwards = true
	c, _, err := DialHTTP(t.Context(), u, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Call(WithHeader(t.Context(), http.Header{"X-Who": {"anna"}}), Request{Method: "cut"}); err != nil {
		t.Error(err)
	}
}

// If a server repeats the credential of a request, it is masked everywhere.
func TestCredentialThatIsSaidBack(t *testing.T) {
	t.Parallel()
	message := func(w http.ResponseWriter, r rawRequest) {
		own := r.HTTP.Header.Get("Authorization")
		failed := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"not with %s","data":{"was":%q}}}`,
			r.ID, own, own)
		switch r.Method {
		case "json":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, failed)
		case "stream":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\n", failed)
		case "page":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, own)
		case "result":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete" , "with":%q}}`, r.ID, own)
		case "redirect":
			w.Header().Set("Location", "https://other.example/"+strings.TrimPrefix(own, "Bearer "))
			w.WriteHeader(http.StatusTemporaryRedirect)
		case "refusal":
			http.Error(w, failed, http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}
	for name, handler := range map[string]http.Handler{"modern": rawModern(message), "legacy": rawLegacy(`{}`, message)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(handler)
			defer server.Close()
			u, o := dialOptions{url: server.URL}.split()
			u.Wrap = func(base http.RoundTripper) http.RoundTripper { return bearer{base} }
			c, _, err := DialHTTP(t.Context(), u, o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if got, err := c.Call(t.Context(), Request{Method: "result"}); err != nil ||
				!strings.HasPrefix(string(got), `{"resultType":"complete" , "with":"Bearer <secret: `) {
				t.Errorf("%s: %v", got, err)
			}
			for _, method := range []string{"json", "stream", "page", "redirect", "refusal"} {
				_, err := c.Call(t.Context(), Request{Method: method})
				if err == nil {
					t.Errorf("%s: no error", method)
					continue
				}
				shown := fmt.Sprintf("%v %+v", err, err)
				if rpc, ok := errors.AsType[*protocol.RPCError](err); ok {
					shown += string(rpc.Data)
				}
				if strings.Contains(shown, "the-token") || !strings.Contains(shown, "secret") {
					t.Errorf("%s: %s", method, shown)
				}
			}
		})
	}
}
