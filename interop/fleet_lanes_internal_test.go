package interop

import "testing"

// A lane that nobody takes any more, while somebody still uses it, ends with the others: its process would outlive us.
func TestLanesEndThatAreGivenUpInUse(t *testing.T) {
	t.Parallel()
	l := lanes{member: &member{fleet: &Fleet{}}}
	key := laneKey{session: "s"}
	o, _, err := l.take(key)
	if again, _, _ := l.take(key); err != nil || again != o {
		t.Fatalf("a session has two lanes: %v", err)
	}
	e := NewEndpoint(Server{ID: "a"}, nil)
	l.started(o, e)
	l.giveUp(o, 0)
	if other, _, _ := l.take(key); other == o {
		t.Error("a lane is taken that was given up")
	}
	l.close()
	if e.Phase() != Closed {
		t.Errorf("the lane is %s", e.Phase())
	}
	l.leave(o)
}
