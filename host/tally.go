package host

import "sync"

// tally counts how much each of many has, and what all have together. The zero value is ready.
type tally[K comparable] struct {
	mu  sync.Mutex
	all int
	of  map[K]int
}

// add counts n more for one of them. It returns false, and counts nothing, if that is above a bound: of each, or of all.
func (t *tally[K]) add(whose K, n, each, all int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[whose]+n > each || t.all+n > all {
		return false
	}
	t.count(whose, n)
	return true
}

// remove counts n less.
func (t *tally[K]) remove(whose K, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(whose, -n)
}

// count is guarded by mu.
func (t *tally[K]) count(whose K, n int) {
	if t.of == nil {
		t.of = map[K]int{}
	}
	t.all += n
	if t.of[whose] += n; t.of[whose] == 0 {
		delete(t.of, whose)
	}
}
