package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// BenchmarkOperators calls a tool in turn at a plain indus serve, and at one with a policy, an audit, and metrics and
// traces of every call.
func BenchmarkOperators(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()
	b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	dir := b.TempDir()
	policy := filepath.Join(dir, "policy.cedar")
	rules := strings.Repeat(`permit(principal in Group::"g", action, resource in Server::"other");`, 10) +
		`permit(principal, action == Action::"call", resource in Server::"g") when { context.args.nonce like "n*" };`
	if err := os.WriteFile(policy, []byte(rules), 0o600); err != nil {
		b.Fatal(err)
	}
	servers := map[string]row{"g": {fixture.Gossip(b), []string{"-name", "g"}, nil}}
	s := site{web: &http.Client{}}
	open := func(flags ...string) (url string) {
		at := fixture.FreeAddr(b)
		p := startServe(b, servers, append([]string{"--addr", at, "--no-ledger"}, flags...)...)
		p.waitFor(&p.err, "g: ready")
		return "http://" + at
	}
	full := open("--policy", policy, "--audit", filepath.Join(dir, "audit.jsonl"), "--metrics", fixture.FreeAddr(b))
	b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	plain := open()
	var without, with []time.Duration
	for b.Loop() {
		without = append(without, s.call(b, plain, ""))
		with = append(with, s.call(b, full, ""))
	}
	slices.Sort(without)
	slices.Sort(with)
	few, more := without[len(without)/2], with[len(with)/2]
	b.ReportMetric(float64(few.Microseconds()), "without-µs")
	b.ReportMetric(float64((more - few).Microseconds()), "more-µs")
}
