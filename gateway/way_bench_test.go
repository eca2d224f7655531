package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop/config"
)

// sink is a response whose body nobody reads.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header              { return s.header }
func (s *sink) WriteHeader(status int)           { s.status = status }
func (s *sink) Write(b []byte) (int, error)      { s.bytes += len(b); return len(b), nil }
func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }
func (s *sink) Flush()                           {}

// BenchmarkWay is a call of 64 bytes from the last byte of its HTTP request to the first byte of the answer, with a
// server on stdio. Neither the client nor the server is part of the process: the memory is that of the way alone.
func BenchmarkWay(b *testing.B) {
	for era, version := range map[string]string{"modern": "2026-07-28"} {
		b.Run(era, func(b *testing.B) {
			g := gateway.New(b.Context(), []config.Server{{ID: "s", Transport: config.Stdio{
				Command: fixture.Build(b), Args: []string{"-era", era},
			}}}, nil)
			b.Cleanup(g.Close)
			if err := g.Attached().Fleet.Await(b.Context(), "s__echo"); err != nil {
				b.Fatal(err)
			}
			handler := g.Handler()
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__echo","arguments":{"message":"` +
				strings.Repeat("m", 64) + `"},"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `",` +
				`"io.modelcontextprotocol/clientInfo":{"name":"b","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
			header := http.Header{
				"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
				"Mcp-Protocol-Version": {version}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"s__echo"},
			}
			template, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://127.0.0.1/mcp", nil)
			if err != nil {
				b.Fatal(err)
			}
			template.Header, template.ContentLength = header, int64(len(body))
			w := &sink{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				r := *template
				r.Body = io.NopCloser(strings.NewReader(body))
				*w = sink{header: w.header}
				handler.ServeHTTP(w, &r)
				if w.bytes < 64 || w.status != 0 && w.status != http.StatusOK {
					b.Fatal(w)
				}
			}
		})
	}
}
