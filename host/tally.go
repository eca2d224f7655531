package host

import "sync"

// tally keeps a count for each key, and their sum. The zero value is ready.
type tally[K comparable] struct {
	mu  sync.Mutex
	all int
	of  map[K]int
}

// add adds n to the count of a key. If the bound each or all would be exceeded, it adds nothing and returns false.
func (t *tally[K]) add(whose K, n, each, all int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[whose]+n > each || t.all+n > all {
		return false
	}
	t.count(whose, n)
	return true
}

// remove subtracts n from the count of a key.
func (t *tally[K]) remove(whose K, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(whose, -n)
}

// count is called with mu held.
func (t *tally[K]) count(whose K, n int) {
	if t.of == nil {
		t.of = map[K]int{}
	}
	t.all += n
	if t.of[whose] += n; t.of[whose] == 0 {
		delete(t.of, whose)
	}
}
