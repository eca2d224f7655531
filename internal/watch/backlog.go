package watch

import "slices"

// Backlog is a queue of values for a slow reader. A key is queued once: a later value of the key replaces the earlier
// value. The zero value is empty. Only one goroutine may use it at a time.
type Backlog[T any] struct {
	all   []*entry[T]
	keyed map[string]*entry[T]
	bytes int
}

type entry[T any] struct {
	key   string // "" if it has none
	bytes int
	value T
}

// Put adds a value of this many bytes. If key is "", the value has no key.
func (b *Backlog[T]) Put(key string, bytes int, value T) {
	w := b.keyed[key]
	if w == nil {
		w = &entry[T]{key: key}
		b.all = append(b.all, w)
	}
	if key != "" {
		if b.keyed == nil {
			b.keyed = map[string]*entry[T]{}
		}
		b.keyed[key] = w
	}
	b.bytes += bytes - w.bytes
	w.bytes, w.value = bytes, value
}

// Get returns the value of a key.
func (b *Backlog[T]) Get(key string) (value T, ok bool) {
	if w := b.keyed[key]; w != nil {
		return w.value, true
	}
	return value, false
}

// Size returns the number of values with a key, the number of values without a key, and the bytes of all.
func (b *Backlog[T]) Size() (keyed, unkeyed, bytes int) {
	return len(b.keyed), len(b.all) - len(b.keyed), b.bytes
}

// DropFirst drops the first value with a key, or the first value without a key.
func (b *Backlog[T]) DropFirst(keyed bool) {
	if i := slices.IndexFunc(b.all, func(w *entry[T]) bool { return (w.key != "") == keyed }); i >= 0 {
		b.forget(b.all[i])
		b.all = slices.Delete(b.all, i, i+1)
	}
}

// Remove removes the values for which match returns true, and returns them in order.
func (b *Backlog[T]) Remove(match func(key string, value T) bool) (removed []T) {
	b.all = slices.DeleteFunc(b.all, func(w *entry[T]) bool {
		if !match(w.key, w.value) {
			return false
		}
		b.forget(w)
		removed = append(removed, w.value)
		return true
	})
	return removed
}

// Take removes all values, and returns them in order.
func (b *Backlog[T]) Take() []T {
	all := make([]T, len(b.all))
	for i, w := range b.all {
		all[i] = w.value
	}
	*b = Backlog[T]{}
	return all
}

func (b *Backlog[T]) forget(w *entry[T]) {
	b.bytes -= w.bytes
	delete(b.keyed, w.key)
}
