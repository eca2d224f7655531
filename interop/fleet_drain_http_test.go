package interop_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop/config"
)

// A server at a URL behaves like a process. Its configuration changes again and again,
// in either era and over either transport, and no caller notices.
func TestNoCallFailsWhileConfigurationsChangeOverHTTP(t *testing.T) {
	for name, flags := range map[string][]string{
		"modern": {"-era", "modern"}, "legacy": {"-era", "legacy"}, "sse": {"-era", "legacy", "-sse"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fixture.New(t, flags...)
			url := f.HTTP()
			configured := func(n int) []config.Server {
				headers := []config.Pair{{Name: "X-N", Value: config.NewSecret(strconv.Itoa(n))}}
				if name == "sse" {
					return []config.Server{{ID: "a", Transport: config.SSE{URL: url, Headers: headers}}}
				}
				return []config.Server{{ID: "a", Transport: config.HTTP{URL: url, Headers: headers}}}
			}
			fleet, _ := newFleet(t, nil)
			fleet.Apply(configured(0))
			if err := fleet.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			over := make(chan struct{})
			var wait sync.WaitGroup
			for range 2 {
				wait.Go(func() {
					for {
						select {
						case <-over:
							return
						default:
							wantEcho(t, fleet, "a")
						}
					}
				})
			}
			hanging := callLater(t.Context(), fleet, "a__hang", `{"key":"first"}`)
			f.Wait("call hang")
			for n := 1; n <= 12; n++ {
				fleet.Apply(configured(n))
				if n%3 == 0 { // otherwise the next change comes during a connection attempt
					if err := fleet.Settle(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
			close(over)
			wait.Wait()
			f.Send("release first")
			if got := awaitOutcome(t, hanging); got.text != "released" {
				t.Errorf("a call of before all changes gives %v", got)
			}
		})
	}
}
