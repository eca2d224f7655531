package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/activity"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/telemetry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// with adds a part to a Control.
type with func(testing.TB, *control.Options)

func withPolicy(tb testing.TB, c *control.Options) {
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, "permit(principal in Group::\"g%d\", action, resource in Server::\"s%d\");\n", i, i)
	}
	text.WriteString(`permit(principal, action == Action::"call", resource in Server::"s") when { context.args.path like "/tmp/*" };`)
	c.Policy = always(rules(tb, text.String()), false)
}

func withAudit(tb testing.TB, c *control.Options) {
	log, err := audit.Open(tb.TempDir()+"/audit.jsonl", nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = log.Close() })
	c.Audit = log
}

func withActivity(_ testing.TB, c *control.Options) { c.Activity = activity.New() }

func withTelemetry(tb testing.TB, c *control.Options) {
	var err error
	c.Telemetry, err = telemetry.New(&telemetry.Options{
		Tracers: sdktrace.NewTracerProvider(),
		Meters:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// repeated returns a function that calls a tool through a gateway with these parts, in memory on both sides. The client
// traces its calls, so that the server decodes the same _meta with telemetry and without.
func repeated(tb testing.TB, parts ...with) (call func()) {
	return repeatedTool(tb, func() {}, parts...)
}

// repeatedTool is repeated with a tool that calls run.
func repeatedTool(tb testing.TB, run func(), parts ...with) (call func()) {
	var c control.Options
	for _, add := range parts {
		add(tb, &c)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	type input struct {
		Path string `json:"path"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		run()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	g := shelf{"s": s}.open(tb, gateway.Options{Guard: control.New(&c)}, "s")
	if err := g.Attached().Fleet.Await(tb.Context(), "s__t"); err != nil {
		tb.Fatal(err)
	}
	handler := g.Handler()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t","arguments":{"path":"/tmp/x"},"_meta":{` +
		`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"b","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	return func() {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"s__t"},
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), "done") {
			tb.Fatal(w.Code, w.Body)
		}
	}
}

// BenchmarkControl measures a repeated call without and with policy, audit and telemetry.
func BenchmarkControl(b *testing.B) {
	for _, test := range []struct {
		name  string
		parts []with
	}{
		{"none", nil},
		{"activity", []with{withActivity}},
		{"policy", []with{withPolicy}},
		{"audit", []with{withAudit}},
		{"telemetry", []with{withTelemetry}},
		{"all", []with{withPolicy, withAudit, withTelemetry}},
	} {
		b.Run(test.name, func(b *testing.B) {
			call := repeated(b, test.parts...)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
