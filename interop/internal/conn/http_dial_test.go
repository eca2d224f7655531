package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// recorder records the requests to a server: "POST initialize", "GET", …
type recorder struct {
	mu   sync.Mutex
	list []string
}

func (r *recorder) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		what := hr.Method
		if hr.Method == http.MethodPost {
			body, _ := io.ReadAll(hr.Body)
			hr.Body = io.NopCloser(strings.NewReader(string(body)))
			clone := hr.Clone(hr.Context())
			clone.Body = io.NopCloser(strings.NewReader(string(body)))
			what += " " + readRequest(clone).Method
		}
		r.mu.Lock()
		r.list = append(r.list, what)
		r.mu.Unlock()
		h.ServeHTTP(w, hr)
	})
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.list, ", ")
}

// respondAlways returns a handler that gives every request the same answer.
func respondAlways(status int, typ, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", typ)
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

const (
	discoverRequestLine = "POST server/discover"
	handshakeRequests   = "POST initialize, POST notifications/initialized"
)

func TestHTTPNegotiation(t *testing.T) {
	sdk := func(o mcp.StreamableHTTPOptions) http.Handler { return newSDKServer().http(o) }
	discoverAnswer := func(status int, body string) http.Handler {
		legacy := rawLegacy(`{}`, func(w http.ResponseWriter, _ rawRequest) { w.WriteHeader(202) })
		return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
			if hr.Header.Get(protocol.HeaderMethod) != protocol.MethodDiscover {
				legacy.ServeHTTP(w, hr)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
	}
	first := func(bad, then http.Handler) http.Handler {
		var once sync.Once
		return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
			h := then
			once.Do(func() { h = bad })
			h.ServeHTTP(w, hr)
		})
	}
	for name, tt := range map[string]struct {
		h         http.Handler
		o         dialOptions
		version   string // "" if no step succeeds
		requested string
		status    int    // of the first HTTPError
		text      string // in the error
	}{
		"modern":                {h: sdk(mcp.StreamableHTTPOptions{Stateless: true}), version: protocol.VersionModern, requested: discoverRequestLine},
		"modern, hint modern":   {h: sdk(mcp.StreamableHTTPOptions{Stateless: true}), o: dialOptions{era: protocol.Modern}, version: protocol.VersionModern, requested: discoverRequestLine},
		"modern, pinned legacy": {h: sdk(mcp.StreamableHTTPOptions{Stateless: true}), o: dialOptions{pin: protocol.Legacy}, version: protocol.VersionLegacy, requested: handshakeRequests},
		"legacy":                {h: sdk(mcp.StreamableHTTPOptions{}), version: protocol.VersionLegacy, requested: discoverRequestLine + ", " + handshakeRequests},
		"legacy, hint":          {h: sdk(mcp.StreamableHTTPOptions{}), o: dialOptions{era: protocol.Legacy}, version: protocol.VersionLegacy, requested: handshakeRequests},
		"legacy, pinned modern": {h: sdk(mcp.StreamableHTTPOptions{}), o: dialOptions{pin: protocol.Modern}, requested: discoverRequestLine, text: "server/discover: "},
		"sse":                   {h: newSDKServer().sse(), version: protocol.VersionLegacy, requested: discoverRequestLine + ", POST initialize, GET, " + handshakeRequests},
		"sse, hint legacy":      {h: newSDKServer().sse(), o: dialOptions{era: protocol.Legacy}, version: protocol.VersionLegacy, requested: "POST initialize, " + discoverRequestLine + ", GET, " + handshakeRequests},
		"only modern, hint legacy": {h: rawModern(func(w http.ResponseWriter, _ rawRequest) {
			http.Error(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`, 404)
		}), o: dialOptions{era: protocol.Legacy}, version: protocol.VersionModern, requested: "POST initialize, " + discoverRequestLine},
		"discover answered with nothing": {h: discoverAnswer(200, `{"jsonrpc":"2.0","id":1,"result":{}}`), version: "2025-06-18", requested: discoverRequestLine + ", " + handshakeRequests},
		"discover not found":             {h: discoverAnswer(200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`), version: "2025-06-18", requested: discoverRequestLine + ", " + handshakeRequests},
		"discover crashes it":            {h: discoverAnswer(500, `Internal Server Error`), version: "2025-06-18", requested: discoverRequestLine + ", " + handshakeRequests},
		"discover forbidden":             {h: discoverAnswer(403, `method not allowed by policy`), version: "2025-06-18", requested: discoverRequestLine + ", " + handshakeRequests},
		"discover of other versions":     {h: discoverAnswer(400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2099-01-01","2025-03-26"]}}}`), version: "2025-06-18", requested: discoverRequestLine + ", " + handshakeRequests},
		"result of other versions":       {h: discoverAnswer(200, `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-03-26"]}}`), version: "2025-06-18", requested: discoverRequestLine + ", " + handshakeRequests},
		"only a later version":           {h: discoverAnswer(400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2099-01-01"]}}}`), requested: discoverRequestLine, text: "supports only protocol versions 2099-01-01"},
		"headers refused":                {h: discoverAnswer(400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Mcp-Method is missing"}}`), requested: discoverRequestLine, status: 400, text: "Mcp-Method is missing"},
		"our version, once refused": {h: first(
			respondAlways(400, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}`),
			rawModern(nil)), version: protocol.VersionModern, requested: discoverRequestLine + ", " + discoverRequestLine},
		"unauthorized":      {h: respondAlways(401, "text/plain", "who are you?"), requested: discoverRequestLine, status: 401, text: "who are you?"},
		"forbidden":         {h: respondAlways(403, "text/plain", "not you"), requested: discoverRequestLine + ", POST initialize", status: 403, text: "not you"},
		"too many requests": {h: respondAlways(429, "text/plain", "later"), requested: discoverRequestLine, status: 429},
		"not found":         {h: respondAlways(404, "text/plain", "nothing here"), requested: discoverRequestLine + ", POST initialize, GET", status: 404, text: "nothing here"},
		"down":              {h: respondAlways(503, "text/plain", "maintenance"), requested: discoverRequestLine + ", POST initialize", status: 503},
		"a website":         {h: respondAlways(200, "text/html", "<html>hello</html>"), requested: discoverRequestLine + ", POST initialize, GET", status: 200, text: `type "text/html"`},
		"a login page":      {h: http.RedirectHandler("https://login.example/", http.StatusFound), requested: discoverRequestLine, status: 302, text: "redirects to https://login.example/"},
		"refuses our version": {h: http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
			switch r := readRequest(hr); {
			case r.Method == protocol.MethodInitialize && strings.Contains(string(r.Params), `"2025-03-26"`):
				rawAnswer(w, r, `{"protocolVersion":"2025-03-26","capabilities":{}}`)
			case r.Method == protocol.NoteInitialized:
				rawAnswer(w, r, `{}`)
			default:
				http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2025-03-26"]}}}`, 400)
			}
		}), version: "2025-03-26", requested: discoverRequestLine + ", POST initialize, " + handshakeRequests},
		"a version of its own": {h: http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
			if r := readRequest(hr); r.Method == protocol.MethodInitialize {
				rawAnswer(w, r, `{"protocolVersion":"1.0","capabilities":{}}`)
				return
			}
			http.NotFound(w, hr)
		}), requested: discoverRequestLine + ", POST initialize", status: 404, text: "initialize: protocol: a version that is not ours: the server supports only protocol versions 1.0"},
		"notifications/initialized refused": {h: http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
			if r := readRequest(hr); r.Method == protocol.MethodInitialize {
				rawAnswer(w, r, `{"protocolVersion":"2025-06-18","capabilities":{}}`)
				return
			}
			w.WriteHeader(400)
		}), requested: discoverRequestLine + ", " + handshakeRequests, status: 400, text: "notifications/initialized, server/discover: HTTP 400 Bad Request"},
		"an endpoint of another origin": {h: http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
			if hr.Method == http.MethodPost {
				http.NotFound(w, hr)
				return
			}
			rawEvents(w, "event: endpoint\ndata: https://elsewhere.example/\n\n")
		}), requested: discoverRequestLine + ", POST initialize, GET", status: 404, text: "HTTP+SSE: protocol: an endpoint of another origin: https://elsewhere.example (initialize, server/discover: HTTP 404"},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			var rec recorder
			s := httptest.NewServer(rec.wrap(tt.h))
			defer s.Close()
			tt.o.url = s.URL
			ctx, cancel := context.WithTimeout(t.Context(), testPatience)
			defer cancel()
			c, h, err := dialHTTP(ctx, tt.o)
			requested := rec.String()
			if err == nil {
				c.Close()
			}
			requested, _, _ = strings.Cut(requested, handshakeRequests+", GET")
			if !strings.HasPrefix(requested, tt.requested) && requested+handshakeRequests != tt.requested {
				t.Errorf("asked: %s", requested)
			}
			if tt.version != "" {
				era := protocol.Legacy
				if tt.version == protocol.VersionModern {
					era = protocol.Modern
				}
				if err != nil || h.Version != tt.version || h.Era != era {
					t.Errorf("%+v, %v", h, err)
				}
				return
			}
			if err == nil {
				t.Fatalf("connected: %+v", h)
			}
			var he *HTTPError
			if errors.As(err, &he); he == nil && tt.status != 0 || he != nil && he.Status != tt.status {
				t.Errorf("HTTPError = %v", he)
			}
			if !strings.Contains(err.Error(), tt.text) || len(err.Error()) > 700 {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestHTTPNobodyThere(t *testing.T) {
	noLeaks(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	tls := httptest.NewTLSServer(respondAlways(200, "", ""))
	defer tls.Close()
	plain := httptest.NewServer(respondAlways(200, "", ""))
	defer plain.Close()
	for name, url := range map[string]string{
		"refused":     gone.URL,
		"certificate": tls.URL,
		"no TLS":      strings.Replace(plain.URL, "http:", "https:", 1),
		"no host":     "http:///mcp",
		"no scheme":   "localhost:80",
		"no URL":      "http://a b/secret",
	} {
		c, _, err := dialHTTP(t.Context(), dialOptions{url: url})
		host := strings.TrimPrefix(gone.URL, "http://")
		if c != nil || err == nil || strings.Count(err.Error(), host) > 1 || strings.Contains(err.Error(), "initialize") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := dialSSE(t.Context(), dialOptions{url: url}); err == nil {
			t.Errorf("%s: SSE connected", name)
		}
	}
}

func TestHTTPSilentProbe(t *testing.T) {
	silent := func(h http.Handler, times int) http.Handler {
		var mu sync.Mutex
		return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
			mu.Lock()
			quiet := hr.Header.Get(protocol.HeaderMethod) == protocol.MethodDiscover && times > 0
			if quiet {
				times--
			}
			mu.Unlock()
			if quiet {
				io.Copy(io.Discard, hr.Body) // only then net/http notices that the client has disconnected
				<-hr.Context().Done()
				return
			}
			h.ServeHTTP(w, hr)
		})
	}
	for name, tt := range map[string]struct {
		h   http.Handler
		era protocol.Era
	}{
		"a legacy server that ignores it": {silent(rawLegacy(`{}`, func(http.ResponseWriter, rawRequest) {}), 100), protocol.Legacy},
		"a modern server that is slow at first": {silent(rawModern(func(w http.ResponseWriter, _ rawRequest) {
			http.Error(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, 404)
		}), 1), protocol.Modern},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			_, h := mustDial(t, dialOptions{url: serve(t, tt.h), probe: 50 * time.Millisecond})
			if h.Era != tt.era || h.Unprobed != (tt.era == protocol.Legacy) {
				t.Errorf("%+v", h)
			}
		})
	}
}

