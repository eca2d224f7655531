package host

import "sync"

// group counts running tasks. Once it is closed, no new task starts. The zero value is open.
type group struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// enter counts one more task, which has to call leave. It returns false if the group is closed.
func (g *group) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.running.Add(1)
	}
	return !g.closed
}

func (g *group) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

func (g *group) leave() { g.running.Done() }

// run runs f in a goroutine of its own. It returns false if the group is closed.
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

// close lets no new task start. The channel that it returns is closed when no task runs any more.
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

// tally keeps a count for each key, and their sum. The zero value is ready.
type tally[K comparable] struct {
	mu     sync.Mutex
	total  int
	counts map[K]int
}

// add adds n to the count of a key. If the bound each or all would be exceeded, it adds nothing and returns false.
func (t *tally[K]) add(key K, n, each, all int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[key]+n > each || t.total+n > all {
		return false
	}
	t.count(key, n)
	return true
}

// remove subtracts n from the count of a key.
func (t *tally[K]) remove(key K, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(key, -n)
}

// count is called with mu held.
func (t *tally[K]) count(key K, n int) {
	if t.counts == nil {
		t.counts = map[K]int{}
	}
	t.total += n
	t.counts[key] += n
	if t.counts[key] == 0 {
		delete(t.counts, key)
	}
}
