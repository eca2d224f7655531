package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/toolbox"
)

// newHost returns a host that is closed at the end of the test.
func newHost(t testing.TB, src toolbox.Source, opts *host.Options) *host.Host {
	h := host.New(src, opts)
	t.Cleanup(h.Close)
	return h
}

// newSite serves a host over a real HTTP server.
func newSite(t testing.TB, src toolbox.Source, opts *host.Options) *httptest.Server {
	return serveSite(t, newHost(t, src, opts))
}

func serveSite(t testing.TB, h *host.Host) *httptest.Server { return siteOf(t, h, h.Handler()) }

func siteOf(t testing.TB, h *host.Host, handler http.Handler) *httptest.Server {
	site := httptest.NewServer(handler)
	t.Cleanup(func() {
		h.Close() // before the server, which waits for open streams
		site.Client().CloseIdleConnections()
		site.Close()
	})
	return site
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// request is one raw HTTP request.
type request struct {
	method string // "": POST
	body   string
	header map[string]string // in addition to the usual ones; "-" removes one
	host   string
}

// modern returns a request of 2026-07-28 with its headers. name is for Mcp-Name.
func modern(method, name, params string) request {
	if params != "" {
		params += ","
	}
	h := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		h["Mcp-Name"] = name
	}
	return request{body: `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + modernMeta + `}}`, header: h}
}

// with returns the request with one more header.
func (r request) with(key, value string) request {
	h := map[string]string{key: value}
	for k, v := range r.header {
		if _, ok := h[k]; !ok {
			h[k] = v
		}
	}
	r.header = h
	return r
}

// start sends a request and returns the response. The caller closes its body.
func (r request) start(ctx context.Context, t testing.TB, site *httptest.Server) *http.Response {
	t.Helper()
	if r.method == "" {
		r.method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, r.method, site.URL+"/mcp", strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range r.header {
		if v == "-" {
			req.Header.Del(k)
		} else {
			req.Header[http.CanonicalHeaderKey(k)] = []string{v}
		}
	}
	req.Host = r.host
	resp, err := site.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// send sends a request and reads the whole response.
func (r request) send(t testing.TB, site *httptest.Server) (*http.Response, string) {
	t.Helper()
	resp := r.start(t.Context(), t, site)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// session opens a legacy session and returns its header.
func session(t testing.TB, site *httptest.Server) map[string]string {
	t.Helper()
	resp, body := request{body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`}.send(t, site)
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != 200 || id == "" {
		t.Fatalf("initialize: %s %s", resp.Status, body)
	}
	h := map[string]string{"Mcp-Session-Id": id, "Mcp-Protocol-Version": "2025-11-25"}
	if resp, body := (request{body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header: h}).send(t, site); resp.StatusCode != 202 || body != "" {
		t.Fatalf("initialized: %s %s", resp.Status, body)
	}
	return h
}

// events reads the messages of an event stream.
type events struct {
	t     testing.TB
	body  io.ReadCloser
	buf   []byte
	last  string // id of the last event
	ended bool
}

// next returns the data of the next event with data, or "" at the end of the stream.
func (e *events) next() string {
	e.t.Helper()
	for {
		if s := e.event(); s != "" || e.ended {
			return s
		}
	}
}

// event returns the data of the next event.
func (e *events) event() string {
	e.t.Helper()
	for {
		if head, rest, ok := bytes.Cut(e.buf, []byte("\n\n")); ok {
			e.buf = rest
			for line := range strings.SplitSeq(string(head), "\n") {
				if id, ok := strings.CutPrefix(line, "id: "); ok {
					e.last = id
				}
				if data, ok := strings.CutPrefix(line, "data:"); ok {
					return strings.TrimPrefix(data, " ")
				}
			}
			continue
		}
		p := make([]byte, 4096)
		n, err := e.body.Read(p)
		e.buf = append(e.buf, p[:n]...)
		if n > 0 {
			continue
		}
		if err == io.EOF {
			e.ended = true
			return ""
		}
		if err != nil {
			e.t.Fatalf("event stream: %v", err)
		}
	}
}

// lines is a client on the two ends of a host's ServeIO.
type lines struct {
	t    testing.TB
	in   *io.PipeWriter
	out  *json.Decoder
	done chan error
}

func serveLines(ctx context.Context, t testing.TB, h *host.Host) *lines {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	l := &lines{t: t, in: inW, out: json.NewDecoder(outR), done: make(chan error, 1)}
	go func() { l.done <- h.ServeIO(ctx, inR, outW) }()
	t.Cleanup(func() { _ = inW.Close(); _ = outR.Close() })
	return l
}

func (l *lines) write(s string) {
	l.t.Helper()
	if _, err := l.in.Write([]byte(s + "\n")); err != nil {
		l.t.Fatal(err)
	}
}

// read returns the next message, compact.
func (l *lines) read() string {
	l.t.Helper()
	var m json.RawMessage
	if err := l.out.Decode(&m); err != nil {
		if err == io.EOF {
			return ""
		}
		l.t.Fatalf("read: %v", err)
	}
	return string(m)
}

// ask writes a request and reads the next message.
func (l *lines) ask(s string) string {
	l.t.Helper()
	l.write(s)
	return l.read()
}

// wait returns the result of ServeIO.
func (l *lines) wait() error {
	l.t.Helper()
	select {
	case err := <-l.done:
		return err
	case <-time.After(20 * time.Second):
		l.t.Fatal("ServeIO does not return")
		return nil
	}
}
