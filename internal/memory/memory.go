// Package memory bounds the bytes that messages hold.
package memory

import (
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// Small is up to which size a message is not counted: such are bounded by the number
	// of calls.
	Small = 64 << 10
	// Default is a budget in bytes.
	Default = 256 << 20

	// maxOwned is how many times what is left an owner of several messages may have: three quarters, if it is alone, and what
	// comes of another finds room.
	maxOwned = 3

	takeWait  = 3 * time.Second       // for room
	takeTick  = 50 * time.Millisecond // between two looks at it
	ownTries  = 5                     // looks, for what is held meanwhile
	stallTime = time.Second           // for [Small] bytes of its client; then a transfer makes room
	giveEvery = 5 * time.Second       // while much is held; what is left is given back to the system
)

// Budget bounds the bytes of messages that are held at once. What is counted is counted
// until the garbage collector has it, whoever held it. nil bounds nothing. All methods
// may be called from any goroutine.
type Budget struct {
	limit int64

	mu        sync.Mutex
	used      int64
	owned     map[string]int64   // what of it has an owner
	collected time.Time          // when take did last
	transfers map[*Transfer]bool // that wait for their client
	giving    bool               // a timer is set
}

// New is a budget of so many bytes; 0 is [Default], below it counts and has no bound.
func New(limit int64) *Budget {
	switch {
	case limit < 0:
		limit = math.MaxInt64
	case limit == 0:
		limit = Default
	}
	return &Budget{limit: limit, owned: map[string]int64{}, transfers: map[*Transfer]bool{}}
}

// take takes n bytes for an owner's message that has taken so much already; "": for nobody's. If there is no room, it ends
// the transfers that have stalled, and waits for three seconds. false means that there was none.
func (b *Budget) take(n int64, owner string, taken int64) bool {
	if b == nil || n <= 0 || b.try(n, owner, taken) {
		return true
	}
	if n > b.limit {
		return false
	}
	for late := time.Now().Add(takeWait); time.Now().Before(late); time.Sleep(takeTick) {
		b.makeRoom(n)
		if b.try(n, owner, taken) {
			return true
		}
	}
	return b.try(n, owner, taken)
}

func (b *Budget) try(n int64, owner string, taken int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.owned[owner] // 0 of nobody
	if left := b.limit - b.used - n; left < 0 || own > taken && own+n > maxOwned*left {
		return false
	}
	b.used += n
	if owner != "" {
		b.owned[owner] += n
	}
	if b.much() && !b.giving {
		b.giving = true
		time.AfterFunc(giveEvery, b.giveBack)
	}
	return true
}

// give gives n bytes back.
func (b *Budget) give(owner string, n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.used -= n
	b.mu.Unlock()
	if owner != "" {
		b.disown(owner, n)
	}
}

// keep gives n bytes that were taken back once nobody holds p any more.
func (b *Budget) keep(owner string, p []byte) {
	if b != nil && len(p) > 0 {
		n := int64(len(p))
		runtime.AddCleanup(&p[0], func(owner string) { b.give(owner, n) }, owner)
	}
}

// Own counts a message that is counted already for an owner too, who is known only now; false: more than his share is his, and
// it is to be discarded.
func (b *Budget) Own(owner string, p []byte) bool {
	n := int64(len(p))
	if b == nil || owner == "" || n <= Small {
		return true
	}
	for range ownTries {
		b.mu.Lock()
		own := b.owned[owner]
		ok := own == 0 || own+n <= maxOwned*(b.limit-b.used)
		if ok {
			b.owned[owner] += n
		}
		b.mu.Unlock()
		if ok {
			runtime.AddCleanup(&p[0], func(owner string) { b.disown(owner, n) }, owner)
			return true
		}
		b.makeRoom(0)
		time.Sleep(takeTick)
	}
	return false
}

// disown counts n bytes for an owner no more.
func (b *Budget) disown(owner string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owned[owner] -= n; b.owned[owner] == 0 {
		delete(b.owned, owner)
	}
}

// NoRoom says that a budget has none.
type NoRoom struct{}

func (NoRoom) Error() string { return "no room for the message, because too many bytes are held" }

// takenAhead is what a meter takes at a time, in bytes.
const takenAhead = 1 << 20

// Meter takes for one message as it grows.
type Meter struct {
	Budget *Budget
	Owner  string // whose share it is of; "": nobody's, and bounded by the budget alone
	taken  int64
}

// Grow takes what a message of so many bytes needs, some of it ahead; false where there is
// no room.
func (m *Meter) Grow(size int64) bool {
	if size <= Small || size <= m.taken {
		return true
	}
	n := size + min(size, takenAhead) - m.taken
	if !m.Budget.take(n, m.Owner, m.taken) {
		return false
	}
	m.taken += n
	return true
}

// Keep is called with the whole message, which counts until nobody holds it any more.
func (m *Meter) Keep(p []byte) {
	if m.taken > 0 {
		m.Budget.give(m.Owner, m.taken-int64(len(p)))
		m.Budget.keep(m.Owner, p)
		m.taken = 0
	}
}

// Drop is called when the message is discarded.
func (m *Meter) Drop() {
	m.Budget.give(m.Owner, m.taken)
	m.taken = 0
}

// much reports that it is worth a collection. Call it with mu held.
func (b *Budget) much() bool { return b.used > b.limit/4 }

// giveBack returns memory to the system: the runtime keeps for minutes what one burst of
// large messages took.
func (b *Budget) giveBack() {
	debug.FreeOSMemory()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.giving = b.much(); b.giving {
		time.AfterFunc(giveEvery, b.giveBack)
	}
}

// makeRoom ends what has stalled, where there is no room for n bytes, and collects what nobody holds.
func (b *Budget) makeRoom(n int64) {
	b.mu.Lock()
	now := time.Now()
	var over []*Transfer
	for t := range b.transfers {
		if n > b.limit-b.used && t.waited+now.Sub(t.since) > stallTime {
			over = append(over, t)
			delete(b.transfers, t)
		}
	}
	collect := now.Sub(b.collected) >= 2*takeTick
	if collect {
		b.collected = now
	}
	b.mu.Unlock()
	for _, t := range over {
		t.cut()
	}
	if collect {
		runtime.GC()
	}
}

// Transfer is a message that is sent to a client or read from one, at its pace.
type Transfer struct {
	b *Budget

	// Guarded by b.mu:
	since  time.Time     // when it began to wait for its client
	waited time.Duration // for its client, before that
	moved  int64         // bytes, meanwhile

	mu  sync.Mutex
	end func() // nil after End
}

// Transfer begins one. Where it waits for its client for too long, and there is no room,
// end is called.
func (b *Budget) Transfer(end func()) *Transfer { return &Transfer{b: b, end: end} }

// Waits says that it waits for its client, until Moved.
func (t *Transfer) Waits() {
	if t == nil || t.b == nil {
		return
	}
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.since = time.Now()
	t.b.transfers[t] = true
}

// Moved says that it waits no more, because n bytes went over. A byte now and then is none:
// the wait is over with the next [Small] bytes.
func (t *Transfer) Moved(n int) {
	if t == nil || t.b == nil {
		return
	}
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	delete(t.b.transfers, t)
	t.waited += time.Since(t.since)
	if t.moved += int64(n); t.moved >= Small {
		t.waited, t.moved = 0, 0
	}
}

// End ends it: after that end is not called.
func (t *Transfer) End() {
	t.mu.Lock()
	t.end = nil
	t.mu.Unlock()
	t.Moved(0)
}

func (t *Transfer) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end != nil {
		t.end()
	}
}