// signIn signs in after a refusal, which takes longer than a silent server/discover.
type signIn struct {
	http.RoundTripper
	time time.Duration
}

func (s signIn) RoundTrip(r *http.Request) (*http.Response, error) {
	if res, err := s.RoundTripper.RoundTrip(r); err != nil || res.StatusCode != http.StatusUnauthorized {
		return res, err
	}
	select {
	case <-time.After(s.time):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	r = r.Clone(r.Context())
	r.Body, _ = r.GetBody()
	return bearer{s.RoundTripper}.RoundTrip(r)
}

func TestHTTPSignInDuringProbe(t *testing.T) {
	noLeaks(t)
	const wait = 50 * time.Millisecond
	var requests recorder
	modern := rawModern(nil)
	u, o := dialOptions{probe: wait, url: serve(t, requests.wrap(http.HandlerFunc(
		func(w http.ResponseWriter, hr *http.Request) {
			if hr.Header.Get("Authorization") == "" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			modern.ServeHTTP(w, hr)
		})))}.split()
	u.Wrap = func(base http.RoundTripper) http.RoundTripper { return signIn{base, 4 * wait} }
	c, _, err := DialHTTP(t.Context(), u, o)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if got := requests.String(); got != discoverRequestLine+", "+discoverRequestLine {
		t.Error(got)
	}
}

func TestHTTPDialEndsWithItsContext(t *testing.T) {
	for _, dial := range []func(context.Context, dialOptions) (Conn, Handshake, error){dialHTTP, dialSSE} {
		noLeaks(t)
		requested := make(chan struct{}, 1)
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, hr *http.Request) {
			io.Copy(io.Discard, hr.Body)
			requested <- struct{}{}
			<-hr.Context().Done()
		}))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-requested; cancel() }()
		if c, _, err := dial(ctx, dialOptions{url: s.URL}); c != nil || err != context.Canceled {
			t.Errorf("err = %v", err)
		}
		s.Close()
	}
}

