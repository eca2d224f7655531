package interop

import (
	"context"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
)

// Defaults of [Timeouts], beside those of protocol.
const (
	defaultCall  = 60 * time.Second // since the last sign of life
	defaultTotal = 10 * time.Minute
)

// withDeadline is ctx with a deadline of ours, recognisable by its cause.
func withDeadline(ctx context.Context, d, byDefault time.Duration) (context.Context, context.CancelFunc) {
	if d = protocol.Duration(d, byDefault); d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, &conn.DeadlineError{After: d, What: "no answer"})
}

// callDeadlines end a context when a call has been silent for too long, or has
// taken too long in all.
type callDeadlines struct {
	cancel context.CancelCauseFunc
	idle   time.Duration
	silent *time.Timer // nil: no such deadline
	total  *time.Timer // nil: likewise

	mu   sync.Mutex
	held int // how many wait for somebody to answer the server, one more when it is over
}

// withCallDeadlines is ctx under both deadlines of a call. Zero is the default,
// negative none. They must be stopped.
func withCallDeadlines(ctx context.Context, t Timeouts) (context.Context, *callDeadlines) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &callDeadlines{cancel: cancel, idle: protocol.Duration(t.Call, defaultCall)}
	if p.idle > 0 {
		p.silent = time.AfterFunc(p.idle, func() {
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

// reset begins the silence anew: the server has sent something.
func (p *callDeadlines) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent != nil && p.held == 0 {
		p.silent.Reset(p.idle)
	}
}

// hold stops the silence until release: it is the server that waits, for a person maybe.
func (p *callDeadlines) hold() (release func()) {
	if p == nil || p.silent == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held++
	p.silent.Stop()
	return func() {
		p.mu.Lock()
		p.held--
		p.mu.Unlock()
		p.reset()
	}
}

func (p *callDeadlines) stop() {
	p.mu.Lock()
	p.held++ // for good
	p.mu.Unlock()
	for _, t := range [...]*time.Timer{p.silent, p.total} {
		if t != nil {
			t.Stop()
		}
	}
	p.cancel(nil)
}
