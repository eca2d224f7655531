package schema

import "sync"

// slab is where the many small parts of a schema stand while it is adapted. Its zero value is good. One that is released is
// used again, so nothing of what is in it may be kept then. Without it Adapt takes
// a third longer (BenchmarkAdaptBesideDecoding: 19 to 43 % on real servers' tools, by Universal).
type slab struct {
	nodes    arena[node]
	fields   arena[field]
	lists    arena[*node]
	builders arena[builder]
	stack    []field
}

var slabs = sync.Pool{New: func() any { return new(slab) }}

func (s *slab) release() {
	s.nodes.clear()
	s.fields.clear()
	s.lists.clear()
	s.builders.clear()
	if cap(s.stack) > mostKept {
		s.stack = nil
	}
	clear(s.stack[:cap(s.stack)])
	slabs.Put(s)
}

func (s *slab) node() *node       { return &s.nodes.take(1)[0] }
func (s *slab) builder() *builder { return &s.builders.take(1)[0] }

// keep copies fields, with room for some more.
func (s *slab) keep(f []field, more int) []field {
	if len(f)+more == 0 {
		return nil
	}
	kept := s.fields.take(len(f) + more)
	return kept[:copy(kept, f)]
}

func (s *slab) keepList(l []*node) []*node {
	if len(l) == 0 {
		return nil
	}
	kept := s.lists.take(len(l))
	copy(kept, l)
	return kept
}

// keepValues copies the values of fields.
func (s *slab) keepValues(all []field) []*node {
	if len(all) == 0 {
		return nil
	}
	kept := s.lists.take(len(all))
	for i := range all {
		kept[i] = all[i].value
	}
	return kept
}

// arena is memory of which parts are taken. The first block is used again, what does not fit in it is not.
type arena[T any] struct {
	first, rest []T
	used        int // of first
}

const (
	firstBlock = 128
	mostKept   = 512 // of what a pooled slab clears each time
)

func (r *arena[T]) take(n int) []T {
	if r.rest == nil && r.used == 0 && r.first == nil {
		r.first = make([]T, max(firstBlock, n))
	}
	if r.used+n <= len(r.first) && r.rest == nil {
		r.used += n
		return r.first[r.used-n : r.used : r.used]
	}
	if len(r.rest) < n {
		r.rest = make([]T, max(4*firstBlock, n))
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *arena[T]) clear() {
	clear(r.first[:r.used])
	r.used, r.rest = 0, nil
}
