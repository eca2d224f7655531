package interop

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/toolbox"
)

const (
	defaultMaxCalls = 1000
	defaultCallWait = 10 * time.Second
	defaultMaxQueue = 100
)

// turns bounds the requests in flight, in total and for each caller. Requests beyond the bounds wait. The requests of
// one caller keep their order, and callers take turns. So between two requests of a caller, each other caller sends at
// most one.
type turns struct {
	mu      sync.Mutex
	bounds  bounds // of the last request that entered
	running int
	waiting int
	callers map[toolbox.Principal]*callerLine
	next    []*callerLine // the lines with waiting requests, the next turn first
}

// bounds holds the bounds of turns. A value below 1 means that there is no such bound.
type bounds struct {
	all, each int // in flight
	queue     int // waiting
}

// callerLine holds one caller's requests.
type callerLine struct {
	caller  toolbox.Principal
	running int
	waiting []chan error // receives nil when the request may be sent, or the reason why it never can
}

// enter waits for the caller's turn, at most as long as wait. If err is nil, leave must follow. err is the error of
// ctx, or the reason why there was no turn.
func (t *turns) enter(ctx context.Context, caller toolbox.Principal, b bounds, wait time.Duration) (leave func(), err error) {
	t.mu.Lock()
	l := t.lineOf(caller)
	leave = func() { t.leave(l) }
	if t.bounds != b {
		t.bounds = b
		t.grant()
	}
	switch full := b.queue > 0 && t.waiting >= b.queue; {
	case len(l.waiting) == 0 && t.mayGo(l):
		t.begin(l)
		t.mu.Unlock()
		return leave, nil
	case wait == 0:
		err = t.tooLate(l, wait)
	case full && !t.makeRoom(l):
		err = t.tooMany()
	}
	if err != nil {
		t.forget(l)
		t.mu.Unlock()
		return nil, err
	}
	mine := make(chan error, 1)
	if l.waiting = append(l.waiting, mine); len(l.waiting) == 1 {
		t.next = append(t.next, l)
	}
	t.waiting++
	t.mu.Unlock()
	select {
	case err = <-mine:
	case <-ctx.Done():
		err = t.quit(l, mine, wait, ctx.Err())
	case <-time.After(wait):
		err = t.quit(l, mine, wait, nil)
	}
	if err != nil {
		return nil, err
	}
	return leave, nil
}

// lineOf returns a caller's queue, and makes it if there is none. Call it with mu held.
func (t *turns) lineOf(caller toolbox.Principal) *callerLine {
	l := t.callers[caller]
	if l == nil {
		if t.callers == nil {
			t.callers = map[toolbox.Principal]*callerLine{}
		}
		l = &callerLine{caller: caller}
		t.callers[caller] = l
	}
	return l
}

// forget removes the queue of a caller that has no request, waiting or in flight. Call it with mu
// held.
func (t *turns) forget(l *callerLine) {
	if l.running == 0 && len(l.waiting) == 0 {
		delete(t.callers, l.caller)
	}
}

// mayGo reports whether one more request of a queue may be in flight. Call it with mu held.
func (t *turns) mayGo(l *callerLine) bool {
	return (t.bounds.all < 1 || t.running < t.bounds.all) && (t.bounds.each < 1 || l.running < t.bounds.each)
}

func (t *turns) begin(l *callerLine) {
	l.running++
	t.running++
}

// leave records the end of a request that enter admitted.
func (t *turns) leave(l *callerLine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.running--
	t.running--
	t.forget(l)
	t.grant()
}

// grant admits the next requests, as far as the bounds allow. Call it with mu held.
func (t *turns) grant() {
	for i := 0; i < len(t.next); {
		l := t.next[i]
		if !t.mayGo(l) {
			i++
			continue
		}
		t.begin(l)
		first := l.waiting[0]
		t.next = slices.Delete(t.next, i, i+1)
		if t.take(l, 0); len(l.waiting) > 0 {
			t.next = append(t.next, l)
		}
		first <- nil
	}
}

// take removes a waiting request from a queue. If the queue is then empty, the caller of take removes it from next.
// Call it with mu held.
func (t *turns) take(l *callerLine, i int) {
	l.waiting = slices.Delete(l.waiting, i, i+1)
	t.waiting--
}

// quit ends a wait with why, or with a timeout error if why is nil. If the turn came at the same moment, the request is
// admitted, unless why is set.
func (t *turns) quit(l *callerLine, mine chan error, wait time.Duration, why error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.grant()
	defer t.forget(l)
	if i := slices.Index(l.waiting, mine); i >= 0 {
		if why == nil {
			why = t.tooLate(l, wait)
		}
		if t.take(l, i); len(l.waiting) == 0 {
			t.next = slices.DeleteFunc(t.next, func(o *callerLine) bool { return o == l })
		}
		return why
	}
	err := <-mine
	switch {
	case err != nil && why == nil:
		return err
	case err == nil && why != nil:
		l.running--
		t.running--
	}
	return why
}

// makeRoom rejects the newest waiting request of the caller with the longest queue, if that queue is longer than the
// queue of l by more than one. It reports whether it has made room. Call it with mu held.
func (t *turns) makeRoom(l *callerLine) bool {
	longest := l
	for _, o := range t.next {
		if len(o.waiting) > len(longest.waiting) {
			longest = o
		}
	}
	last := len(longest.waiting) - 1
	if last <= len(l.waiting) {
		return false
	}
	longest.waiting[last] <- t.tooMany()
	t.take(longest, last) // not its last request, because l is shorter
	return true
}

// busyError is the reason why a request was not sent. A later attempt may succeed.
type busyError struct{ why string }

func (e *busyError) Error() string { return e.why }

func newBusyError(format string, args ...any) *busyError {
	return &busyError{fmt.Sprintf(format, args...)}
}

// tooMany returns the error of a request that cannot even wait. Call it with mu held.
func (t *turns) tooMany() error {
	return newBusyError("%d requests wait for their turn there, which is its maxQueue", t.waiting)
}

// tooLate returns the error of a request that waited too long. Call it with mu held.
func (t *turns) tooLate(l *callerLine, wait time.Duration) error {
	if t.bounds.each > 0 && l.running >= t.bounds.each {
		return newBusyError("%d calls of this caller are in flight there, and none ended within %v", l.running, wait)
	}
	return newBusyError("%d requests are in flight there, which is its maxConcurrent, and no turn came within %v", t.running, wait)
}
