package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

const (
	httpRetryDefault = time.Second            // before a reconnect without a time from the server
	httpRetryFloor   = 100 * time.Millisecond // for a stream without events, whatever the server requests
	httpRetryMax     = 30 * time.Second       // of the client's own backoff
	httpResumeTries  = 5                      // failures in a row before a call is given up
)

// events returns the state of the streams of one call. p is nil for the standing stream.
func (c *streamable) events(id json.RawMessage, p *pending) *eventStream {
	of := uint64(0)
	if p != nil {
		of = p.request.Of
	}
	return &eventStream{
		id: id, retry: -1, server: c.server, session: c.s,
		onNotification: func(env *wire.Envelope) error {
			if owner := c.s.handleNotification(env, p); owner != nil {
				owner.deliver() // its own goroutine waits for the response
			}
			return nil
		},
		onRequest: func(env *wire.Envelope) {
			if p != nil {
				p.begun.Store(true)
			}
			c.s.handleRequest(env, of)
		},
	}
}

// resume opens the stream that continues a cut one. A server may end the connection at any time after an event with an
// id, and continue when the client reconnects (2025-11-25, basic/transports; SEP-1699).
func (c *streamable) resume(ctx context.Context, s *eventStream, cut error) (*httpReply, error) {
	wait := s.pause()
	if s.received {
		s.empty = 0
	} else if s.empty++; s.empty > 1 { // events without a message cost a server nothing
		wait = min(jittered(wait, s.empty-1), max(wait, httpRetryDefault))
	}
	for tries := 1; ; tries++ {
		if err := c.pause(ctx, wait); err != nil {
			return nil, err
		}
		r, err := c.get(ctx, s.lastID)
		if err == nil {
			return r, nil
		}
		if !isTemporary(err) || tries == httpResumeTries {
			return nil, fmt.Errorf("%w; resuming it: %w", cut, err)
		}
		wait = jittered(max(wait, httpRetryDefault), tries)
	}
}

// pause returns the wait before a reconnect that the server requests, within bounds.
func (s *eventStream) pause() time.Duration {
	if s.retry < 0 {
		return httpRetryDefault
	}
	return max(s.retry, httpRetryFloor)
}

// get opens a stream of events. lastID resumes a stream; "" opens the standing one.
func (c *streamable) get(ctx context.Context, lastID string) (*httpReply, error) {
	h := c.headers(httpAcceptEvents)
	if lastID != "" {
		h[httpKeyLastEvent] = []string{lastID}
	}
	return c.server.openEvents(ctx, c.s.lifetime, h)
}

// declaresStream reports whether a server declares a feature that uses a standing stream: changes, updates or logs. For
// other servers, no connection is opened for it.
func declaresStream(capabilities json.RawMessage) bool {
	_, logs := wire.Lookup(capabilities, "logging")
	return logs || protocol.Declares(capabilities, "resources", "subscribe") ||
		protocol.Declares(capabilities, "tools", "listChanged") ||
		protocol.Declares(capabilities, "prompts", "listChanged") ||
		protocol.Declares(capabilities, "resources", "listChanged")
}

// keepStanding keeps the standing stream open until the connection dies. On this stream the server sends messages that
// belong to no call. If the server answers that it has none, keepStanding returns. The end of the stream does not end
// the connection. onAnswer is called when the server has answered.
func (c *streamable) keepStanding(ctx context.Context, onAnswer func()) {
	defer onAnswer()
	s := c.events(nil, nil)
	opened := false
	for failed := 0; ; {
		r, err := c.get(ctx, s.lastID)
		onAnswer()
		switch {
		case err == nil:
			if opened && s.lastID == "" && c.s.opts.Missed != nil { // nothing is replayed
				c.s.opts.Missed()
			}
			opened, s.received = true, false
			start := time.Now()
			c.readStanding(s, r)
			failed++
			if pause := max(s.pause(), httpRetryDefault); s.received || s.retry >= pause || time.Since(start) >= pause {
				failed = 0 // otherwise it ended at once
			}
		case !isTemporary(err):
			if opened { // the stream existed, so the answer concerns the session
				_ = c.endIfLost(ctx, err, nil)
			}
			if s.lastID == "" {
				c.s.log.Debug("no standing stream", "err", err)
				return
			}
			s.lastID = "" // or the event, which the server no longer has
		default:
			failed++
		}
		wait := s.pause()
		if failed > 1 {
			wait = jittered(wait, failed-1)
		}
		if c.pause(ctx, wait) != nil {
			return
		}
	}
}

// readStanding reads messages from one standing stream until it ends. A broken message belongs to no call, so it is
// logged and skipped.
func (c *streamable) readStanding(s *eventStream, r *httpReply) {
	defer r.close()
	events := c.server.events(r)
	for {
		_, err, final := s.read(r, events)
		if !final {
			return
		}
		c.s.log.Warn("left out a message on the standing stream", "err", err)
	}
}

// isTemporary reports whether a failed reconnect may succeed the next time. There was no answer, or the server or an
// intermediary is overloaded or starting.
func isTemporary(err error) bool {
	status := statusOf(err)
	return errors.As(err, new(*networkError)) || status >= 500 && status != http.StatusNotImplemented ||
		status == http.StatusTooManyRequests || status == http.StatusConflict
}

// pause waits for d. It returns an error if ctx or the connection ends.
func (c *streamable) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.s.Done():
		return &LostError{c.s.Err()}
	}
}

// jittered returns d, doubled with each try up to the maximum, plus up to a quarter.
func jittered(d time.Duration, tries int) time.Duration {
	for ; tries > 0 && d < httpRetryMax; tries-- {
		d = min(2*d, httpRetryMax)
	}
	return d + rand.N(d/4+1)
}
