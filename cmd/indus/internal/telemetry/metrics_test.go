package telemetry_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	telemetry "github.com/indusagi/indus/cmd/indus/internal/telemetry"
	instruments "github.com/indusagi/indus/internal/telemetry"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a Provider that closes with the test.
func open(t *testing.T, metrics string) *telemetry.Provider {
	t.Helper()
	p, err := telemetry.Open(t.Context(), &telemetry.Options{
		Metrics: metrics, Version: "1.2.3", Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := p.Close()
		if err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return p
}

func get(t *testing.T, url string, edit func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(r)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// serveCalls records what a gateway records.
func serveCalls(ctx context.Context, t *instruments.Telemetry) {
	for i, tool := range []string{"read_file", `odd "name"\` + "\n"} {
		o := &instruments.Operation{Method: "tools/call", Tool: tool, Known: true, Server: "fs", Transport: "http"}
		within, served := t.Start(ctx, o)
		_, sent := t.Upstream(within, o)
		sent.End(instruments.Outcome{})
		served.End(instruments.Outcome{BytesIn: 10, BytesOut: 4000, Code: -32603 * int64(i)})
	}
	t.SessionEnded(&instruments.Operation{}, 1, "")
	t.SessionEnded(&instruments.Operation{Server: "fs"}, 1, "")
	t.Observe(func() instruments.State {
		return instruments.State{Servers: []instruments.ServerState{{Name: "fs", Phase: "ready", Restarts: 2}}}
	})
}

// TestMetricsPassPromtool does what "promtool check metrics" does: the parser of Prometheus reads the page, and its
// linter finds nothing.
func TestMetricsPassPromtool(t *testing.T) {
	p := open(t, "127.0.0.1:0")
	serveCalls(t.Context(), p.Telemetry)
	response, page := get(t, p.Address, nil)
	if got := response.Header.Get("Content-Type"); got != string(expfmt.NewFormat(expfmt.TypeTextPlain)) &&
		!strings.HasPrefix(got, "text/plain; version=0.0.4") {
		t.Errorf("Content-Type %q", got)
	}
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil {
		t.Fatalf("%v in\n%s", err, page)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	duration := families["mcp_server_operation_duration_seconds"]
	if duration.GetType() != dto.MetricType_HISTOGRAM || len(duration.GetMetric()) != 2 {
		t.Fatalf("the durations are %v", duration)
	}
	for _, m := range duration.GetMetric() {
		buckets := m.GetHistogram().GetBucket()
		if last := buckets[len(buckets)-1]; !math.IsInf(last.GetUpperBound(), 1) || last.GetCumulativeCount() != 1 ||
			m.GetHistogram().GetSampleCount() != 1 || m.GetHistogram().GetSampleSum() <= 0 || len(buckets) != 15 {
			t.Errorf("the histogram is %v", m.GetHistogram())
		}
	}
	names := map[string]bool{}
	for _, m := range duration.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "gen_ai_tool_name" {
				names[l.GetValue()] = true
			}
		}
	}
	if !names["read_file"] || !names[`odd "name"\`+"\n"] {
		t.Errorf("the tools are %v", names)
	}
	for _, name := range []string{
		"target_info", "indus_gateway_overhead_seconds", "indus_operation_io_bytes_total", "indus_tool_tokens_total",
		"indus_server_restarts_total", "indus_server_phase", "mcp_client_operation_duration_seconds",
		"mcp_server_session_duration_seconds", "go_goroutines", "go_memory_used_bytes",
	} {
		if families[name] == nil {
			t.Errorf("%s is absent", name)
		}
	}
}

// TestTheBoardUsesRealMetrics checks each name in docs/grafana.json against the page.
func TestTheBoardUsesRealMetrics(t *testing.T) {
	board, err := os.ReadFile("../../../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, "127.0.0.1:0")
	serveCalls(t.Context(), p.Telemetry)
	_, page := get(t, p.Address, nil)
	names := regexp.MustCompile(`\b(?:mcp|indus|go|target)_[a-z_]+(?:\{|\[|,| )`).FindAllString(string(board), -1)
	if len(names) < 20 {
		t.Errorf("the board has only %q", names)
	}
	for _, name := range names {
		name = name[:len(name)-1]
		if !strings.Contains(page, "\n"+name+"{") && !strings.Contains(page, "\n"+name+" ") &&
			!strings.Contains(page, "{"+name+"=") && !strings.Contains(page, ","+name+"=") {
			t.Errorf("%s is on the board, and not on the page", name)
		}
	}
}

func TestMetricsAnswerNothingElse(t *testing.T) {
	p := open(t, "127.0.0.1:0")
	base := strings.TrimSuffix(p.Address, "/metrics")
	for name, test := range map[string]struct {
		url    string
		edit   func(*http.Request)
		status int
		says   string
	}{
		"metrics":        {p.Address, nil, 200, "go_goroutines"},
		"compressed":     {p.Address, func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }, 200, "\x1f\x8b"},
		"root":           {base + "/", nil, 404, "the metrics are at /metrics"},
		"below":          {p.Address + "/x", nil, 404, "the metrics are at /metrics"},
		"the gateway":    {base + "/mcp", nil, 404, "the metrics are at /metrics"},
		"a foreign name": {p.Address, func(r *http.Request) { r.Host = "attacker.example" }, 403, "this machine"},
		"localhost":      {p.Address, func(r *http.Request) { r.Host = "localhost:9464" }, 200, "go_goroutines"},
		"another method": {p.Address, func(r *http.Request) { r.Method = "POST" }, 405, "GET"},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := get(t, test.url, test.edit)
			if response.StatusCode != test.status || !strings.Contains(body, test.says) {
				t.Errorf("%s: %.200s", response.Status, body)
			}
		})
	}
}

func TestAddressOfMetrics(t *testing.T) {
	for given, want := range map[string]string{
		"127.0.0.1:9000": "127.0.0.1:9000", "127.0.0.1": "127.0.0.1:9464", ":9000": "127.0.0.1:9000",
		"9000":       "127.0.0.1:9000",
		"[::1]:9000": "[::1]:9000", "::1": "[::1]:9464", "[::1]": "[::1]:9464", "0.0.0.0:9464": "0.0.0.0:9464",
	} {
		got, err := telemetry.CheckAddress(given)
		if got != want || err != nil {
			t.Errorf("%q is %q, %v", given, got, err)
		}
	}
	for _, given := range []string{"127.0.0.1:http:x", "127.0.0.1:99999", "a b"} {
		_, err := telemetry.CheckAddress(given)
		if err == nil || !strings.Contains(err.Error(), "--metrics "+fmt.Sprintf("%q", given)) {
			t.Errorf("%q: %v", given, err)
		}
	}
}

func TestAnOccupiedPortIsNamed(t *testing.T) {
	p := open(t, "127.0.0.1:0")
	address := strings.TrimSuffix(strings.TrimPrefix(p.Address, "http://"), "/metrics")
	_, err := telemetry.Open(t.Context(), &telemetry.Options{Metrics: address})
	if err == nil || !strings.Contains(err.Error(), "--metrics: listen tcp "+address) {
		t.Error(err)
	}
}
