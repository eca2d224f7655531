package interop

import (
	"testing"
	"testing/synctest"
	"time"
)

// A lane that was dropped while in use is closed with the others. Otherwise its process would outlive us.
func TestLanesEndThatAreGivenUpInUse(t *testing.T) {
	t.Parallel()
	l := lanes{member: &member{fleet: &Fleet{}}}
	key := laneKey{session: "s"}
	o, _, err := l.tryTake(key, sharedUse)
	if again, _, _ := l.tryTake(key, sharedUse); err != nil || again != o {
		t.Fatalf("a session has two lanes: %v", err)
	}
	e := NewEndpoint(Server{ID: "a"}, nil)
	l.setEndpoint(o, e)
	l.abandon(o, questionLane, 0)
	if other, _, _ := l.tryTake(key, sharedUse); other == o {
		t.Error("a lane is taken that was given up")
	}
	l.close()
	if e.Phase() != Closed {
		t.Errorf("the lane is %s", e.Phase())
	}
	l.release(o)
}

// A connection that hangs is tried less and less often.
func TestLanesThatCannotBeOpenedAreTriedLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFleet(nil)
		defer f.Close()
		m := newMember(f, Server{ID: "a"})
		hangs := NewFault(Timeout, "a", "connect", nil)
		for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			a, _, _ := m.lanes.tryTake(laneKey{session: "a"}, sharedUse)
			b, _, _ := m.lanes.tryTake(laneKey{session: "b"}, sharedUse) // which fails with it
			for _, l := range []*lane{a, b} {
				m.lanes.abandon(l, questionLane, m.lanes.nextPause(questionLane, hangs, maxLanePause))
			}
			time.Sleep(want - 1)
			if m.lanes.mayTry(questionLane) {
				t.Errorf("attempt %d: too early", i)
			}
			time.Sleep(time.Nanosecond)
			if !m.lanes.mayTry(questionLane) {
				t.Errorf("attempt %d: too late", i)
			}
		}
		m.lanes.close()
	})
}
