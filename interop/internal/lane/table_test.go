package lane_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/interop/internal/lane"
)

// connection is an open connection until it is closed.
type connection struct{ closed bool }

func (c *connection) Ended() bool      { return c.closed }
func (*connection) Unreplied() bool    { return false }
func (*connection) AwaitsAnswer() bool { return false }
func (c *connection) Close()           { c.closed = true }

func newTable() *lane.Table {
	return &lane.Table{Options: lane.Options{
		MaxExclusive:  4,
		MaxPrincipals: func() int { return 1 },
		Wait:          func() time.Duration { return time.Second },
		Waits:         func(context.Context) func() { return func() {} },
		IdleTime:      func(lane.Key, bool) time.Duration { return time.Minute },
	}}
}

// A lane that was dropped while in use is closed with the others. Otherwise its process would outlive us.
func TestLanesEndThatAreGivenUpInUse(t *testing.T) {
	t.Parallel()
	l := newTable()
	key := lane.Key{Session: "s"}
	o, err := l.Enter(t.Context(), key, lane.SharedUse)
	if again, _ := l.Enter(t.Context(), key, lane.SharedUse); err != nil || again != o {
		t.Fatalf("a session has two lanes: %v", err)
	}
	c := &connection{}
	l.Connect(o, func() lane.Conn { return c })
	l.Abandon(o, lane.ForQuestions, 0)
	if other, _ := l.Enter(t.Context(), key, lane.SharedUse); other == o {
		t.Error("a lane is taken that was given up")
	}
	l.Close()
	if !c.closed {
		t.Error("the lane is open")
	}
	l.Release(o)
}

// A connection that hangs is tried less and less often.
func TestLanesThatCannotBeOpenedAreTriedLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable()
		defer table.Close()
		for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			a, _ := table.Enter(t.Context(), lane.Key{Session: "a"}, lane.SharedUse)
			b, _ := table.Enter(t.Context(), lane.Key{Session: "b"}, lane.SharedUse) // which fails with it
			for _, l := range []*lane.Lane{a, b} {
				table.Abandon(l, lane.ForQuestions, table.NextPause(lane.ForQuestions, true, time.Minute))
			}
			time.Sleep(want - 1)
			if table.MayTry(lane.ForQuestions) {
				t.Errorf("attempt %d: too early", i)
			}
			time.Sleep(time.Nanosecond)
			if !table.MayTry(lane.ForQuestions) {
				t.Errorf("attempt %d: too late", i)
			}
		}
	})
}

// A principal has one connection. Another principal waits for it, and takes its place once it is unused.
func TestAPrincipalWaitsForTheConnectionOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable()
		defer table.Close()
		ann := lane.Key{Kind: lane.ForPrincipal, Caller: "ann"}
		bob := lane.Key{Kind: lane.ForPrincipal, Caller: "bob"}
		o, err := table.Enter(t.Context(), ann, lane.SharedUse)
		if err != nil {
			t.Fatal(err)
		}
		c := &connection{}
		table.Connect(o, func() lane.Conn { return c })
		if _, err := table.Enter(t.Context(), bob, lane.SharedUse); err == nil || c.closed {
			t.Errorf("two principals have a connection: %v", err)
		}
		table.Release(o)
		if o, err := table.Enter(t.Context(), bob, lane.SharedUse); err != nil || o.Key() != bob {
			t.Errorf("bob waits for an unused connection: %v", err)
		}
	})
}
