// Package count counts what a host has at once: the tasks that run, and the things that each client holds.
//
// All methods may be called from any goroutine. A count that would exceed its bound is refused with false.
package count

import (
	"math"
	"sync"
)

// Group counts running tasks. Once it is closed, no new task starts. The zero value is open.
type Group struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// Enter counts one more task, which has to call Leave. It returns false if the group is closed.
func (g *Group) Enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.running.Add(1)
	}
	return !g.closed
}

// IsClosed reports whether Close was called.
func (g *Group) IsClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Leave ends a task that Enter counted.
func (g *Group) Leave() { g.running.Done() }

// Run runs f in a goroutine of its own. It returns false if the group is closed.
func (g *Group) Run(f func()) bool {
	if !g.Enter() {
		return false
	}
	go func() {
		defer g.Leave()
		f()
	}()
	return true
}

// Close lets no new task start. The channel that it returns is closed when no task runs any more.
func (g *Group) Close() (idle <-chan struct{}) {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	done := make(chan struct{})
	go func() {
		g.running.Wait()
		close(done)
	}()
	return done
}

// Tally keeps a count for each key, and their sum. The zero value is ready.
type Tally[K comparable] struct {
	mu     sync.Mutex
	total  int
	counts map[K]int
}

// Add adds n to the count of a key. If the bound each or all would be exceeded, it adds nothing and returns false.
func (t *Tally[K]) Add(key K, n, each, all int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[key]+n > each || t.total+n > all {
		return false
	}
	if t.counts == nil {
		t.counts = map[K]int{}
	}
	t.total += n
	t.counts[key] += n
	if t.counts[key] == 0 {
		delete(t.counts, key)
	}
	return true
}

// Remove subtracts n from the count of a key.
func (t *Tally[K]) Remove(key K, n int) { t.Add(key, -n, math.MaxInt, math.MaxInt) }
