package agent_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/agent"
)

func TestProvidersAreAskedAgain(t *testing.T) {
	failure := func(status int, after time.Duration) error {
		return &agent.ProviderError{Provider: "script", Status: status, Message: "no", RetryAfter: after, Err: io.ErrUnexpectedEOF}
	}
	tests := map[string]struct {
		err      error
		failures int
		attempts int
		least    time.Duration // waited
		most     time.Duration
		works    bool
		message  string
	}{
		"too many requests": {err: failure(429, 0), failures: 2, least: 3 * time.Second, most: 4 * time.Second, works: true},
		"overloaded":        {err: failure(529, 0), failures: 4, least: 15 * time.Second, most: 19 * time.Second, works: true},
		"broken stream":     {err: failure(0, 0), failures: 1, least: time.Second, most: 2 * time.Second, works: true},
		"as it asks":        {err: failure(429, 90*time.Second), failures: 1, least: 90 * time.Second, most: 113 * time.Second, works: true},
		"asks too long":     {err: failure(429, time.Hour), failures: 1, message: "1h0m0s, which is too long"},
		"for good":          {err: failure(503, 0), failures: 9, least: 15 * time.Second, most: 19 * time.Second, message: "HTTP 503"},
		"never":             {err: failure(503, 0), failures: 9, attempts: 1, message: "HTTP 503"},
		"long waits":        {err: failure(500, 0), failures: 9, attempts: 10, least: 151 * time.Second, most: 190 * time.Second, works: true},
		"bad request":       {err: failure(400, 0), failures: 1, message: "HTTP 400"},
		"no key":            {err: failure(401, time.Second), failures: 1, message: "HTTP 401"},
		"forbidden":         {err: failure(403, 0), failures: 1, message: "HTTP 403"},
		"no money":          {err: &agent.ProviderError{Provider: "script", Status: 429, Code: "insufficient_quota", Message: "no"}, failures: 1, message: "HTTP 429"},
		"not its own":       {err: errors.New("what is this"), failures: 1, message: "what is this"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var steps []step
				for range test.failures {
					steps = append(steps, fails(test.err, "void "))
				}
				n := &notes{}
				s := agent.New(agent.Options{Provider: model(append(steps, textReply("at last"))...), Hear: n.record, Journal: n, Attempts: test.attempts})
				began := time.Now()
				got, err := s.Prompt(t.Context(), "go")
				if took := time.Since(began); took < test.least || took > test.most {
					t.Errorf("it waited %v", took)
				}
				if test.works != (err == nil) || test.works && got.Text != "at last" {
					t.Fatal(got, err)
				}
				if err != nil && (!errors.Is(err, test.err) || !strings.Contains(err.Error(), test.message)) {
					t.Error(err)
				}
				var waited time.Duration
				retries := 0
				for _, e := range n.events {
					if e.Kind == agent.EventRetry {
						waited += e.Took
						retries++
					}
				}
				if waited != time.Since(began) || test.works && retries != test.failures {
					t.Errorf("%d retries, %v", retries, waited)
				}
				checkShape(t, s.Messages())
			})
		})
	}
}
