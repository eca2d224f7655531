package gateway

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/replica"
)

const (
	defaultDrain = 10 * time.Second
	// shutdownWait bounds the wait for responses that are being written.
	shutdownWait = 5 * time.Second
)

// Run serves [Gateway.Handler] on l, and other replicas on Options.Peers, until ctx ends. Then it stops the gateway.
// Connected clients can send no new requests, and requests in flight have Options.Drain to finish. Run then returns
// nil, or [context.DeadlineExceeded] if calls were given up. If a listener fails, it returns that error.
func (g *Gateway) Run(ctx context.Context, l net.Listener) error {
	type listening struct {
		net.Listener
		*http.Server
	}
	var fresh freshConns
	served := []listening{{l, g.server(g.Handler(), &fresh)}}
	if r := g.opts.Host.Replica; r != nil && g.opts.Peers != nil {
		peers := g.server(r.Handler(g.Handler()), &fresh)
		peers.MaxHeaderBytes = maxPeerHeader
		served = append(served, listening{r.Listener(g.opts.Peers), peers})
		defer r.Close()
	}
	failed := make(chan error, len(served))
	for _, l := range served { // before Stop, which waits for all that is running
		g.running.Go(func() { failed <- l.Serve(l.Listener) })
	}
	ended := make(chan error, 1)
	unused := context.AfterFunc(ctx, func() {
		for _, l := range served {
			_ = l.Listener.Close() // connected clients can still learn of the end, or cancel their calls
		}
		err := g.Stop() // ends the streams, for which Shutdown would wait
		end, cancel := context.WithTimeout(context.Background(), shutdownWait)
		defer cancel()
		fresh.close()
		for _, l := range served {
			if l.Shutdown(end) != nil {
				_ = l.Server.Close()
			}
		}
		ended <- err
	})
	err := <-failed
	if unused() { // a listener failed before ctx ended
		for _, l := range served {
			_ = l.Server.Close()
		}
		g.Close()
		return err
	}
	return <-ended
}

// maxPeerHeader bounds the header of a request of another replica, in bytes: the client's, and the claims of its token.
const maxPeerHeader = 256 << 10

// isForwarded reports whether another replica sent the request, which has authenticated its caller.
func isForwarded(r *http.Request) bool { return replica.From(r.Context()) != nil }

// server returns an HTTP server with limits for clients that are not authenticated yet.
func (g *Gateway) server(h http.Handler, fresh *freshConns) *http.Server {
	logger := cmp.Or(g.opts.Host.Logger, slog.New(slog.DiscardHandler))
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ConnState: fresh.follow,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// freshConns holds the connections on which no request has begun. Proxies open some in advance, and Shutdown would wait
// five seconds for them.
type freshConns struct {
	mu    sync.Mutex
	conns map[net.Conn]bool
}

// follow implements http.Server.ConnState.
func (f *freshConns) follow(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conns == nil {
		f.conns = map[net.Conn]bool{}
	}
	if delete(f.conns, c); state == http.StateNew {
		f.conns[c] = true
	}
}

func (f *freshConns) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		_ = c.Close()
	}
}

// Stop drains the gateway and then closes it. Requests in flight have Options.Drain to finish. It returns
// [context.DeadlineExceeded] if calls were given up.
func (g *Gateway) Stop() error {
	end, cancel := context.WithTimeout(context.Background(), protocol.Duration(g.opts.Drain, defaultDrain))
	defer cancel()
	err := g.Drain(end)
	g.Close()
	return err
}

// Drain refuses new requests in every view, ends questions to clients, and waits for requests in flight, also those of
// [Gateway.Call]. See [host.Host.Drain].
func (g *Gateway) Drain(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true // no view is made any more
	g.mu.Unlock()
	var draining sync.WaitGroup
	for _, v := range g.allViews() {
		draining.Go(func() { _ = v.host.Drain(ctx) }) // it gives up only if ctx ends
	}
	direct := make(chan struct{})
	go func() {
		g.direct.Wait()
		close(direct)
	}()
	draining.Wait()
	select {
	case <-direct:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// The paths for load balancers: whether the process answers, and whether it takes requests. pathHealth is the older
// path of pathReady.
const (
	pathLive   = "/livez"
	pathReady  = "/readyz"
	pathHealth = "/healthz"
)

func isHealth(path string) bool { return path == pathLive || path == pathReady || path == pathHealth }

// Leave makes /readyz answer 503, while requests are still served. Load balancers then send requests elsewhere, and
// clients are asked to close their connections. It is for the time before [Gateway.Run] ends.
func (g *Gateway) Leave() { g.leaving.Store(true) }

// health answers any caller. /livez is 200 while the process answers. The other paths are 200 while clients are
// served, and 503 after Leave and once the gateway is drained. A server that is down is no reason to send clients
// elsewhere, and not every caller may know the servers.
func (g *Gateway) health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "it is asked with GET", http.StatusMethodNotAllowed)
		return
	}
	g.mu.Lock()
	stopping := g.closed || g.leaving.Load()
	g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	isReady := func() bool { return g.opts.Ready == nil || g.opts.Ready() }
	if r.URL.Path != pathLive && (stopping || !isReady()) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"status":"stopping"}`)
		return
	}
	_, _ = io.WriteString(w, `{"status":"ok"}`)
}
