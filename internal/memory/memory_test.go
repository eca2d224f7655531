package memory_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/internal/memory"
)

func TestWhatNobodyHoldsIsGivenBack(t *testing.T) {
	b := memory.New(3 << 20)
	read := func(size int64) []byte { // nil means that there is no room
		m := memory.Meter{Budget: b}
		if !m.Grow(size) {
			m.Drop()
			return nil
		}
		p := make([]byte, size)
		m.Keep(p)
		return p
	}
	held := read(1 << 20)
	if held == nil || b.Used() != 1<<20 {
		t.Fatalf("%d are used", b.Used())
	}
	for range 20 { // each message is garbage when the next arrives
		if read(1<<20) == nil {
			t.Fatal("there is no room")
		}
	}
	more := read(1 << 20)
	if more == nil {
		t.Fatal("there is no room")
	}
	if read(2<<20) != nil {
		t.Error("there is room for more than is left")
	}
	if read(1<<20) != nil {
		t.Error("there is room for a third, which would need some ahead")
	}
	runtime.KeepAlive(held)
	runtime.KeepAlive(more)
	if read(1<<20) == nil {
		t.Error("nobody holds any, and there is no room")
	}
}

func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		limit, take int64
		ok          bool
	}{{0, memory.Default, true}, {0, memory.Default + 1, false}, {-1, 1 << 40, true}, {10, 11, false}} {
		b := memory.New(tt.limit)
		if got := b.Reserve(tt.take); got != tt.ok {
			t.Errorf("%d of %d: %v", tt.take, tt.limit, got)
		}
		if tt.ok {
			b.Release(tt.take)
		}
		if b.Used() != 0 {
			t.Errorf("%d are used", b.Used())
		}
	}
	var none *memory.Budget
	m := memory.Meter{Budget: none}
	if !m.Grow(1<<40) || none.Used() != 0 {
		t.Error("no budget is no bound")
	}
	m.Drop()
	none.Transfer(func() { t.Error("it is ended") }).End()
}

func TestWhatHasStalledMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(10)
		b.Reserve(10)
		ended := ""
		stalled := b.Transfer(func() { ended += "stalled "; b.Release(10) })
		over := b.Transfer(func() { ended += "over " })
		slow := b.Transfer(func() { ended += "slow " })
		for _, t := range []*memory.Transfer{stalled, over, slow} {
			t.Waits()
		}
		moved := b.Transfer(func() { ended += "moved " })
		moved.Waits()
		moved.Moved(1)
		over.End()
		for range 4 { // one transfer moves enough each time, the other moves one byte
			time.Sleep(500 * time.Millisecond)
			slow.Moved(memory.Small)
			slow.Waits()
			stalled.Moved(1)
			stalled.Waits()
		}
		if !b.Reserve(10) || ended != "stalled " {
			t.Errorf("ended: %s", ended)
		}
		stalled.End()
		start := time.Now()
		slow.End()
		if b.Reserve(1) || time.Since(start) < 3*time.Second || ended != "stalled " {
			t.Errorf("after %v, ended: %s", time.Since(start), ended)
		}
	})
}

// TestShares checks that an owner with many messages leaves room for other owners, and can take again
// the bytes that it returned.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const unit = 1 << 20
		b := memory.New(100 * unit)
		ended := false
		stalled := b.Transfer(func() { ended = true })
		stalled.Waits()
		var held []*memory.Meter
		take := func(owner string, n int64) bool {
			m := &memory.Meter{Budget: b, Owner: owner}
			for size := int64(unit); size < n; size += unit { // grow the message
				if !m.Grow(size) {
					m.Drop()
					return false
				}
			}
			held = append(held, m)
			return true
		}
		count := func(owner string, n int64) (times int) {
			for take(owner, n) {
				times++
			}
			return times
		}
		if n := count("eve", 10*unit); n != 7 || ended {
			t.Errorf("eve has %d of ten messages, and somebody else's has ended: %v", n, ended)
		}
		if !take("ann", 20*unit) || !take("", 5*unit) {
			t.Error("others have no room")
		}
		answer := make([]byte, unit) // is counted already
		if b.Own("ann", answer) || !b.Own("carl", answer) || !b.Own("", answer) {
			t.Error("an answer beyond a share was taken, or another's was not")
		}
		for _, m := range held {
			m.Drop()
		}
		if b.Used() != 0 || !b.Own("ann", answer) || !take("eve", 99*unit) {
			t.Errorf("one message alone has no room: %d are used", b.Used())
		}
	})
}
