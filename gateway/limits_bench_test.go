package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// modernCall calls a tool over HTTP, as a client that holds nothing between its requests, and returns the answer.
func modernCall(ctx context.Context, client *http.Client, url, tool string) (string, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"path":"p"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {tool},
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	return string(answer), err
}

// BenchmarkBesideOthers measures a call of a caller without a limit over HTTP: alone, and beside fifty callers that send
// twenty calls a second each, which a limit refuses, or which are permitted.
func BenchmarkBesideOthers(b *testing.B) {
	const others, pause = 50, 50 * time.Millisecond
	for _, load := range []struct{ name, rate string }{{"alone", "1/d"}, {"refused", "1/d"}, {"permitted", "1000000/s"}} {
		b.Run(load.name, func(b *testing.B) {
			c := newCompany(b, `permit(principal == User::"free", action == Action::"call", resource);
				@rate("`+load.rate+`") permit(principal, action == Action::"call", resource) unless { principal == User::"free" };`)
			web := httptest.NewServer(c.Handler())
			defer web.Close()
			ctx, cancel := context.WithCancel(b.Context())
			var running sync.WaitGroup
			defer running.Wait()
			defer cancel()
			send := func(key string) func() (string, error) {
				client := &http.Client{Transport: keyed{key, &http.Transport{}}}
				return func() (string, error) { return modernCall(ctx, client, web.URL+"/mcp", "a__open") }
			}
			if load.name != "alone" {
				for i := range others {
					call := send(c.key(b, "other"+strconv.Itoa(i)))
					running.Go(func() {
						tick := time.NewTicker(pause)
						defer tick.Stop()
						for ctx.Err() == nil {
							if _, err := call(); err != nil && ctx.Err() == nil {
								b.Error(err)
							}
							<-tick.C
						}
					})
				}
			}
			call := send(c.key(b, "free"))
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				answer, err := call()
				took = append(took, time.Since(begun))
				if err != nil || !strings.Contains(answer, "a p") {
					b.Fatal(answer, err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
