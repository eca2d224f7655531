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
	cancel context.CancelCauseFunc
	idle   time.Duration // 0: silence does not matter
	most   time.Duration // in total; 0: any time

	mu     sync.Mutex
	timer  *time.Timer // runs until the next of both ends; nil if there is none
	silent time.Time   // the end of the silence, if pauses is 0
	end    time.Time   // of the total time
	pauses int         // questions of the server without an answer yet, plus one after stop
}

// WithCallDeadlines returns ctx with both deadlines of a call: silence since the last message, and the total time.
// Zero means the default, and a negative value means no deadline. The caller must stop them.
func WithCallDeadlines(ctx context.Context, idle, total time.Duration) (context.Context, *CallDeadlines) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &CallDeadlines{
		cancel: cancel, idle: protocol.Duration(idle, defaultCall), most: protocol.Duration(total, DefaultTotal),
	}
	now := time.Now()
	p.silent, p.end = now.Add(p.idle), now.Add(p.most)
	p.mu.Lock()
	defer p.mu.Unlock()
	if next, ok := p.next(); ok {
		p.timer = time.AfterFunc(next.Sub(now), p.expire)
	}
	return ctx, p
}

// next returns the time at which a deadline ends, unless there is none. Call it with mu held.
func (p *CallDeadlines) next() (next time.Time, ok bool) {
	switch silence := p.idle > 0 && p.pauses == 0; {
	case silence && (p.most <= 0 || p.silent.Before(p.end)):
		return p.silent, true
	case p.most > 0:
		return p.end, true
	}
	return time.Time{}, false
}

// expire ends the context if a deadline is over, and otherwise waits for the next one.
func (p *CallDeadlines) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	next, ok := p.next()
	switch {
	case !ok:
	case now.Before(next):
		p.timer.Reset(next.Sub(now))
	case p.most > 0 && !now.Before(p.end):
		p.cancel(&DeadlineError{After: p.most, What: "no result in all"})
	default:
		p.cancel(&DeadlineError{After: p.idle, What: "no answer and no progress"})
	}
}

// Reset begins the silence anew after a message from the server. The timer is not touched: it waits again when it
// expires.
func (p *CallDeadlines) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = time.Now().Add(p.idle)
}

// Pause ends the silence until release is called. During that time the server waits for us, perhaps for a person.
func (p *CallDeadlines) Pause() (release func()) {
	if p == nil || p.idle <= 0 {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pauses++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.pauses--
		p.silent = time.Now().Add(p.idle)
		if next, ok := p.next(); ok && p.pauses == 0 {
			p.timer.Reset(time.Until(next)) // it may wait for the total time
		}
	}
}

// Stop ends the context and the timer.
func (p *CallDeadlines) Stop() {
	p.mu.Lock()
	p.pauses++ // stays positive, so that no later release starts the timer again
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.cancel(nil)
}
