package watch

import "slices"

// Backlog holds what waits for a slow reader, in order. What has a key waits once: a later value of the key takes the
// place of the earlier. The zero value is empty. It is for one goroutine at a time.
type Backlog[T any] struct {
	all   []*waiting[T]
	keyed map[string]*waiting[T]
	bytes int
}

type waiting[T any] struct {
	key   string // "": none
	bytes int
	value T
}

// Put adds a value of so many bytes. key "": it has none.
func (b *Backlog[T]) Put(key string, bytes int, value T) {
	w := b.keyed[key]
	if w == nil {
		w = &waiting[T]{key: key}
		b.all = append(b.all, w)
	}
	if key != "" {
		if b.keyed == nil {
			b.keyed = map[string]*waiting[T]{}
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

// Size returns how many values have a key, how many have none, and the bytes of all.
func (b *Backlog[T]) Size() (keyed, others, bytes int) {
	return len(b.keyed), len(b.all) - len(b.keyed), b.bytes
}

// DropFirst drops the first value that has a key, or the first that has none.
func (b *Backlog[T]) DropFirst(keyed bool) {
	if i := slices.IndexFunc(b.all, func(w *waiting[T]) bool { return (w.key != "") == keyed }); i >= 0 {
		b.forget(b.all[i])
		b.all = slices.Delete(b.all, i, i+1)
	}
}

// Remove takes out the values that are meant, and returns them in order.
func (b *Backlog[T]) Remove(meant func(key string, value T) bool) (removed []T) {
	b.all = slices.DeleteFunc(b.all, func(w *waiting[T]) bool {
		if !meant(w.key, w.value) {
			return false
		}
		b.forget(w)
		removed = append(removed, w.value)
		return true
	})
	return removed
}

// Take takes out all values, and returns them in order.
func (b *Backlog[T]) Take() []T {
	all := make([]T, len(b.all))
	for i, w := range b.all {
		all[i] = w.value
	}
	*b = Backlog[T]{}
	return all
}

func (b *Backlog[T]) forget(w *waiting[T]) {
	b.bytes -= w.bytes
	delete(b.keyed, w.key)
}
