package replicas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// checkInterval is the interval at which a balancer reads /readyz.
const checkInterval = 20 * time.Millisecond

// Balancer is a plain load balancer: each request goes to the next backend whose /readyz answers 200. If a backend
// refuses a connection, the request goes to the next one. It has no idea of sessions.
type Balancer struct {
	URL string

	mu       sync.Mutex
	backends []string // their URLs
	ready    []string
	turn     int
	flying   map[string]int    // requests in flight by backend
	took     map[string]string // the last backend by the X-Request-Id of a request
}

// NewBalancer starts a balancer for backends.
func NewBalancer(t testing.TB, backends ...string) *Balancer {
	t.Helper()
	b := &Balancer{backends: backends, flying: map[string]int{}, took: map[string]string{}}
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1, Transport: &roundRobin{b, transport},
		Rewrite: func(r *httputil.ProxyRequest) {},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	site := httptest.NewServer(proxy)
	b.URL = site.URL
	ctx, cancel := context.WithCancel(context.Background())
	var checking sync.WaitGroup
	b.check(ctx)
	checking.Go(func() {
		tick := time.NewTicker(checkInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				b.check(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		checking.Wait()
		site.CloseClientConnections()
		site.Close()
		transport.CloseIdleConnections()
	})
	return b
}

// check finds the backends that are ready.
func (b *Balancer) check(ctx context.Context) {
	b.mu.Lock()
	backends := slices.Clone(b.backends)
	b.mu.Unlock()
	ready := make([]string, len(backends))
	var all sync.WaitGroup
	for i, backend := range backends {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // a busy machine may take some
			defer cancel()
			r, _ := http.NewRequestWithContext(ctx, http.MethodGet, backend+"/readyz", nil)
			r.Close = true
			answer, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				return
			}
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				ready[i] = backend
			}
		})
	}
	all.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = slices.DeleteFunc(ready, func(s string) bool { return s == "" })
}

// Ready returns the backends that get requests now.
func (b *Balancer) Ready() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.ready)
}

// WaitReady waits until n backends get requests.
func (b *Balancer) WaitReady(t testing.TB, n int) {
	t.Helper()
	wait(t, func() string {
		if ready := b.Ready(); len(ready) != n {
			return fmt.Sprintf("%v of %v are ready, want %d", ready, b.backends, n)
		}
		return ""
	})
}

// WaitQuiet waits until a backend gets no requests, and has answered all that it got.
func (b *Balancer) WaitQuiet(t testing.TB, backend string) {
	t.Helper()
	wait(t, func() string {
		b.mu.Lock()
		defer b.mu.Unlock()
		if n := b.flying[backend]; n > 0 || slices.Contains(b.ready, backend) {
			return fmt.Sprintf("%s is still used, for %d requests", backend, n)
		}
		return ""
	})
}

// wait waits until missing returns "".
func wait(t testing.TB, missing func() string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); missing() != ""; time.Sleep(checkInterval) {
		if time.Now().After(end) {
			t.Fatal(missing())
		}
	}
}

// Took returns the backend that got a request last, by its X-Request-Id. It returns "" if there is none.
func (b *Balancer) Took(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.took[id]
}

// begin returns the next backend for a request, which is not among the tried ones, or "" if there is none.
func (b *Balancer) begin(id string, tried []string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.ready {
		b.turn++
		backend := b.ready[b.turn%len(b.ready)]
		if slices.Contains(tried, backend) {
			continue
		}
		b.flying[backend]++
		if id != "" {
			b.took[id] = backend
		}
		return backend
	}
	return ""
}

// end records the end of a request.
func (b *Balancer) end(backend string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flying[backend]--
}

// roundRobin sends requests to the backends of a balancer.
type roundRobin struct {
	*Balancer
	transport *http.Transport
}

func (b *roundRobin) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	err = errors.New("no backend is ready")
	body := r.Body
	var tried []string
	for {
		backend := b.begin(r.Header.Get("X-Request-Id"), tried)
		if backend == "" {
			return nil, err
		}
		tried = append(tried, backend)
		u, _ := url.Parse(backend)
		out := r.Clone(r.Context())
		out.URL.Scheme, out.URL.Host = u.Scheme, u.Host
		if body != nil { // the transport closes it, also if it has not connected
			out.Body = io.NopCloser(body)
		}
		answer, err = b.transport.RoundTrip(out)
		if err == nil {
			answer.Body = &answerBody{answer.Body, sync.OnceFunc(func() { b.end(backend) })}
			return answer, nil
		}
		b.end(backend)
		if failed, ok := errors.AsType[*net.OpError](err); !ok || failed.Op != "dial" {
			return nil, err
		}
	}
}

// answerBody is the body of an answer. The request ends when it is closed.
type answerBody struct {
	io.ReadCloser
	end func()
}

func (a *answerBody) Close() error {
	defer a.end()
	return a.ReadCloser.Close()
}
