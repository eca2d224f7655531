package proc

import (
	"bytes"
	"sync"

	"github.com/indusagi/indus/internal/text"
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
