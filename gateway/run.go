package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
)

const (
	defaultDrain = 10 * time.Second
	// shutdownWait bounds the wait for responses that are being written.
	shutdownWait = 5 * time.Second
)

// Run serves [Gateway.Handler] on l until ctx ends, and then stops the gateway. Connected clients can send no new
// requests, and requests in flight have Options.Drain to finish. Run then returns nil, or [context.DeadlineExceeded] if
// calls were given up. If l fails, it returns that error.
func (g *Gateway) Run(ctx context.Context, l net.Listener) error {
	logger := cmp.Or(g.opts.Host.Logger, slog.New(slog.DiscardHandler))
	server := &http.Server{ // limits for clients that are not authenticated yet
		Handler: g.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	unused := context.AfterFunc(ctx, func() {
		_ = l.Close()   // connected clients can still learn of the end, or cancel their calls
		err := g.Stop() // ends the streams, for which Shutdown would wait
		end, cancel := context.WithTimeout(context.Background(), shutdownWait)
		defer cancel()
		if server.Shutdown(end) != nil {
			_ = server.Close()
		}
		ended <- err
	})
	err := server.Serve(l)
	if unused() { // l failed before ctx ended
		_ = server.Close()
		g.Close()
		return err
	}
	return <-ended
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

// Drain refuses new requests in every view, ends questions to clients, and waits for requests in flight. See
// [host.Host.Drain].
func (g *Gateway) Drain(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true // no view is made any more
	g.mu.Unlock()
	all := g.allViews()
	failed := make([]error, len(all))
	var draining sync.WaitGroup
	for i, v := range all {
		draining.Go(func() { failed[i] = v.host.Drain(ctx) })
	}
	draining.Wait()
	if errors.Join(failed...) != nil {
		return ctx.Err()
	}
	return nil
}
