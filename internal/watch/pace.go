package watch

import "time"

const (
	freeChanges = 20 // reported at once
	changeCalm  = 30 * time.Second
	firstPause  = 100 * time.Millisecond
	maxDoubled  = 7 // 12.8 s
)

// Pace limits how often the changes of a list are reported, because all clients request the list after each report.
// From the 21st change on, the pause before a report doubles. After half a minute without a change, it starts over.
// The zero value is ready. One goroutine may use it at a time.
type Pace struct {
	n    int
	last time.Time
}

// Pause counts a change, and returns the delay of its report. If it is 0, the change is reported at once.
func (p *Pace) Pause(now time.Time) time.Duration {
	if now.Sub(p.last) > changeCalm {
		p.n = 0
	}
	p.n, p.last = p.n+1, now
	if p.n <= freeChanges {
		return 0
	}
	return firstPause << min(p.n-freeChanges-1, maxDoubled)
}
