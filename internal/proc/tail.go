package proc

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode"

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
	return harmless(string(t.last()))
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

// escapes are the control sequences of ECMA-48: CSI, the strings (OSC, DCS,
// APC, …), and the short ones.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])`)

// harmless makes text fit for a terminal: colours and the like are taken out,
// any other control or bidi character and invalid UTF-8 become U+FFFD.
func harmless(s string) string {
	s = strings.ToValidUTF8(s, string(unicode.ReplacementChar))
	s = escapes.ReplaceAllLiteralString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r': // a progress bar
			return '\n'
		case text.Harmful(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	return strings.TrimRight(s, " \t\n")
}
