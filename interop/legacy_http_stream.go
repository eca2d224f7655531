package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/indusagi/indus/internal/wire"
)

const (
	httpRetryDefault = time.Second            // before a reconnect that the server did not time
	httpRetryFloor   = 100 * time.Millisecond // of a stream that brings nothing, whatever the server wishes
	httpRetryMax     = 30 * time.Second       // of our own back-off
	httpResumeTries  = 5                      // failures in a row before a call is given up
)

// stream takes a call's answer from its event stream, and from the streams that
// resume it: a server may end the connection at any time after an event with an
// id, and go on where the client asks for more (2025-11-25, basic/transports;
// SEP-1699).
func (c *httpLegacy) stream(ctx context.Context, id int64, sink *legacySink, r *httpReply) (json.RawMessage, error) {
	s := &eventStream{
		id: id, retry: -1, secrets: c.server.secrets,
		note: func(env *wire.Envelope) error { c.told(sink, env); return nil },
		ask:  func(env *wire.Envelope) { c.asks(sink.of, env) },
	}
	for {
		s.heard = false
		result, err, final := s.read(c.server.events(r))
		if final {
			r.drain(c.httpLife)
			return result, err
		}
		r.close()
		if s.lastID == "" {
			return nil, orContext(ctx, c.httpLife, err)
		}
		if r, err = c.resume(ctx, s, err); err != nil {
			return nil, err
		}
	}
}

// resume opens the stream that goes on where the last one was cut.
func (c *httpLegacy) resume(ctx context.Context, s *eventStream, cut error) (*httpReply, error) {
	wait := s.retry
	if wait < 0 {
		wait = httpRetryDefault
	}
	wait = max(wait, httpRetryFloor) // events without a message cost a server nothing
	for tries := 1; ; tries++ {
		if err := c.pause(ctx, wait); err != nil {
			return nil, err
		}
		r, err := c.get(ctx, s.lastID)
		if err == nil {
			return r, nil
		}
		if !passing(err) || tries == httpResumeTries {
			return nil, fmt.Errorf("%w; resuming it: %w", cut, err)
		}
		wait = jittered(max(wait, httpRetryDefault), tries)
	}
}

// get opens a stream of events. lastID resumes one; "" opens the standing one.
func (c *httpLegacy) get(ctx context.Context, lastID string) (*httpReply, error) {
	h := c.headers(httpAcceptEvents)
	if lastID != "" {
		h[httpKeyLastEvent] = []string{lastID}
	}
	r, err := c.server.send(ctx, c.httpLife, http.MethodGet, h, nil)
	if err != nil {
		return nil, err
	}
	switch r.kind() {
	case answerEvents:
		return r, nil
	case answerFailed:
		err = c.server.failure(r)
	default:
		err = c.server.odd(r)
	}
	r.close()
	return nil, err
}

// passing reports a failure of a reconnect that may be over the next time: no
// answer, or one of a server (or of what stands before it) that is overloaded
// or starting.
func passing(err error) bool {
	var ne *netError
	var he *HTTPError
	switch {
	case errors.As(err, &ne):
		return true
	case errors.As(err, &he):
		return he.Status >= 500 && he.Status != http.StatusNotImplemented ||
			he.Status == http.StatusTooManyRequests || he.Status == http.StatusConflict
	}
	return false
}

// pause waits, or returns why it must not.
func (c *httpLegacy) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.dead:
		return &lostError{c.err()}
	}
}

// jittered is d, doubled with each try up to the maximum, and up to a quarter more.
func jittered(d time.Duration, tries int) time.Duration {
	for ; tries > 0 && d < httpRetryMax; tries-- {
		d = min(2*d, httpRetryMax)
	}
	return d + rand.N(d/4+1)
}
