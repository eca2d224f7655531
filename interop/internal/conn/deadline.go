package conn

import (
	"context"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
)

// Defaults of the deadlines of a call. Package protocol has the other defaults.
const (
	defaultCall  = 60 * time.Second // since the server's last message of any kind
	DefaultTotal = 10 * time.Minute
)

// WithDeadline returns ctx with one of our own deadlines. The cause of the context
// identifies that deadline.
func WithDeadline(ctx context.Context, d, defaultValue time.Duration) (context.Context, context.CancelFunc) {
	d = protocol.Duration(d, defaultValue)
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, &DeadlineError{After: d, What: "no answer"})
}

// CallDeadlines ends a context if a call receives nothing for too long, or takes too
// long in total.
type CallDeadlines struct {
	cancel  context.CancelCauseFunc
	idle    time.Duration
	silence *time.Timer // nil if there is no such deadline
	total   *time.Timer // nil if there is no such deadline

	mu     sync.Mutex
	pauses int // questions of the server without an answer yet, plus one after stop
}

// WithCallDeadlines returns ctx with both deadlines of a call: silence since the last message, and the total time.
// Zero means the default, and a negative value means no deadline. The caller must stop them.
func WithCallDeadlines(ctx context.Context, idle, total time.Duration) (context.Context, *CallDeadlines) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &CallDeadlines{cancel: cancel, idle: protocol.Duration(idle, defaultCall)}
	if p.idle > 0 {
		p.silence = time.AfterFunc(p.idle, func() {
			cancel(&DeadlineError{After: p.idle, What: "no answer and no progress"})
		})
	}
	if total := protocol.Duration(total, DefaultTotal); total > 0 {
		p.total = time.AfterFunc(total, func() {
			cancel(&DeadlineError{After: total, What: "no result in all"})
		})
	}
	return ctx, p
}

// Reset restarts the silence timer after a message from the server.
func (p *CallDeadlines) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silence != nil && p.pauses == 0 {
		p.silence.Reset(p.idle)
	}
}

// Pause pauses the silence timer until release is called. During that time the server
// waits for us, perhaps for a person.
func (p *CallDeadlines) Pause() (release func()) {
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
		p.Reset()
	}
}

// Stop ends the context and both timers.
func (p *CallDeadlines) Stop() {
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
