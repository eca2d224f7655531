package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// crowd starts an indus with the servers "g0" and "odd", and n principals. n is size with INDUS_SOAK, and otherwise a
// twentieth of it.
func crowd(t *testing.T, size, principals int) (s *soak, p *program, n int) {
	t.Helper()
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("what a process holds is found in /proc")
	}
	if n = size; os.Getenv("INDUS_SOAK") == "" {
		n = size / 20
		t.Parallel()
	}
	s = newSoak(t)
	s.until, s.web.MaxIdleConnsPerHost = time.Now().Add(time.Hour), 100
	env := map[string]string{markName: s.mark}
	p = s.serves(map[string]entry{
		"g0":  {Command: fixture.Gossip(t), Args: []string{"-name", "g0"}, Env: env, Era: "legacy"},
		"odd": {Command: fixture.Build(t), Env: env, Era: "legacy"},
	}, principals)
	p.waitFor(&p.err, `g0: ready`)
	p.waitFor(&p.err, `odd: ready`)
	t.Cleanup(func() { s.ends(p) })
	return s, p, n
}

// runParallel calls do n times, with atOnce calls in parallel.
func runParallel(n, atOnce int, do func(i int)) {
	var doing sync.WaitGroup
	next := atomic.Int64{}
	for range atOnce {
		doing.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	doing.Wait()
}

func racing() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

const helloParams = `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}`

// hello opens a legacy session.
func (c *soaker) hello(ctx context.Context) (session string) {
	_, h, err := c.post(ctx, "", "initialize", helloParams)
	if err != nil || h.Get("Mcp-Session-Id") == "" {
		c.Errorf("no session: %v", err)
	}
	return h.Get("Mcp-Session-Id")
}

// TestSoakIdleSessions checks that 10,000 idle sessions take at most 30 KB each.
func TestSoakIdleSessions(t *testing.T) {
	s, p, n := crowd(t, 10_000, 20)
	before := s.health(p)
	began := time.Now()
	runParallel(n, 8, func(i int) {
		c := s.all[i%len(s.all)]
		session := c.hello(t.Context())
		r := c.request(t.Context(), http.MethodPost, session, "", "")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL.String(), strings.NewReader(initialized))
		if err != nil {
			t.Error(err)
			return
		}
		for key, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": session,
		} {
			r.Header.Set(key, value)
		}
		if _, err := c.replies(r, func(*reply) bool { return true }); err != nil {
			t.Error(err)
		}
		if answer, _, err := c.post(t.Context(), session, "tools/list", ""); err != nil || answer.Error != nil {
			t.Error(err, answer)
		}
	})
	took := time.Since(began)
	s.web.CloseIdleConnections()
	after := s.health(p)
	t.Logf("%d sessions in %v: %.1f KiB of heap each, %.1f KiB of RSS; before %+v, after %+v", n,
		took.Round(time.Millisecond),
		float64(after.Heap-before.Heap)/float64(n), float64(after.RSS-before.RSS)/float64(n), before, after)
	if each := (after.Heap - before.Heap) / n; n >= 10_000 && !racing() && each > 30 {
		t.Errorf("%d KiB each", each)
	}
	if after.Goroutines > before.Goroutines+20 {
		t.Errorf("%d goroutines", after.Goroutines-before.Goroutines)
	}
}

// listen opens a stream with a subscription. It calls agreed when the subscription is acknowledged, and heard for each
// update.
func (c *soaker) listen(ctx context.Context, uri string, agreed func(), heard func()) error {
	_, err := c.replies(c.request(ctx, http.MethodPost, "", "subscriptions/listen",
		fmt.Sprintf(`"notifications":{"toolsListChanged":true,"resourceSubscriptions":[%q]},%s`, uri, modernMeta("{}"))),
		func(one *reply) bool {
			switch one.Method {
			case "notifications/subscriptions/acknowledged":
				agreed()
			case "notifications/resources/updated":
				heard()
			}
			return true
		})
	return err
}

