package host

import "sync"

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