// TestInitializedWithoutAnswer checks that the error names notifications/initialized if the time to connect ends while
// the server does not answer it.
func TestInitializedWithoutAnswer(t *testing.T) {
	noLeaks(t)
	for name, dial := range map[string]func(context.Context, dialOptions) (Conn, Handshake, error){"/mcp": dialHTTP, "/sse": dialSSE} {
		ctx, cancel := context.WithCancelCause(t.Context())
		answers := make(chan string, 1)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
			if hr.Method == http.MethodGet {
				rawEvents(w, "event: endpoint\ndata: /sse\n\n")
				rawEvents(w, "data: "+<-answers+"\n\n")
				<-hr.Context().Done()
				return
			}
			switch r := readRequest(hr); {
			case r.Method == protocol.NoteInitialized:
				cancel(&DeadlineError{After: time.Second, What: "no answer"})
				<-hr.Context().Done()
			case r.Method != protocol.MethodInitialize:
				http.NotFound(w, hr)
			case name == "/sse":
				answers <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}`, r.ID)
				w.WriteHeader(202)
			default:
				rawAnswer(w, r, `{"protocolVersion":"2025-06-18","capabilities":{}}`)
			}
		}))
		_, _, err := dial(ctx, dialOptions{url: s.URL + name})
		if err == nil || err.Error() != "notifications/initialized: no answer within 1s" {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
	}
}

func TestHTTPHeaders(t *testing.T) {
	noLeaks(t)
	var mu sync.Mutex
	var seen []http.Header
	var hosts []string
	record := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
			mu.Lock()
			seen, hosts = append(seen, hr.Header.Clone()), append(hosts, hr.Host)
			mu.Unlock()
			h.ServeHTTP(w, hr)
		})
	}
	configured := http.Header{
		"X-Key": {"k"}, "Host": {"mcp.example"}, "Authorization": {"Bearer t"},
		"Accept": {"text/plain"}, "Content-Length": {"5"}, "Mcp-Session-Id": {"forged"}, "Accept-Encoding": {"br"},
	}
	c, _ := mustDial(t, dialOptions{headers: configured, url: serve(t, record(rawModern(func(w http.ResponseWriter, r rawRequest) { rawAnswer(w, r, `{}`) })))})
	x := toolCall(protocol.Modern, "münze ", `{"r":"us-west1","e":"","o":{"t":"\tx"}}`, 0)
	x.ParamHeaders = []protocol.ParamHeader{
		{Path: []string{"r"}, Name: "Region"}, {Path: []string{"e"}, Name: "empty"}, {Path: []string{"o", "t"}, Name: "Tab"}, {Path: []string{"none"}, Name: "None"},
	}
	if _, err := c.Call(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	last := seen[len(seen)-1]
	for key, want := range map[string]string{
		"X-Key": "k", "Authorization": "Bearer t", "Accept": "application/json, text/event-stream", "Content-Type": "application/json",
		"Mcp-Protocol-Version": protocol.VersionModern, "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?bcO8bnplIA==?=", "Mcp-Session-Id": "",
		"Mcp-Param-Region": "us-west1", "Mcp-Param-Empty": "=?base64??=", "Mcp-Param-Tab": "=?base64?CXg=?=", "Accept-Encoding": "gzip",
		"User-Agent": clientInfo.Name + "/" + clientInfo.Version,
	} {
		if got := last.Values(key); strings.Join(got, "|") != want {
			t.Errorf("%s = %q", key, got)
		}
	}
	if slices.ContainsFunc(hosts, func(h string) bool { return h != "mcp.example" }) {
		t.Errorf("hosts = %q", hosts)
	}

	seen = nil
	configured["Accept-Encoding"], configured["User-Agent"] = []string{"identity"}, []string{"MyCompany/1.0"}
	legacy, _ := mustDial(t, dialOptions{headers: configured, url: serve(t, record(rawLegacy(`{}`, func(w http.ResponseWriter, r rawRequest) { rawAnswer(w, r, `{}`) })))})
	if _, err := legacy.Call(t.Context(), toolCall(protocol.Legacy, "x", `{}`, 0)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{protocol.VersionModern + "|", "|", "2025-06-18|s1", "2025-06-18|s1"} {
		if got := fmt.Sprintf("%s|%s", seen[i].Get(protocol.HeaderVersion), seen[i].Get(protocol.HeaderSession)); got != want {
			t.Errorf("request %d: %s", i, got)
		}
		if agent, coding := seen[i].Get("User-Agent"), seen[i].Get("Accept-Encoding"); agent != "MyCompany/1.0" || coding != "identity" {
			t.Errorf("request %d: %s, %s", i, agent, coding)
		}
	}
}

func TestHTTPRedirectCarriesNothingAway(t *testing.T) {
	noLeaks(t)
	stolen := make(chan struct{}, 10)
	thief := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen <- struct{}{} }))
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := httptest.NewServer(http.RedirectHandler(thief, status))
		for _, dial := range []func(context.Context, dialOptions) (Conn, Handshake, error){dialHTTP, dialSSE} {
			_, _, err := dial(t.Context(), dialOptions{url: s.URL, headers: http.Header{"X-Key": {"k"}}, client: &http.Client{Transport: s.Client().Transport}})
			var he *HTTPError
			if !errors.As(err, &he) || he.Status != status {
				t.Errorf("%d: %v", status, err)
			}
		}
		s.Close()
	}
	if len(stolen) > 0 {
		t.Error("the other origin was asked")
	}
}
