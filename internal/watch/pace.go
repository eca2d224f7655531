package watch

import "time"

const (
	freeChanges = 20 // are reported at once
	changeCalm  = 30 * time.Second
	firstPause  = 100 * time.Millisecond
	maxDoubled  = 7 // 12.8 s
)

// Pace says how often the changes of a list are reported. A server may change a list as often as it likes, but each time
// all clients look. So the pause after a report doubles from the 21st change on, until the list is left alone for half a
// minute. The zero value is ready. One goroutine may use it at a time.
type Pace struct {
	n    int
	last time.Time
}

// Pause notes a change, and returns how long to wait before it is reported; 0: it is reported at once.
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
