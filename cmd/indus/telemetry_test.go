package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/otlp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestServeShowsItsMetrics(t *testing.T) {
	p := startServe(t, map[string]row{}, "--addr", "127.0.0.1:0", "--metrics", "127.0.0.1:0")
	url := p.waitFor(&p.err, `metrics at (\S+)\n`)
	gateway := p.waitFor(&p.err, `serving at (\S+)\n`)
	for address, says := range map[string]string{
		url: "go_goroutines", strings.TrimSuffix(url, "/metrics") + "/mcp": "the metrics are at /metrics",
	} {
		response, err := timedClient.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !strings.Contains(string(body), says) {
			t.Errorf("%s: %v, %.200s", address, err, body)
		}
	}
	response, err := timedClient.Get(strings.TrimSuffix(gateway, "/mcp") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("metrics at the port of clients: %s", response.Status)
	}
}

// TestATraceLeadsThroughServe calls a tool through a real gateway, and a real collector receives the spans.
func TestATraceLeadsThroughServe(t *testing.T) {
	t.Parallel()
	collector := otlp.Start(t)
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	cmd := indusCommand(t, map[string]row{"good": {fixture.Build(t), nil, nil}}, "serve", "--addr", "127.0.0.1:0",
		"--metrics", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
		"OTEL_TRACES_SAMPLER=parentbased_always_off") // only the trace of the client
	p := launch(t, cmd)
	metrics := p.waitFor(&p.err, `metrics at (\S+)\n`)
	url := p.waitFor(&p.err, `serving at (\S+)\n`)
	p.waitFor(&p.err, `good: ready`)
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
		c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "good__echo_raw", Arguments: map[string]any{"a": 1},
			Meta: mcp.Meta{"traceparent": "00-" + trace + "-" + parent + "-01", "own": "kept"},
		})
		if err != nil || r.IsError {
			t.Fatal(r, err)
		}
		_, _ = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "good__chosen"})
		_ = c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		var served, sent otlp.Span
		for served.SpanID == "" || sent.SpanID == "" {
			for _, s := range collector.Next(ctx, t, 1) {
				switch s.Kind {
				case 2:
					served = s
				case 3:
					sent = s
				}
			}
		}
		if served.TraceID != trace || served.ParentID != parent || sent.TraceID != trace || sent.ParentID != served.SpanID ||
			served.Name != "tools/call echo_raw" || sent.Attribute("indus.server") != "good" {
			t.Errorf("%s: %+v\n%+v", version, served, sent)
		}
		got := r.Content[0].(*mcp.TextContent).Text
		if !strings.Contains(got, `"traceparent":"00-`+trace+`-`+sent.SpanID+`-01"`) || !strings.Contains(got, `"own":"kept"`) {
			t.Errorf("%s: the server got %s", version, got)
		}
	}
	response, err := timedClient.Get(metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{
		`mcp_server_operation_duration_seconds_count\{[^}]*="echo_raw"[^}]*indus_server="good"[^}]*="2025-11-25"[^}]*\} 1\n`,
		`mcp_server_operation_duration_seconds_count\{[^}]*="echo_raw"[^}]*indus_server="good"[^}]*="2026-07-28"[^}]*\} 1\n`,
		`mcp_client_operation_duration_seconds_count\{[^}]*="echo_raw"[^}]*indus_server="good"[^}]*="2025-11-25"[^}]*\} 1\n`,
		`mcp_client_operation_duration_seconds_count\{[^}]*="echo_raw"[^}]*indus_server="good"[^}]*="2026-07-28"[^}]*\} 1\n`,
		`mcp_server_operation_duration_seconds_count\{[^}]*="_OTHER"[^}]*="2025-11-25"[^}]*\} 1\n`,
		`mcp_server_operation_duration_seconds_count\{[^}]*="_OTHER"[^}]*="2026-07-28"[^}]*\} 1\n`,
		`mcp_server_session_duration_seconds_count\{[^}]*mcp_protocol_version="2025-11-25"[^}]*\} 1\n`,
		`indus_server_phase\{indus_phase="ready",indus_server="good"[^}]*\} 1\n`,
		`indus_server_tools\{indus_server="good"[^}]*\} [1-9]`,
		`indus_sessions(\{[^}]*\})? 0\n`,
		`indus_approvals_waiting(\{[^}]*\})? 0\n`,
		`indus_ledger_entries(\{[^}]*\})? [1-9]`,
	} {
		if !regexp.MustCompile(pattern).Match(page) {
			t.Errorf("the page has no %s", pattern)
		}
	}
	if strings.Contains(string(page), "chosen") {
		t.Error("the name of an unknown tool is on the page")
	}
	if t.Failed() {
		t.Logf("%s", page)
	}
}
