package count

import "testing"

func TestATallyForgetsWhatIsRemoved(t *testing.T) {
	var held Tally[string]
	if !held.Add("ann", 2, 2, 3) || held.Add("ann", 1, 2, 3) || held.Add("bob", 2, 2, 3) || !held.Add("bob", 1, 2, 3) {
		t.Errorf("a bound of 2 each and 3 in all gave %v", held.counts)
	}
	held.Remove("ann", 2)
	held.Remove("bob", 1)
	if held.total != 0 || len(held.counts) != 0 {
		t.Errorf("there remain %d: %v", held.total, held.counts)
	}
}

func TestAClosedGroupStartsNoTask(t *testing.T) {
	var g Group
	release := make(chan struct{})
	if !g.Run(func() { <-release }) {
		t.Fatal("an open group starts no task")
	}
	idle := g.Close()
	if g.Run(func() {}) || g.Enter() || !g.IsClosed() {
		t.Error("a task started after Close")
	}
	select {
	case <-idle:
		t.Error("it is idle while a task runs")
	default:
	}
	close(release)
	<-idle
}
