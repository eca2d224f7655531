package host_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/toolbox"
)

// discardWriter is the response writer of a client that reads everything at once.
type discardWriter struct{ h http.Header }

func (n discardWriter) Header() http.Header         { return n.h }
func (n discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (n discardWriter) WriteHeader(int)             {}

// BenchmarkHostHTTP measures the cost of the host itself, without network and with a tool that answers at once.
func BenchmarkHostHTTP(b *testing.B) {
	for size, n := range map[string]int{"64B": 64, "256KiB": 256 << 10} {
		result := shelf.WireResult(`{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}`)
		h := newHost(b, shelf.OneTool(func(context.Context, toolbox.Call) (*toolbox.Result, error) { return result, nil }), nil)
		b.Run("legacy/"+size, func(b *testing.B) {
			benchPost(b, h, legacyCall(open(h.Handler()), "7", `,"arguments":{"text":"hello"}`))
		})
		b.Run("modern/"+size, func(b *testing.B) {
			benchPost(b, h, modern("tools/call", "t", `"name":"t","arguments":{"text":"hello"}`))
		})
	}
	snap := &toolbox.Snapshot{}
	for i := range 1000 {
		snap.Tools = append(snap.Tools, shelf.WireDescriptor(fmt.Sprintf("s__t%d", i), `{"name":"own","description":"`+strings.Repeat("d", 300)+`","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`))
	}
	h := newHost(b, &shelf.Shelf{Tools: func(toolbox.Principal) *toolbox.Snapshot { return snap }}, nil)
	b.Run("legacy/list1000", func(b *testing.B) {
		benchPost(b, h, request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header: open(h.Handler())})
	})
	b.Run("modern/list1000", func(b *testing.B) { benchPost(b, h, modern("tools/list", "", "")) })
}

func benchPost(b *testing.B, host *host.Host, r request) {
	h := host.Handler()
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for k, v := range r.header {
		header.Set(k, v)
	}
	b.ReportAllocs()
	for b.Loop() {
		req, err := http.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(r.body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header = header
		h.ServeHTTP(discardWriter{http.Header{}}, req)
	}
}

// BenchmarkHostLoopback measures a call over a real connection.
func BenchmarkHostLoopback(b *testing.B) {
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 64) + `"}]}`
	h := newHost(b, shelf.OneTool(func(context.Context, toolbox.Call) (*toolbox.Result, error) { return shelf.WireResult(result), nil }), nil)
	site := httptest.NewServer(h.Handler())
	defer site.Close()
	for name, r := range map[string]request{"legacy": legacyCall(session(b, site), "7", ""), "modern": modern("tools/call", "t", `"name":"t"`)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				resp := r.start(b.Context(), b, site)
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}
