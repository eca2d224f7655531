package conn

import (
	"context"
	"sync"
	"time"
)

// closeWait bounds the wait for goroutines. It only expires if a Receiver ignores its context.
const closeWait = 5 * time.Second

// lifetime is the life of a connection or of a part of it. It ends with one cause, and waits for its goroutines.
type lifetime struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	dead    chan struct{}

	mu    sync.Mutex
	cause error // set before dead is closed
}

func newLifetime() *lifetime {
	ctx, cancel := context.WithCancel(context.Background())
	return &lifetime{ctx: ctx, cancel: cancel, dead: make(chan struct{})}
}

// Done implements [Conn].
func (l *lifetime) Done() <-chan struct{} { return l.dead }

// Err implements [Conn].
func (l *lifetime) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// alive returns nil, or the error of a call on a dead connection.
func (l *lifetime) alive() error {
	if cause := l.Err(); cause != nil {
		return &UnsentError{&LostError{cause}}
	}
	return nil
}

// die ends a life. Only the first cause counts. Running goroutines continue until cancel.
func (l *lifetime) die(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == nil {
		l.cause = cause
		close(l.dead)
	}
}

// rejectCall ends a connection, because the server refused a call without running it. It returns the error of the call,
// which may be sent again on another connection.
func (l *lifetime) rejectCall(cause error) error {
	l.die(cause)
	return &UnsentError{&LostError{cause}}
}

// spawn starts f, unless the life has ended. end waits for it.
func (l *lifetime) spawn(f func(context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil {
		return false
	}
	l.running.Go(func() { f(l.ctx) })
	return true
}

// end stops the goroutines and waits for them.
func (l *lifetime) end() {
	l.die(errClosed)
	l.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	l.wait(ctx)
}

// wait returns when no goroutine runs any more, or ctx has ended. The life must be dead.
func (l *lifetime) wait(ctx context.Context) {
	idle := make(chan struct{})
	go func() { defer close(idle); l.running.Wait() }()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
