package bench_test

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// largeServer is an HTTP server of 2025-11-25. Its only tool returns 256 KiB of text in an event stream, and takes
// almost no time.
func largeServer(b *testing.B) *httptest.Server {
	b.Helper()
	forty := strings.Repeat("0123456789", 4)
	line := forty + "abcdefghijklmnopqrstuvwxyz 0123456789 ab" + `\n` + forty + `\"` + forty + `\n`
	text := strings.Repeat(line, 256<<10/len(line))
	answer := `{"content":[{"type":"text","text":"` + text + `"}]}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e, err := wire.Scan(body)
		if err != nil || e.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header()["Content-Type"] = []string{"text/event-stream"}
		result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"large","version":"1"}}`
		switch e.MethodName() {
		case "tools/list":
			result = `{"tools":[{"name":"block","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			result = answer
		}
		_, _ = io.WriteString(w, `event: message`+"\n"+`data: {"jsonrpc":"2.0","id":`+string(e.ID)+`,"result":`)
		_, _ = io.WriteString(w, result)
		_, _ = io.WriteString(w, "}\n\n")
	}))
	b.Cleanup(s.Close)
	return s
}

// BenchmarkLargeResult calls a tool that returns 256 KiB over HTTP of 2025-11-25: directly, through a minimal reverse
// proxy, and through a gateway.
func BenchmarkLargeResult(b *testing.B) {
	server := largeServer(b)
	to, err := url.Parse(server.URL)
	if err != nil {
		b.Fatal(err)
	}
	proxy := httptest.NewServer(httputil.NewSingleHostReverseProxy(to))
	b.Cleanup(proxy.Close)
	before := []config.Server{{ID: "s", Transport: config.HTTP{URL: server.URL}, Era: interop.Legacy}}
	g := gateway.New(b.Context(), before, nil)
	b.Cleanup(g.Close)
	front := httptest.NewServer(g.Handler())
	b.Cleanup(front.Close)
	keepAlive := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	for _, way := range []struct{ name, url, tool string }{
		{"direct", server.URL, "block"}, {"proxy", proxy.URL, "block"}, {"gateway", front.URL + "/mcp", "s__block"},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(256 << 10)
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(p *testing.PB) {
				session := ""
				post := func(message string) (n int64) {
					req, _ := http.NewRequest(http.MethodPost, way.url, strings.NewReader(message))
					req.Header = http.Header{
						"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
					}
					if session != "" {
						req.Header["Mcp-Session-Id"] = []string{session}
					}
					resp, err := keepAlive.Do(req)
					if err != nil {
						b.Error(err)
						return 0
					}
					defer resp.Body.Close()
					session = cmp.Or(session, resp.Header.Get("Mcp-Session-Id"))
					n, _ = io.Copy(io.Discard, resp.Body)
					return n
				}
				post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
					`"capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
				post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				for p.Next() {
					call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + way.tool + `","arguments":{}}}`
					if post(call) < 250_000 {
						b.Error("a short answer")
					}
				}
			})
		})
	}
}
