package sealed

import (
	"container/heap"
	"sync"
	"time"
)

// Once remembers which tokens were used, until they expire: each may be once. It keeps
// the size that it was made with: where there is no room, the token that expires first is
// forgotten, and all that expire no later are refused from then on.
type Once struct {
	size int

	mu     sync.Mutex
	used   map[[nonceSize]byte]bool
	order  expiries
	before time.Time // what expires no later than this is refused
}

// NewOnce remembers as many tokens as size says, at least one. Each takes about 100 bytes.
func NewOnce(size int) *Once {
	return &Once{size: max(size, 1), used: map[[nonceSize]byte]bool{}}
}

// Use takes a token that [Keys.Open] has returned. A second time it is [ErrUsed]. One that
// never expires is [ErrExpired], because it could not be forgotten either; so is one that
// others have crowded out. now zero: [time.Now].
func (o *Once) Use(t Token, now time.Time) error {
	if now.IsZero() {
		now = time.Now()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.used[t.nonce]:
		return ErrUsed
	case !now.Before(t.Expires), !t.Expires.After(o.before):
		return ErrExpired
	}
	o.used[t.nonce] = true
	heap.Push(&o.order, expiry{t.Expires, t.nonce})
	for len(o.order) > o.size || !now.Before(o.order[0].at) {
		first := heap.Pop(&o.order).(expiry)
		delete(o.used, first.nonce)
		o.before = first.at
	}
	return nil
}

// expiry is when a used token may be forgotten.
type expiry struct {
	at    time.Time
	nonce [nonceSize]byte
}

// expiries is a heap, the first to expire on top.
type expiries []expiry

func (e expiries) Len() int           { return len(e) }
func (e expiries) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e expiries) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *expiries) Push(v any)        { *e = append(*e, v.(expiry)) }
func (e *expiries) Pop() any {
	last := len(*e) - 1
	v := (*e)[last]
	*e = (*e)[:last]
	return v
}
