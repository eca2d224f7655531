package interop

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

// visit is a request and its outcome.
type visit struct {
	who  string
	err  error // when it was refused
	end  chan struct{}
	went bool
	quit context.CancelFunc
}

// visitors holds the requests that want a turn, and the order in which they got one.
type visitors struct {
	*testing.T
	turns turns

	mu   sync.Mutex
	went []string
}

// come makes a caller request a turn, and waits until it has one, is refused or waits.
func (v *visitors) come(who string, b bounds, wait time.Duration) *visit {
	ctx, cancel := context.WithCancel(v.Context())
	one := &visit{who: who, end: make(chan struct{}), quit: cancel}
	go func() {
		caller, _, _ := strings.Cut(who, " ")
		leave, err := v.turns.enter(ctx, toolbox.Principal(caller), b, wait)
		one.err = err
		if err != nil {
			return
		}
		one.went = true
		v.mu.Lock()
		v.went = append(v.went, who)
		v.mu.Unlock()
		<-one.end
		leave()
	}()
	synctest.Wait()
	return one
}

// done ends a request, and waits until the next request has its turn.
func (v *visitors) done(one *visit) {
	v.Helper()
	if !one.went {
		v.Errorf("%s had no turn: %v", one.who, one.err)
		return
	}
	close(one.end)
	synctest.Wait()
}

func (v *visitors) wantRefused(one *visit, why string) {
	v.Helper()
	if e, ok := errors.AsType[*busyError](one.err); !ok || !strings.Contains(e.why, why) {
		v.Errorf("%s is told %v, want …%s…", one.who, one.err, why)
	}
}

func TestOneWhoFloodsIsBeforeNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, b := &visitors{T: t}, bounds{total: 1, queue: 4}
		ann := v.come("ann 1", b, time.Hour)
		var flood []*visit
		for _, who := range []string{"ann 2", "ann 3", "ann 4", "ann 5"} {
			flood = append(flood, v.come(who, b, time.Hour))
		}
		v.wantRefused(v.come("ann 6", b, time.Hour), "4 requests wait for their turn there, which is its maxQueue")
		bob, eve := v.come("bob 1", b, time.Hour), v.come("eve 1", b, time.Hour)
		v.wantRefused(flood[3], "maxQueue") // the newest of the longest line
		v.wantRefused(flood[2], "maxQueue")
		v.wantRefused(v.come("bob 2", b, time.Hour), "maxQueue")

		v.done(ann)
		for _, one := range []*visit{flood[0], bob, eve, flood[1]} {
			v.done(one)
		}
		if diff := cmp.Diff([]string{"ann 1", "ann 2", "bob 1", "eve 1", "ann 3"}, v.went); diff != "" {
			t.Error(diff)
		}
		if n := len(v.turns.callers); n > 0 || v.turns.running+v.turns.waiting > 0 {
			t.Errorf("%d callers are remembered; %+v", n, &v.turns)
		}
	})
}

func TestWhoWaitsLeavesOrGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, one := &visitors{T: t}, bounds{total: 1}
		first := v.come("ann 1", one, time.Minute)
		tired, late, next := v.come("ann 2", one, time.Minute), v.come("bob 1", one, time.Second), v.come("ann 3", one, time.Minute)
		tired.quit()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !errors.Is(tired.err, context.Canceled) {
			t.Error(tired.err)
		}
		v.wantRefused(late, "1 requests are in flight there, which is its maxConcurrent, and no turn came within 1s")
		v.wantRefused(v.come("eve 1", one, 0), "within 0s")
		v.done(first)
		if !next.went {
			t.Fatal("nobody goes after those who left")
		}
		wide := bounds{total: 3, perCaller: 2}
		waiting := v.come("bob 2", one, time.Minute)
		fourth := v.come("ann 4", wide, time.Minute)
		if !waiting.went || !fourth.went {
			t.Error("a wider bound lets nobody go")
		}
		fifth := v.come("ann 5", bounds{perCaller: 2}, time.Second)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		v.wantRefused(fifth, "2 calls of this caller are in flight there")
		for _, o := range []*visit{next, waiting, fourth} {
			v.done(o)
		}
		if len(v.turns.callers)+v.turns.running+v.turns.waiting > 0 {
			t.Errorf("%+v", &v.turns)
		}
	})
}