// TestSoakFanOut checks that one update reaches 1,000 clients of both eras, each with its own connection. After all of
// them disconnect at once, nothing is left.
func TestSoakFanOut(t *testing.T) {
	s, p, n := crowd(t, 1000, 10)
	before := s.health(p)
	const uri = "news-g0:all"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var agreed, heard sync.WaitGroup
	var living sync.WaitGroup
	var times atomic.Int64
	agreed.Add(n)
	heard.Add(n)
	began := time.Now()
	for i := range n {
		c := s.all[i%len(s.all)]
		living.Go(func() {
			once := sync.OnceFunc(heard.Done)
			hears := func() { times.Add(1); once() }
			if i%2 == 0 {
				if err := c.listen(ctx, uri, agreed.Done, hears); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			session := c.hello(ctx)
			if answer, _, err := c.post(ctx, session, "resources/subscribe", fmt.Sprintf(`"uri":%q`, uri)); err != nil ||
				answer.Error != nil {
				t.Error(err, answer.failure())
			}
			post := c.request(ctx, http.MethodGet, session, "", "")
			agreed.Done()
			if _, err := c.replies(post, func(one *reply) bool {
				if one.Method == "notifications/resources/updated" {
					hears()
				}
				return true
			}); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	agreed.Wait()
	opened := time.Since(began)
	full := s.health(p)
	began = time.Now()
	if answer, _, err := s.all[0].post(ctx, "", "tools/call",
		`"name":"g0__touch","arguments":{"nonce":"all/1"},`+modernMeta("{}")); err != nil || answer.Error != nil {
		t.Error(err, answer.failure())
	}
	heard.Wait()
	t.Logf("%d clients opened in %v; one update reached all in %v, %d times; %+v, with them %+v", n, opened,
		time.Since(began), times.Load(), before, full)
	cancel()
	living.Wait()
	s.web.CloseIdleConnections()
	eventually(t, func() string {
		now := s.health(p)
		if now.Goroutines > before.Goroutines+20 || now.Descriptors > before.Descriptors+5 {
			return fmt.Sprintf("before %+v, and when all were gone %+v", before, now)
		}
		return ""
	})
}

// TestSoakStorm checks that notifications from a server that sends them endlessly are limited.
func TestSoakStorm(t *testing.T) {
	s, p, n := crowd(t, 400_000, 2)
	before := s.health(p)
	c, calm := s.all[0], s.all[1]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told atomic.Int64
	var living sync.WaitGroup
	ready := make(chan struct{})
	living.Go(func() {
		_ = c.listen(ctx, "news-g0:x", func() { close(ready) }, func() {})
	})
	<-ready
	living.Go(func() {
		_, _ = c.replies(c.request(ctx, http.MethodPost, "", "subscriptions/listen",
			`"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true},`+modernMeta("{}")),
			func(one *reply) bool {
				told.Add(1)
				return true
			})
	})
	lines := make([]string, 10_000)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}`,
			[]string{"tools", "prompts", "resources"}[i%3])
	}
	raw, _ := json.Marshal(lines)
	began := time.Now()
	slowest := time.Duration(0)
	over := make(chan struct{})
	var calling sync.WaitGroup
	calling.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			at := time.Now()
			answer, _, err := calm.post(ctx, "", "tools/call", `"name":"g0__echo","arguments":{"nonce":"x"},`+modernMeta("{}"))
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := answer.text(); err != nil {
				t.Error(err)
			}
			slowest = max(slowest, time.Since(at))
		}
	})
	for range n / len(lines) {
		answer, _, err := c.post(ctx, "", "tools/call",
			fmt.Sprintf(`"name":"odd__say","arguments":{"lines":%s},%s`, raw, modernMeta("{}")))
		if err == nil {
			_, err = answer.text()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(began)
	close(over)
	calling.Wait()
	after := s.health(p)
	t.Logf(
		"%d changes in %v, of which clients were told %d times; the slowest call of the server beside took %v; before "+
			"%+v, after %+v", n, took, told.Load(), slowest, before, after)
	if most := int64(60 + 30*took/time.Second); told.Load() > most {
		t.Errorf("clients were told %d times in %v", told.Load(), took)
	}
	cancel()
	living.Wait()
}

// TestSoakManyQuestions checks a server that asks 1,000 questions in one call. The client gets a few at a time, or the
// questions are refused, and the call ends.
func TestSoakManyQuestions(t *testing.T) {
	s, p, n := crowd(t, 1000, 2)
	for _, version := range []string{"2025-11-25", ""} {
		var asking, most, asked atomic.Int64
		client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				now := asking.Add(1)
				defer asking.Add(-1)
				for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
				}
				asked.Add(1)
				return &mcp.ElicitResult{Action: "decline"}, nil
			},
		})
		session, err := client.Connect(t.Context(),
			&mcp.StreamableClientTransport{
				Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: s.all[0]},
			}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		r, err := session.CallTool(ctx, &mcp.CallToolParams{
			Name: "g0__many", Arguments: map[string]any{"nonce": "q", "n": n},
		})
		cancel()
		if err != nil {
			err = errors.Join(err, errors.New("the call has no end"))
			t.Error(err)
		} else {
			t.Logf("%q: of %d questions %d were put, %d at once; the server was answered %s; %v", version, n, asked.Load(),
				most.Load(), resultText(r), time.Since(began))
		}
		_ = session.Close()
	}
	t.Logf("%+v", s.health(p))
}
