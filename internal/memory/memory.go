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
	// Small is the size up to which a message is not counted. The number of calls bounds such messages.
	Small = 64 << 10
	// Default is the default budget in bytes.
	Default = 256 << 20

	// maxOwned is the maximum ratio of the bytes of one owner with several messages to the bytes that remain. An owner
	// alone gets three quarters of the budget, so that messages of other owners find room.
	maxOwned = 3

	reserveWait   = 3 * time.Second       // maximum wait for room
	retryInterval = 50 * time.Millisecond // interval between two attempts
	ownAttempts   = 5                     // attempts of Own to find room
	stallTime     = time.Second           // maximum wait for [Small] bytes of a client; after it, room is made
	freeEvery     = 5 * time.Second       // interval for returning free memory to the system while much is in use
)

// Budget bounds the bytes of messages that are held at once. Bytes count until the garbage collector frees them,
// no matter which code holds them. A nil Budget bounds nothing. All methods may be called from any goroutine.
type Budget struct {
	limit int64

	mu        sync.Mutex
	used      int64
	owned     map[string]int64   // the part of used that has an owner
	collected time.Time          // time of the last collection by reserve
	transfers map[*Transfer]bool // the transfers that wait for their clients
	freeing   bool               // a timer is set
}

// New returns a budget of limit bytes. If limit is 0, it is [Default]. If it is negative, the budget counts without a
// bound.
func New(limit int64) *Budget {
	switch {
	case limit < 0:
		limit = math.MaxInt64
	case limit == 0:
		limit = Default
	}
	return &Budget{limit: limit, owned: map[string]int64{}, transfers: map[*Transfer]bool{}}
}

// reserve takes n bytes for a message that already holds reserved bytes. If owner is "", the bytes have no owner. If
// there is no room, it ends stalled transfers and waits up to three seconds. It returns false if there is still no
// room.
func (b *Budget) reserve(n int64, owner string, reserved int64) bool {
	if b == nil || n <= 0 || b.tryReserve(n, owner, reserved) {
		return true
	}
	if n > b.limit {
		return false
	}
	for deadline := time.Now().Add(reserveWait); time.Now().Before(deadline); time.Sleep(retryInterval) {
		b.makeRoom(n)
		if b.tryReserve(n, owner, reserved) {
			return true
		}
	}
	return b.tryReserve(n, owner, reserved)
}

func (b *Budget) tryReserve(n int64, owner string, reserved int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.owned[owner] // 0 without an owner
	if left := b.limit - b.used - n; left < 0 || own > reserved && own+n > maxOwned*left {
		return false
	}
	b.used += n
	if owner != "" {
		b.owned[owner] += n
	}
	if b.isBusy() && !b.freeing {
		b.freeing = true
		time.AfterFunc(freeEvery, b.freeMemory)
	}
	return true
}

// release returns n bytes to the budget.
func (b *Budget) release(owner string, n int64) {
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

// releaseWhenFreed returns the bytes of p to the budget once the garbage collector frees p.
func (b *Budget) releaseWhenFreed(owner string, p []byte) {
	if b != nil && len(p) > 0 {
		n := int64(len(p))
		runtime.AddCleanup(&p[0], func(owner string) { b.release(owner, n) }, owner)
	}
}

// Own assigns a message that is already counted to an owner that becomes known only now. If it returns false, the
// message exceeds the owner's share, and the caller must discard it.
func (b *Budget) Own(owner string, p []byte) bool {
	n := int64(len(p))
	if b == nil || owner == "" || n <= Small {
		return true
	}
	for range ownAttempts {
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
		time.Sleep(retryInterval)
	}
	return false
}

// disown subtracts n bytes from an owner.
func (b *Budget) disown(owner string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owned[owner] -= n
	if b.owned[owner] == 0 {
		delete(b.owned, owner)
	}
}

// NoRoom is the error of a budget without room.
type NoRoom struct{}

func (NoRoom) Error() string { return "no room for the message, because too many bytes are held" }

// reservedAhead limits how many bytes a meter takes in advance.
const reservedAhead = 1 << 20

// Meter takes bytes for one message while it grows.
type Meter struct {
	Budget   *Budget
	Owner    string // the owner that pays; "" means that only the budget bounds the message
	reserved int64
}

// Grow takes the bytes for a message of this size, some of them in advance. It returns false if there is no room.
func (m *Meter) Grow(size int64) bool {
	if size <= Small || size <= m.reserved {
		return true
	}
	n := size + min(size, reservedAhead) - m.reserved
	if !m.Budget.reserve(n, m.Owner, m.reserved) {
		return false
	}
	m.reserved += n
	return true
}

// Keep is called with the whole message, which counts until the garbage collector frees it.
func (m *Meter) Keep(p []byte) {
	if m.reserved > 0 {
		m.Budget.release(m.Owner, m.reserved-int64(len(p)))
		m.Budget.releaseWhenFreed(m.Owner, p)
		m.reserved = 0
	}
}

// Drop is called when the message is discarded.
func (m *Meter) Drop() {
	m.Budget.release(m.Owner, m.reserved)
	m.reserved = 0
}

// isBusy reports whether so much is in use that a collection is worthwhile. Call it with mu held.
func (b *Budget) isBusy() bool { return b.used > b.limit/4 }

// freeMemory returns memory to the system. Otherwise the runtime would keep the memory of one burst of large messages
// for minutes.
func (b *Budget) freeMemory() {
	debug.FreeOSMemory()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.freeing = b.isBusy()
	if b.freeing {
		time.AfterFunc(freeEvery, b.freeMemory)
	}
}

// makeRoom ends stalled transfers if there is no room for n bytes, and collects garbage.
func (b *Budget) makeRoom(n int64) {
	b.mu.Lock()
	now := time.Now()
	var stalled []*Transfer
	for t := range b.transfers {
		if n > b.limit-b.used && t.waited+now.Sub(t.since) > stallTime {
			stalled = append(stalled, t)
			delete(b.transfers, t)
		}
	}
	collect := now.Sub(b.collected) >= 2*retryInterval
	if collect {
		b.collected = now
	}
	b.mu.Unlock()
	for _, t := range stalled {
		t.abort()
	}
	if collect {
		runtime.GC()
	}
}

// Transfer is a message that is sent to a client or read from it, at the pace of the client.
type Transfer struct {
	b *Budget

	// Guarded by b.mu:
	since  time.Time     // start of the current wait for the client
	waited time.Duration // earlier waits for the client
	moved  int64         // bytes moved during these waits

	mu  sync.Mutex
	end func() // nil after End
}

// Transfer begins a transfer. If it waits for its client for too long, and there is no room, the budget calls end.
func (b *Budget) Transfer(end func()) *Transfer { return &Transfer{b: b, end: end} }

// Waits marks the start of a wait for the client. The wait lasts until Moved.
func (t *Transfer) Waits() {
	if t == nil || t.b == nil {
		return
	}
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.since = time.Now()
	t.b.transfers[t] = true
}

// Moved ends the wait, because n bytes were transferred. A few bytes do not reset the waiting time: it is reset only
// after [Small] bytes.
func (t *Transfer) Moved(n int) {
	if t == nil || t.b == nil {
		return
	}
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	delete(t.b.transfers, t)
	t.waited += time.Since(t.since)
	t.moved += int64(n)
	if t.moved >= Small {
		t.waited, t.moved = 0, 0
	}
}

// End ends the transfer. After it returns, end is not called.
func (t *Transfer) End() {
	t.mu.Lock()
	t.end = nil
	t.mu.Unlock()
	t.Moved(0)
}

func (t *Transfer) abort() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end != nil {
		t.end()
	}
}
