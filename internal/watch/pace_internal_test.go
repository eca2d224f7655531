package watch

import (
	"testing"
	"time"
)

// An occasional change of a list is reported at once. Continuous changes are reported less and less often. After a
// calm period, changes are reported at once again.
func TestPace(t *testing.T) {
	var p Pace
	now := time.Now()
	for range freeChanges {
		now = now.Add(firstPause)
		if got := p.Pause(now); got != 0 {
			t.Fatalf("after %d changes it waits %v", p.n, got)
		}
	}
	last := firstPause
	for range 20 {
		got := p.Pause(now)
		if got < last || got > 2*last {
			t.Fatalf("it waits %v after %v", got, last)
		}
		now, last = now.Add(got), got
	}
	if last != 12800*time.Millisecond {
		t.Errorf("in the end it waits %v", last)
	}
	if got := p.Pause(now.Add(changeCalm + time.Nanosecond)); got != 0 {
		t.Errorf("after a calm it waits %v", got)
	}
}
