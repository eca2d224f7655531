package interop

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/payload"
)

// Defaults of [Timeouts]. Package protocol has the other defaults.
const (
	defaultCall  = 60 * time.Second // since the server's last message of any kind
	defaultTotal = 10 * time.Minute
)

// withDeadline returns ctx with one of our own deadlines. The cause of the context
// identifies that deadline.
func withDeadline(ctx context.Context, d, defaultValue time.Duration) (context.Context, context.CancelFunc) {
	d = protocol.Duration(d, defaultValue)
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, &conn.DeadlineError{After: d, What: "no answer"})
}

// callDeadlines ends a context if a call receives nothing for too long, or takes too
// long in total.
type callDeadlines struct {
	cancel  context.CancelCauseFunc
	idle    time.Duration
	silence *time.Timer // nil if there is no such deadline
	total   *time.Timer // nil if there is no such deadline

	mu     sync.Mutex
	pauses int // questions of the server without an answer yet, plus one after stop
}

// withCallDeadlines returns ctx with both deadlines of a call. Zero means the default,
// and a negative value means no deadline. The caller must stop them.
func withCallDeadlines(ctx context.Context, t Timeouts) (context.Context, *callDeadlines) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &callDeadlines{cancel: cancel, idle: protocol.Duration(t.Call, defaultCall)}
	if p.idle > 0 {
		p.silence = time.AfterFunc(p.idle, func() {
			cancel(&conn.DeadlineError{After: p.idle, What: "no answer and no progress"})
		})
	}
	if total := protocol.Duration(t.Total, defaultTotal); total > 0 {
		p.total = time.AfterFunc(total, func() {
			cancel(&conn.DeadlineError{After: total, What: "no result in all"})
		})
	}
	return ctx, p
}

// reset restarts the silence timer after a message from the server.
func (p *callDeadlines) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silence != nil && p.pauses == 0 {
		p.silence.Reset(p.idle)
	}
}

// pause pauses the silence timer until release is called. During that time the server
// waits for us, perhaps for a person.
func (p *callDeadlines) pause() (release func()) {
	if p == nil || p.silence == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pauses++
	p.silence.Stop()
	return func() {
		p.mu.Lock()
		p.pauses--
		p.mu.Unlock()
		p.reset()
	}
}

func (p *callDeadlines) stop() {
	p.mu.Lock()
	p.pauses++ // stays positive, so that no later reset starts the timer again
	p.mu.Unlock()
	for _, t := range [...]*time.Timer{p.silence, p.total} {
		if t != nil {
			t.Stop()
		}
	}
	p.cancel(nil)
}

const (
	// maxUnanswered is how many requests in a row may reach their deadline without a reply. Then the
	// server is checked.
	maxUnanswered = 3
	// aliveWait bounds the wait for the reply to that check.
	aliveWait = 10 * time.Second
)

// recordTimeout records that a request has reached its deadline. A server that accepts requests and replies
// to none, not even to a ping, has hung. Its connection is then closed. A fleet makes another, and
// meanwhile returns that reason to callers.
func (e *Endpoint) recordTimeout(c conn.Conn, handshake conn.Handshake) {
	if e.timeouts.Add(1) != maxUnanswered {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase.Usable() {
		e.running.Go(func() { e.checkAlive(c, handshake) })
	}
}

// recordReply records a reply of the server.
func (e *Endpoint) recordReply() {
	if e.timeouts.Load() != 0 {
		e.timeouts.Store(0)
	}
}

// checkAlive closes the connection unless its server replies. Since 2026-07-28 there is no ping, so
// server/discover is used.
func (e *Endpoint) checkAlive(c conn.Conn, handshake conn.Handshake) {
	ctx, cancel := context.WithTimeout(e.ctx, aliveWait)
	defer cancel()
	x := conn.Request{Method: protocol.MethodPing}
	if handshake.Era == Modern {
		params, err := payload.ServerParams(nil, e.modernMeta, 0)
		if err != nil {
			return
		}
		x.Method, x.Params = protocol.MethodDiscover, params
	}
	if _, err := c.Call(ctx, x); err == nil || isErrorReply(err) || ctx.Err() == nil || e.ctx.Err() != nil {
		e.timeouts.Store(0) // otherwise its end is noticed anyway
		return
	}
	why := fmt.Errorf("the server has hung: %d requests in a row were not answered, nor %s within %v",
		maxUnanswered, x.Method, aliveWait)
	if e.fail("connection given up", why) {
		c.Close()
	}
}
