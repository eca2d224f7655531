package proc

import (
	"bytes"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/text"
)

// streams are the child's standard streams while it is being started, and our
// ends of them. The first fault is kept, so that one look at the end suffices.
type streams struct {
	in, out, err *os.File // what the child gets
	theirs, ours []*os.File
	fault        error
}

// writer opens a pipe from us to the child.
func (s *streams) writer(child **os.File) (our *os.File) {
	*child, our = s.pipe()
	s.theirs, s.ours = append(s.theirs, *child), append(s.ours, our)
	return our
}

// reader opens a pipe from the child to us.
func (s *streams) reader(child **os.File) (our *os.File) {
	our, *child = s.pipe()
	s.theirs, s.ours = append(s.theirs, *child), append(s.ours, our)
	return our
}

func (s *streams) pipe() (r, w *os.File) {
	if s.fault == nil {
		r, w, s.fault = os.Pipe()
	}
	return r, w
}

func (s *streams) closeTheirs() { closeAll(s.theirs) }
func (s *streams) closeOurs()   { closeAll(s.ours) }

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close() // nil is an error, no more
	}
}

// drain lets those who read go on until EOF; if that does not come, because
// someone outside the group holds the pipe, for a short while.
func drain(ends ...*os.File) {
	if waitUntil(func() bool { return !slices.ContainsFunc(ends, pipeHeld) }, drainWait, nil) {
		return
	}
	for _, f := range ends {
		if pipeHeld(f) {
			f.SetReadDeadline(time.Now())
		}
	}
}

// waitUntil waits for a condition and reports whether it came to hold within a time
// and before the interruption.
func waitUntil(holds func() bool, limit time.Duration, interrupt <-chan struct{}) bool {
	late := time.After(limit)
	for tick := firstTick; !holds(); tick = min(2*tick, lastTick) {
		select {
		case <-interrupt:
			return false
		case <-late:
			return false
		case <-time.After(tick):
		}
	}
	return true
}

// How often a condition is looked at, and only while a group outlives its leader:
// a pipe costs one cheap system call, a look through /proc some milliseconds.
const (
	firstTick = 5 * time.Millisecond
	lastTick  = 40 * time.Millisecond
)

// tailSize is how much of stderr is kept: a stack trace, not a log.
const tailSize = 8 << 10

// A tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte // up to twice tailSize, so that it is seldom moved
	cut bool   // something before buf is lost
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if n := len(t.buf); n > 2*tailSize {
		// One more than is shown, to see whether a line begins there.
		t.buf = append(t.buf[:0], t.buf[n-tailSize-1:]...)
		t.cut = true
	}
	return len(b), nil
}

// String is the tail from the start of a line, safe to print.
func (t *tail) String() string {
	return text.Printed(string(t.last()))
}

func (t *tail) last() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	start := max(0, len(t.buf)-tailSize)
	if start == 0 && !t.cut {
		return bytes.Clone(t.buf)
	}
	b := t.buf[start:]
	if start == 0 || t.buf[start-1] != '\n' {
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
			b = b[i+1:]
		}
	}
	return bytes.Clone(b)
}
