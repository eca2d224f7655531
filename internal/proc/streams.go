package proc

import (
	"bytes"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/text"
)

// streams holds the child's standard streams while it is being started, and our ends of them. It
// keeps the first fault, so that one check at the end suffices.
type streams struct {
	in, out, err          *os.File // the child's ends
	childEnds, parentEnds []*os.File
	fault                 error
}

// writer opens a pipe from us to the child.
func (s *streams) writer(child **os.File) (parent *os.File) {
	*child, parent = s.pipe()
	s.childEnds, s.parentEnds = append(s.childEnds, *child), append(s.parentEnds, parent)
	return parent
}

// reader opens a pipe from the child to us.
func (s *streams) reader(child **os.File) (parent *os.File) {
	parent, *child = s.pipe()
	s.childEnds, s.parentEnds = append(s.childEnds, *child), append(s.parentEnds, parent)
	return parent
}

func (s *streams) pipe() (r, w *os.File) {
	if s.fault == nil {
		r, w, s.fault = os.Pipe()
	}
	return r, w
}

func (s *streams) closeChildEnds()  { closeAll(s.childEnds) }
func (s *streams) closeParentEnds() { closeAll(s.parentEnds) }

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close() // closing nil only returns an error
	}
}

// drain lets readers continue until EOF. If a process outside the group holds the pipe, so that no
// EOF comes, they continue for a short time.
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

// waitUntil waits for a condition. It reports whether the condition held before the limit and
// before the interruption.
func waitUntil(holds func() bool, limit time.Duration, interrupt <-chan struct{}) bool {
	timeout := time.After(limit)
	for tick := firstTick; !holds(); tick = min(2*tick, lastTick) {
		select {
		case <-interrupt:
			return false
		case <-timeout:
			return false
		case <-time.After(tick):
		}
	}
	return true
}

// A condition is polled at these intervals while a group outlives its leader. A pipe costs one
// cheap system call, and a scan of /proc costs some milliseconds.
const (
	firstTick = 5 * time.Millisecond
	lastTick  = 40 * time.Millisecond
)

// tailSize limits how much of stderr is kept: a stack trace, not a log.
const tailSize = 8 << 10

// A tail keeps the last bytes that are written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte // up to twice tailSize, so that bytes are rarely moved
	cut bool   // bytes before buf are lost
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if n := len(t.buf); n > 2*tailSize {
		// One byte more than is shown, to check whether a line begins there.
		t.buf = append(t.buf[:0], t.buf[n-tailSize-1:]...)
		t.cut = true
	}
	return len(b), nil
}

// String returns the tail from the start of a line, safe to print.
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
