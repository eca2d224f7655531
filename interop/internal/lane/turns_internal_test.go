package lane

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/toolbox"
)

// turnRequest is a request and its outcome.
type turnRequest struct {
	name     string
	err      error // when it was refused
	release  chan struct{}
	admitted bool
	cancel   context.CancelFunc
}

// turnQueue holds the requests that want a turn, and the order in which they got one.
type turnQueue struct {
	*testing.T
	turns Turns

	mu       sync.Mutex
	admitted []string
}

// request makes a caller request a turn, and waits until it has one, is refused or waits.
func (v *turnQueue) request(name string, b Bounds, wait time.Duration) *turnRequest {
	ctx, cancel := context.WithCancel(v.Context())
	one := &turnRequest{name: name, release: make(chan struct{}), cancel: cancel}
	go func() {
		caller, _, _ := strings.Cut(name, " ")
		leave, err := v.turns.Enter(ctx, toolbox.Principal(caller), b, wait)
		one.err = err
		if err != nil {
			return
		}
		one.admitted = true
		v.mu.Lock()
		v.admitted = append(v.admitted, name)
		v.mu.Unlock()
		<-one.release
		leave()
	}()
	synctest.Wait()
	return one
}

// finish ends a request, and waits until the next request has its turn.
func (v *turnQueue) finish(one *turnRequest) {
	v.Helper()
	if !one.admitted {
		v.Errorf("%s had no turn: %v", one.name, one.err)
		return
	}
	close(one.release)
	synctest.Wait()
}

func (v *turnQueue) wantRefused(one *turnRequest, why string) {
	v.Helper()
	if e, ok := errors.AsType[*BusyError](one.err); !ok || !strings.Contains(e.why, why) {
		v.Errorf("%s is told %v, want …%s…", one.name, one.err, why)
	}
}

func TestOneWhoFloodsIsBeforeNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, b := &turnQueue{T: t}, Bounds{Total: 1, Queue: 4}
		ann := v.request("ann 1", b, time.Hour)
		var flood []*turnRequest
		for _, who := range []string{"ann 2", "ann 3", "ann 4", "ann 5"} {
			flood = append(flood, v.request(who, b, time.Hour))
		}
		v.wantRefused(v.request("ann 6", b, time.Hour), "4 requests wait for their turn there, which is its maxQueue")
		bob, eve := v.request("bob 1", b, time.Hour), v.request("eve 1", b, time.Hour)
		v.wantRefused(flood[3], "maxQueue") // the newest of the longest line
		v.wantRefused(flood[2], "maxQueue")
		v.wantRefused(v.request("bob 2", b, time.Hour), "maxQueue")

		v.finish(ann)
		for _, one := range []*turnRequest{flood[0], bob, eve, flood[1]} {
			v.finish(one)
		}
		if diff := cmp.Diff([]string{"ann 1", "ann 2", "bob 1", "eve 1", "ann 3"}, v.admitted); diff != "" {
			t.Error(diff)
		}
		if n := len(v.turns.callers); n > 0 || v.turns.running+v.turns.waiting > 0 {
			t.Errorf("%d callers are remembered; %+v", n, &v.turns)
		}
	})
}

func TestWhoWaitsLeavesOrGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, one := &turnQueue{T: t}, Bounds{Total: 1}
		first := v.request("ann 1", one, time.Minute)
		tired, late, next := v.request("ann 2", one, time.Minute), v.request("bob 1", one, time.Second), v.request("ann 3", one, time.Minute)
		tired.cancel()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !errors.Is(tired.err, context.Canceled) {
			t.Error(tired.err)
		}
		v.wantRefused(late, "1 requests are in flight there, which is its maxConcurrent, and no turn came within 1s")
		v.wantRefused(v.request("eve 1", one, 0), "within 0s")
		v.finish(first)
		if !next.admitted {
			t.Fatal("nobody goes after those who left")
		}
		wide := Bounds{Total: 3, PerCaller: 2}
		waiting := v.request("bob 2", one, time.Minute)
		fourth := v.request("ann 4", wide, time.Minute)
		if !waiting.admitted || !fourth.admitted {
			t.Error("a wider bound lets nobody go")
		}
		fifth := v.request("ann 5", Bounds{PerCaller: 2}, time.Second)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		v.wantRefused(fifth, "2 calls of this caller are in flight there")
		for _, o := range []*turnRequest{next, waiting, fourth} {
			v.finish(o)
		}
		if len(v.turns.callers)+v.turns.running+v.turns.waiting > 0 {
			t.Errorf("%+v", &v.turns)
		}
	})
}
