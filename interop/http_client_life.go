package interop

import (
	"context"
	"sync"
	"time"
)

// httpCloseWait bounds close: it only runs out where a receiver ignores its context.
const httpCloseWait = 5 * time.Second

// httpLife is the life of a connection that is not one stream: it may die, and
// it waits for what it started.
type httpLife struct {
	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	running sync.WaitGroup
	dead    chan struct{}

	mu     sync.Mutex
	cause  error // set before dead is closed
	closed bool
}

func newHTTPLife() *httpLife {
	ctx, cancel := context.WithCancel(context.Background())
	return &httpLife{ctx: ctx, cancel: cancel, dead: make(chan struct{})}
}

func (l *httpLife) done() <-chan struct{} { return l.dead }

func (l *httpLife) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// alive is nil, or what a call on a dead connection returns.
func (l *httpLife) alive() error {
	if cause := l.err(); cause != nil {
		return &unsentError{&lostError{cause}}
	}
	return nil
}

// rejected ends the connection for what a server has answered to a call in the place of
// running it, and is what that call returns: it may go out again on another one.
func (l *httpLife) rejected(cause error) error {
	l.die(cause)
	return &unsentError{&lostError{cause}}
}

// die is the one way a connection ends; only the first cause counts. Calls in
// flight go on until close.
func (l *httpLife) die(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == nil {
		l.cause = cause
		close(l.dead)
	}
}

// spawn starts f, which close waits for; false after close.
func (l *httpLife) spawn(f func(context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.running.Add(1)
	go func() { defer l.running.Done(); f(l.ctx) }()
	return true
}

// end stops all that was started and waits for it.
func (l *httpLife) end() {
	l.die(errClosed)
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	idle := make(chan struct{})
	go func() { defer close(idle); l.running.Wait() }()
	timeout := time.NewTimer(httpCloseWait)
	defer timeout.Stop()
	select {
	case <-idle:
	case <-timeout.C:
	}
}
