// Package memory bounds the bytes that messages hold.
package memory

import (
	"io"
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

	takeWait  = 3 * time.Second       // for room
	takeTick  = 50 * time.Millisecond // between two looks at it
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
	collected time.Time          // when Take did last
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
	return &Budget{limit: limit, transfers: map[*Transfer]bool{}}
}

// Take takes n bytes. Where there is no room it ends the transfers that have stalled,
// and waits for three seconds; false means that there was none.
func (b *Budget) Take(n int64) bool {
	if b == nil || n <= 0 || b.try(n) {
		return true
	}
	if n > b.limit {
		return false
	}
	for late := time.Now().Add(takeWait); time.Now().Before(late); time.Sleep(takeTick) {
		b.makeRoom()
		if b.try(n) {
			return true
		}
	}
	return b.try(n)
}

func (b *Budget) try(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.limit-b.used {
		return false
	}
	b.used += n
	if b.much() && !b.giving {
		b.giving = true
		time.AfterFunc(giveEvery, b.giveBack)
	}
	return true
}

// Give gives n bytes back.
func (b *Budget) Give(n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}

// keep gives n bytes that were taken back once nobody holds p any more.
func (b *Budget) keep(p []byte) {
	if b != nil && len(p) > 0 {
		runtime.AddCleanup(&p[0], b.Give, int64(len(p)))
	}
}

// NoRoom says that a budget has none.
type NoRoom struct{}

func (NoRoom) Error() string { return "no room for the message, because others hold too many bytes" }

// takenAhead is what a meter takes at a time, in bytes.
const takenAhead = 1 << 20

// Meter takes for one message as it grows.
type Meter struct {
	Budget *Budget
	taken  int64
}

// Grow takes what a message of so many bytes needs, some of it ahead; false where there is
// no room.
func (m *Meter) Grow(size int64) bool {
	if size <= Small || size <= m.taken {
		return true
	}
	n := size + min(size, takenAhead) - m.taken
	if !m.Budget.Take(n) {
		return false
	}
	m.taken += n
	return true
}

// Keep is called with the whole message, which counts until nobody holds it any more.
func (m *Meter) Keep(p []byte) {
	if m.taken > 0 {
		m.Budget.Give(m.taken - int64(len(p)))
		m.Budget.keep(p)
		m.taken = 0
	}
}

// Drop is called when the message is discarded.
func (m *Meter) Drop() {
	m.Budget.Give(m.taken)
	m.taken = 0
}

// Read is a reader whose bytes the meter counts; its error may be a [NoRoom].
func (m *Meter) Read(r io.Reader) io.Reader { return &metered{r, m, 0} }

type metered struct {
	io.Reader
	m   *Meter
	got int64
}

func (r *metered) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.got += int64(n); !r.m.Grow(r.got) {
		return 0, NoRoom{} // io.ReadFull forgets the error of a read that was enough
	}
	return n, err
}

// Used is how many bytes are taken.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
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

// makeRoom ends what has stalled, and collects what nobody holds.
func (b *Budget) makeRoom() {
	b.mu.Lock()
	now := time.Now()
	var over []*Transfer
	for t := range b.transfers {
		if t.waited+now.Sub(t.since) > stallTime {
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
