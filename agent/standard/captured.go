package standard

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

const (
	// maxBuffered is the number of bytes of a command's output that are kept if the budget has no bound.
	maxBuffered = 1 << 20
	// reportEvery is the minimum time between two reports of a command's output. No reader is faster.
	reportEvery = 100 * time.Millisecond
	// reportSize is the number of bytes of output in a report.
	reportSize = 1024
)

// outputBuffer holds a command's output that was not taken yet: its beginning, its end, and the number of bytes between
// them. It is a writer that never fails and never waits for a reader.
type outputBuffer struct {
	sideLimit int // number of bytes kept at either end

	mu         sync.Mutex
	head, tail []byte // tail is up to twice side, so that it is seldom moved
	missing    int    // bytes between head and tail
	total      int    // bytes ever written
	taken      int    // total at the last take
	changed    chan struct{}
}

// newOutputBuffer returns a buffer that keeps about as much as a page shows.
func newOutputBuffer(tc *toolbox.Context) *outputBuffer {
	return &outputBuffer{sideLimit: min(newPage(tc).room, maxBuffered) / 2}
}

func (c *outputBuffer) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(b), c.sideLimit-len(c.head))
	c.head = append(c.head, b[:n]...)
	for rest := b[n:]; len(rest) > 0; {
		chunk := rest[:min(len(rest), c.sideLimit)]
		c.tail, rest = append(c.tail, chunk...), rest[len(chunk):]
		if excess := len(c.tail) - c.sideLimit; excess >= c.sideLimit {
			c.tail = append(c.tail[:0], c.tail[excess:]...)
			c.missing += excess
		}
	}
	c.total += len(b)
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
	return len(b), nil
}

// changedSince returns a channel that is closed as soon as more than seen bytes have been written.
func (c *outputBuffer) changedSince(seen int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	if c.total == seen {
		return c.changed
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// newOutput returns a channel that is closed as soon as there is output since the last take.
func (c *outputBuffer) newOutput() <-chan struct{} {
	c.mu.Lock()
	taken := c.taken
	c.mu.Unlock()
	return c.changedSince(taken)
}

// recentOutput returns the end of the kept output in at most most bytes, and the number of bytes ever written. It
// starts at the beginning of a line if there is one.
func (c *outputBuffer) recentOutput(most int) (end string, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.tail
	if len(all) < most {
		all = slices.Concat(c.head, c.tail)
	}
	if len(all) > most {
		all = all[len(all)-most:]
		if i := bytes.IndexByte(all, '\n'); i < len(all)-1 {
			all = all[i+1:]
		}
	}
	return string(all), c.total
}

// take returns the output since the last take without terminal controls, in at most room bytes. An incomplete character
// at the end is left for the next take.
func (c *outputBuffer) take(room int) string {
	c.mu.Lock()
	head, tail, missing := c.head, c.tail, c.missing
	if excess := len(tail) - c.sideLimit; excess > 0 {
		tail, missing = tail[excess:], missing+excess
	}
	last := &head
	if len(tail) > 0 {
		last = &tail
	}
	whole := wholeRunes(*last)
	rest := (*last)[len(whole):]
	*last = whole
	c.head, c.tail, c.missing, c.taken = append([]byte{}, rest...), nil, 0, c.total
	c.mu.Unlock()
	return abridge(head, tail, missing, room)
}

// abridge returns the output that begins with head and ends with tail, without terminal controls and in at most room
// bytes.
func abridge(head, tail []byte, missing, room int) string {
	begin, end := text.Printed(string(head)), text.Printed(string(tail))
	if missing == 0 {
		begin = text.Printed(string(head) + string(tail))
		end, missing = begin, -len(begin)
	}
	shown, _ := text.Middle(begin, end, missing, room)
	return shown
}

// report sends the end of the kept output to the listener of the call, at most once per reportEvery, until stop is
// called.
func (c *outputBuffer) report(tc *toolbox.Context) (stop func()) {
	if tc.Call().Progress == nil {
		return func() {}
	}
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for seen := 0; ; {
			select {
			case <-stopping:
				return
			case <-c.changedSince(seen):
			}
			var end string
			end, seen = c.recentOutput(reportSize)
			tc.Report(toolbox.Progress{Done: float64(seen), Message: text.Printed(end)})
			select {
			case <-stopping:
			case <-time.After(reportEvery):
			}
		}
	}()
	return func() {
		close(stopping)
		<-stopped
	}
}
