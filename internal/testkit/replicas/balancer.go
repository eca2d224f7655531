package replicas

import (
	"context"
	"errors"
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
}

// NewBalancer starts a balancer for backends.
func NewBalancer(t testing.TB, backends ...string) *Balancer {
	t.Helper()
	b := &Balancer{backends: backends}
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
			ctx, cancel := context.WithTimeout(ctx, time.Second)
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
	for end := time.Now().Add(30 * time.Second); len(b.Ready()) != n; time.Sleep(checkInterval) {
		if time.Now().After(end) {
			t.Fatalf("%d of %v are ready, want %d", len(b.Ready()), b.backends, n)
		}
	}
}

// next returns the backends in the order in which a request tries them.
func (b *Balancer) next() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	var out []string
	for i := range b.ready {
		out = append(out, b.ready[(b.turn+i)%len(b.ready)])
	}
	return out
}

// roundRobin sends requests to the backends of a balancer.
type roundRobin struct {
	*Balancer
	transport *http.Transport
}

func (b *roundRobin) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	err = errors.New("no backend is ready")
	body := r.Body
	for _, backend := range b.next() {
		u, _ := url.Parse(backend)
		out := r.Clone(r.Context())
		out.URL.Scheme, out.URL.Host = u.Scheme, u.Host
		if body != nil { // the transport closes it, also if it has not connected
			out.Body = io.NopCloser(body)
		}
		answer, err = b.transport.RoundTrip(out)
		failed, ok := errors.AsType[*net.OpError](err)
		if err == nil || !ok || failed.Op != "dial" {
			return answer, err
		}
	}
	return nil, err
}
