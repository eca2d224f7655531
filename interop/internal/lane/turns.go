package lane

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/toolbox"
)

// Turns bounds the requests in flight, in total and for each caller. Requests beyond the bounds wait. The requests of
// one caller keep their order, and callers take turns. So between two requests of a caller, each other caller sends at
// most one.
type Turns struct {
	Waits func(context.Context) (ended func()) // called at the start of a wait; may be nil

	mu           sync.Mutex
	bounds       Bounds // of the last request that entered
	running      int
	waiting      int
	callers      map[toolbox.Principal]*callerLine
	waitingLines []*callerLine // the lines with waiting requests, the next turn first
}

// Bounds holds the bounds of [Turns]. A value below 1 means that there is no such bound.
type Bounds struct {
	Total, PerCaller int // in flight
	Queue            int // waiting
}

// callerLine holds one caller's requests.
type callerLine struct {
	caller  toolbox.Principal
	running int
	waiting []chan error // receives nil when the request may be sent, or the reason why it never can
}

// Enter waits for the caller's turn, at most as long as wait. If err is nil, leave must follow. err is the error of
// ctx, or the reason why there was no turn.
func (t *Turns) Enter(
	ctx context.Context, caller toolbox.Principal, b Bounds, wait time.Duration,
) (leave func(), err error) {
	t.mu.Lock()
	l := t.lineOf(caller)
	leave = func() { t.leave(l) }
	if t.bounds != b {
		t.bounds = b
		t.grant()
	}
	switch isFull := b.Queue > 0 && t.waiting >= b.Queue; {
	case len(l.waiting) == 0 && t.mayRun(l):
		t.admit(l)
		t.mu.Unlock()
		return leave, nil
	case wait == 0:
		err = t.queueTimeoutError(l, wait)
	case isFull && !t.rejectNewest(l):
		err = t.queueFullError()
	}
	if err != nil {
		t.removeEmpty(l)
		t.mu.Unlock()
		return nil, err
	}
	turn := make(chan error, 1)
	l.waiting = append(l.waiting, turn)
	if len(l.waiting) == 1 {
		t.waitingLines = append(t.waitingLines, l)
	}
	t.waiting++
	t.mu.Unlock()
	if t.Waits != nil {
		defer t.Waits(ctx)()
	}
	select {
	case err = <-turn:
	case <-ctx.Done():
		err = t.stopWaiting(l, turn, wait, ctx.Err())
	case <-time.After(wait):
		err = t.stopWaiting(l, turn, wait, nil)
	}
	if err != nil {
		return nil, err
	}
	return leave, nil
}

// Load returns the number of requests in flight and of waiting ones.
func (t *Turns) Load() (running, waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running, t.waiting
}

// lineOf returns a caller's queue, and makes it if there is none. Call it with mu held.
func (t *Turns) lineOf(caller toolbox.Principal) *callerLine {
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

// removeEmpty removes the queue of a caller that has no request, waiting or in flight. Call it with mu
// held.
func (t *Turns) removeEmpty(l *callerLine) {
	if l.running == 0 && len(l.waiting) == 0 {
		delete(t.callers, l.caller)
	}
}

// mayRun reports whether one more request of a queue may be in flight. Call it with mu held.
func (t *Turns) mayRun(l *callerLine) bool {
	return (t.bounds.Total < 1 || t.running < t.bounds.Total) && (t.bounds.PerCaller < 1 || l.running < t.bounds.PerCaller)
}

func (t *Turns) admit(l *callerLine) {
	l.running++
	t.running++
}

// leave records the end of a request that Enter admitted.
func (t *Turns) leave(l *callerLine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.running--
	t.running--
	t.removeEmpty(l)
	t.grant()
}

// grant admits the next requests, as far as the bounds allow. Call it with mu held.
func (t *Turns) grant() {
	for i := 0; i < len(t.waitingLines); {
		l := t.waitingLines[i]
		if !t.mayRun(l) {
			i++
			continue
		}
		t.admit(l)
		first := l.waiting[0]
		t.waitingLines = slices.Delete(t.waitingLines, i, i+1)
		t.removeWaiting(l, 0)
		if len(l.waiting) > 0 {
			t.waitingLines = append(t.waitingLines, l)
		}
		first <- nil
	}
}

// removeWaiting removes a waiting request from a queue. If the queue is then empty, the caller removes it from
// waitingLines. Call it with mu held.
func (t *Turns) removeWaiting(l *callerLine, i int) {
	l.waiting = slices.Delete(l.waiting, i, i+1)
	t.waiting--
}

// stopWaiting ends a wait with why, or with a timeout error if why is nil. If the turn came at the same moment, the
// request is admitted, unless why is set.
func (t *Turns) stopWaiting(l *callerLine, turn chan error, wait time.Duration, why error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.grant()
	defer t.removeEmpty(l)
	if i := slices.Index(l.waiting, turn); i >= 0 {
		if why == nil {
			why = t.queueTimeoutError(l, wait)
		}
		t.removeWaiting(l, i)
		if len(l.waiting) == 0 {
			t.waitingLines = slices.DeleteFunc(t.waitingLines, func(o *callerLine) bool { return o == l })
		}
		return why
	}
	err := <-turn
	switch {
	case err != nil && why == nil:
		return err
	case err == nil && why != nil:
		l.running--
		t.running--
	}
	return why
}

// rejectNewest rejects the newest waiting request of the caller with the longest queue, if that queue is longer than
// the queue of l by more than one. It reports whether it has made room. Call it with mu held.
func (t *Turns) rejectNewest(l *callerLine) bool {
	longest := l
	for _, o := range t.waitingLines {
		if len(o.waiting) > len(longest.waiting) {
			longest = o
		}
	}
	last := len(longest.waiting) - 1
	if last <= len(l.waiting) {
		return false
	}
	longest.waiting[last] <- t.queueFullError()
	t.removeWaiting(longest, last) // not its last request, because l is shorter
	return true
}

// BusyError is the reason why a request was not sent. A later attempt may succeed.
type BusyError struct{ why string }

func (e *BusyError) Error() string { return e.why }

func newBusyError(format string, args ...any) *BusyError {
	return &BusyError{fmt.Sprintf(format, args...)}
}

// queueFullError returns the error of a request that cannot even wait. Call it with mu held.
func (t *Turns) queueFullError() error {
	return newBusyError("%d requests wait for their turn there, which is its maxQueue", t.waiting)
}

// queueTimeoutError returns the error of a request that waited too long. Call it with mu held.
func (t *Turns) queueTimeoutError(l *callerLine, wait time.Duration) error {
	if t.bounds.PerCaller > 0 && l.running >= t.bounds.PerCaller {
		return newBusyError("%d calls of this caller are in flight there, and none ended within %v", l.running, wait)
	}
	return newBusyError("%d requests are in flight there, which is its maxConcurrent, and no turn came within %v",
		t.running, wait)
}
