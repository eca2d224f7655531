package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/indusagi/indus/audit"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/telemetry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// BenchmarkControl calls a tool through a gateway, in memory on both sides, without and with policy, audit and
// telemetry.
func BenchmarkControl(b *testing.B) {
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, "permit(principal in Group::\"g%d\", action, resource in Server::\"s%d\");\n", i, i)
	}
	text.WriteString(`permit(principal, action == Action::"call", resource in Server::"s") when { context.args.path like "/tmp/*" };`)
	engine := rules(b, text.String())
	withPolicy := func(_ *testing.B, c *gateway.Control) { c.Policy = always(engine, false) }
	withAudit := func(b *testing.B, c *gateway.Control) {
		log, err := audit.Open(b.TempDir()+"/audit.jsonl", nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = log.Close() })
		c.Audit = log
	}
	withActivity := func(_ *testing.B, c *gateway.Control) { c.Activity = gateway.NewActivity() }
	withTelemetry := func(b *testing.B, c *gateway.Control) {
		var err error
		c.Telemetry, err = telemetry.New(&telemetry.Options{
			Tracers: sdktrace.NewTracerProvider(),
			Meters:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		with []func(*testing.B, *gateway.Control)
	}{
		{"none", nil},
		{"activity", []func(*testing.B, *gateway.Control){withActivity}},
		{"policy", []func(*testing.B, *gateway.Control){withPolicy}},
		{"audit", []func(*testing.B, *gateway.Control){withAudit}},
		{"telemetry", []func(*testing.B, *gateway.Control){withTelemetry}},
		{"all", []func(*testing.B, *gateway.Control){withPolicy, withAudit, withTelemetry}},
	} {
		b.Run(test.name, func(b *testing.B) {
			var c gateway.Control
			for _, with := range test.with {
				with(b, &c)
			}
			s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			type input struct {
				Path string `json:"path"`
			}
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
			})
			g := shelf{"s": s}.open(b, gateway.Options{Control: c}, "s")
			if err := g.Attached().Fleet.Await(b.Context(), "s__t"); err != nil {
				b.Fatal(err)
			}
			handler := g.Handler()
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t","arguments":{"path":"/tmp/x"},` +
				`"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
				`"io.modelcontextprotocol/clientInfo":{"name":"b","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
				r.Header = http.Header{
					"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
					"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"s__t"},
				}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if !strings.Contains(w.Body.String(), "done") {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}
