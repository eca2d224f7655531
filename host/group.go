package host

import "sync"

// group counts what runs. Once it is closed, nothing more begins. The zero value is open.
type group struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// enter counts one more, which has to leave; false where the group is closed.
func (g *group) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.running.Add(1)
	}
	return !g.closed
}

func (g *group) leave() { g.running.Done() }

// run runs f in a goroutine of its own; false where the group is closed.
func (g *group) run(f func()) bool {
	if !g.enter() {
		return false
	}
	go func() {
		defer g.leave()
		f()
	}()
	return true
}

// close lets nothing more begin, and returns what is closed when nothing runs any more.
func (g *group) close() (idle <-chan struct{}) {
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
