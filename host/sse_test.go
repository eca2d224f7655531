package host_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sseClient is a raw client over HTTP+SSE.
type sseClient struct {
	*events
	t    *testing.T
	site *httptest.Server
	path string // the path for messages
	end  context.CancelFunc
}

func openSSE(t *testing.T, site *httptest.Server, header map[string]string) *sseClient {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, site.URL+"/sse?x=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := site.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	c := &sseClient{events: &events{t: t, body: resp.Body}, t: t, site: site, end: func() { cancel(); resp.Body.Close() }}
	t.Cleanup(c.end)
	c.path = c.next()
	if !strings.HasPrefix(c.path, "/sse?sessionId=") {
		t.Fatal(c.path)
	}
	return c
}

// post sends a message and returns the status and the body.
func (c *sseClient) post(body string, header map[string]string) (int, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.site.URL+c.path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := c.site.Client().Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// sseSite serves both transports, each at its path.
func sseSite(t *testing.T, src toolbox.Source, opts *host.Options) *httptest.Server {
	h := newHost(t, src, opts)
	mux := http.NewServeMux()
	mux.Handle("/sse", h.SSEHandler())
	mux.Handle("/mcp", h.Handler())
	return siteOf(t, h, mux)
}

func TestHTTPAndSSEToTheByte(t *testing.T) {
	g := newHeldTool()
	c := openSSE(t, sseSite(t, g, nil), nil)
	post := func(body string, status int, answer string) {
		t.Helper()
		if got, text := c.post(body, nil); got != status || got == 202 && text != "" {
			t.Errorf("%s: %d %s", body, got, text)
		}
		if answer == "" {
			return
		}
		if got := c.next(); got != answer {
			t.Errorf("%s: %s, want %s", body, got, answer)
		}
	}
	post(strings.ReplaceAll(initializeLine, "%s", "2024-11-05"), 202,
		`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"indus-provider-host","version":"0.1.0"}}}`)
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, "")
	post(`{"jsonrpc":"2.0","id":"a","method":"ping"}`, 202, `{"jsonrpc":"2.0","id":"a","result":{}}`)
	go func() {
		call := <-g.begun
		call.Progress(toolbox.Progress{Done: 1})
	}()
	post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"p"}}}`, 202,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`)
	post(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, 400, "") // it is in flight
	post(`{"jsonrpc":"2.0","id":3,"method":"ping"}`, 202, `{"jsonrpc":"2.0","id":3,"result":{}}`)
	g.free <- struct{}{}
	if got := c.next(); got != `{"jsonrpc":"2.0","id":2,"result":`+doneResult+`}` {
		t.Error(got)
	}
	post(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t"}}`, 202, "")
	<-g.begun
	post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`, 202, "")
	<-g.ended
	if err := <-g.ended; err == nil {
		t.Error("the call was not cancelled")
	}
	post(`{"jsonrpc":"2.0","id":1,"result":{}}`, 202, "")
	post(`{"jsonrpc"`, 400, "")
	post(`{"jsonrpc":"2.0","id":5,"method":"ping"}`, 202, `{"jsonrpc":"2.0","id":5,"result":{}}`)
}

// A proxy removes a prefix of the path, and says so in a header or by its Host.
func TestHTTPAndSSEBehindAPrefix(t *testing.T) {
	t.Parallel()
	site := sseSite(t, echoTool(), nil)
	to, err := url.Parse(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, rewrite := range map[string]func(r *httputil.ProxyRequest){
		"a header": func(r *httputil.ProxyRequest) { r.SetXForwarded() },
		"a Host":   func(r *httputil.ProxyRequest) { r.Out.Host = "127.0.0.1" },
	} {
		t.Run(name, func(t *testing.T) {
			proxy := httptest.NewServer(http.StripPrefix("/indus", &httputil.ReverseProxy{
				Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); rewrite(r) }, FlushInterval: -1,
			}))
			defer proxy.Close()
			c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
			s, err := c.Connect(t.Context(), &mcp.SSEClientTransport{Endpoint: proxy.URL + "/indus/sse"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Ping(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHTTPAndSSEIsAsStrict(t *testing.T) {
	site := sseSite(t, echoTool(), &host.Options{Authenticate: callerFromHeader, MaxMessage: 200})
	alice := map[string]string{"X-User": "alice"}
	c := openSSE(t, site, alice)
	streamable := sessionOf(t, site, "alice")
	_, id, _ := strings.Cut(c.path, "=")
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	post := func(path string, header map[string]string) (int, string) {
		other := *c
		other.path = path
		return other.post(ping, header)
	}
	for name, test := range map[string]struct {
		path   string
		header map[string]string
		status int
	}{
		"its own":                        {c.path, alice, 202},
		"another principal's":            {c.path, map[string]string{"X-User": "bob"}, 404},
		"nobody's":                       {c.path, nil, 404},
		"altered":                        {c.path[:len(c.path)-3] + "AAA", alice, 404},
		"of streamable HTTP":             {"/sse?sessionId=" + streamable, alice, 404},
		"none":                           {"/sse", alice, 405},
		"used for streamable HTTP":       {"/mcp", map[string]string{"X-User": "alice", "Mcp-Session-Id": id}, 404},
		"from a foreign page":            {c.path, map[string]string{"X-User": "alice", "Origin": "https://evil.example"}, 403},
		"as text":                        {c.path, map[string]string{"X-User": "alice", "Content-Type": "text/plain"}, 415},
		"with a modern version, ignored": {c.path, map[string]string{"X-User": "alice", "Mcp-Protocol-Version": "2026-07-28"}, 202},
	} {
		got, body := post(test.path, test.header)
		if got != test.status {
			t.Errorf("%s: %d %s", name, got, body)
		}
		if got != 202 {
			continue
		}
		if answer := c.next(); answer != `{"jsonrpc":"2.0","id":1,"result":{}}` { // until then, the id is in flight
			t.Errorf("%s: %s", name, answer)
		}
	}
	if got, body := c.post(`{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("x", 200)+`"}`, alice); got != 413 {
		t.Error(got, body)
	}
	if got, body := c.post(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, alice); got != 202 {
		t.Fatal(got, body)
	}
	if got := c.next(); got != `{"jsonrpc":"2.0","id":2,"result":{}}` { // refused requests were not answered here
		t.Error(got)
	}
	for name, test := range map[string]struct {
		r      request
		status int
	}{
		"a foreign page": {request{method: http.MethodGet, header: map[string]string{"Origin": "https://evil.example"}}, 403},
		"a foreign host": {request{method: http.MethodGet, host: "evil.example"}, 403},
		"no stream":      {request{method: http.MethodGet, header: map[string]string{"Accept": "application/json"}}, 406},
		"another method": {request{method: http.MethodDelete}, 405},
	} {
		h := newHost(t, echoTool(), nil).SSEHandler()
		if w := serveDirect(h, "127.0.0.1:7332", cmp.Or(test.r.host, "localhost"), test.r); w.Code != test.status {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestTheStreamsEndIsTheSessions(t *testing.T) {
	g := newHeldTool()
	site := sseSite(t, g, &host.Options{MaxInFlight: 3, MaxSessions: 2})
	c, other := openSSE(t, site, nil), openSSE(t, site, nil)
	const call = `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"t"}}`
	if got, body := c.post(strings.ReplaceAll(call, "%s", "1"), nil); got != 202 {
		t.Fatal(got, body)
	}
	<-g.begun
	if got, _ := c.post(strings.ReplaceAll(call, "%s", "2"), nil); got != 429 { // two streams and a call
		t.Error(got)
	}
	c.end()
	if err := <-g.ended; err == nil || !strings.Contains(err.Error(), "the session has ended") {
		t.Errorf("the call goes on: %v", err)
	}
	got, body := c.post(strings.ReplaceAll(call, "%s", "3"), nil)
	for got == 429 { // the ended requests may still be counted
		got, body = c.post(strings.ReplaceAll(call, "%s", "3"), nil)
	}
	if got != 404 {
		t.Error(got, body)
	}
	if got, _ := other.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil); got != 202 || other.next() == "" {
		t.Error(got)
	}
}

// TestOurOwnEndpointOverHTTPAndSSE connects with the transport given, and with the transport found out.
func TestOurOwnEndpointOverHTTPAndSSE(t *testing.T) {
	site := sseSite(t, echoTool(), nil)
	for name, transport := range map[string]config.TransportConfig{
		"pinned": config.SSE{URL: site.URL + "/sse"}, "found out": config.HTTP{URL: site.URL + "/sse"},
	} {
		e := interop.NewEndpoint(config.Server{ID: "s", Transport: transport}, nil)
		t.Cleanup(func() { e.Close() })
		if err := e.Open(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := e.Do(t.Context(), interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"t","arguments":{"a":1}}`)})
		if err != nil || !strings.Contains(string(got), `{\"a\":1}`) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestTheInspectorOverHTTPAndSSE uses the client of the TypeScript SDK.
func TestTheInspectorOverHTTPAndSSE(t *testing.T) {
	t.Parallel()
	site := sseSite(t, conformanceToolbox(), nil)
	out, err := peers.Inspector(t, site.URL+"/sse", "--transport", "sse", "--quiet",
		"--method", "tools/call", "--tool-name", "test_header_param", "--tool-arg", "region=us-west1")
	if err != nil || !strings.Contains(out, "us-west1") {
		t.Error(out, err)
	}
}
