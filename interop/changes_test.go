package interop

import (
	"testing"
	"time"
)

// A list that changes now and then is looked at soon, one that changes for ever less
// and less often, and a while without a change makes up for it.
func TestGapOfChanges(t *testing.T) {
	var c changes
	now := time.Now()
	for range freeChanges {
		now = now.Add(listGap)
		if got := c.gap(now); got != listGap {
			t.Fatalf("after %d changes it waits %v", c.n, got)
		}
	}
	last := listGap
	for range 20 {
		got := c.gap(now)
		if got < last || got > 2*last {
			t.Fatalf("it waits %v after %v", got, last)
		}
		now, last = now.Add(got), got
	}
	if last != 12800*time.Millisecond {
		t.Errorf("in the end it waits %v", last)
	}
	if got := c.gap(now.Add(listCalm + time.Nanosecond)); got != listGap {
		t.Errorf("after a calm it waits %v", got)
	}
}
