package lineedit

import (
	"bytes"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Key is a kind of key press or input.
type Key int

// The supported keys. All others are ignored.
const (
	KeyText    Key = iota // characters, in Event.Text
	KeyPaste              // pasted text, in Event.Text
	KeyEnter              // sends the text; input from before raw mode has line feeds
	KeyNewline            // Alt-Enter, breaks the line
	KeyTab
	KeyBackspace
	KeyDelete
	KeyLeft
	KeyRight
	KeyWordLeft // Alt and Ctrl with an arrow, Alt-b
	KeyWordRight
	KeyUp
	KeyDown
	KeyHome
	KeyEnd
	KeyKillBefore // Ctrl-U: deletes from the start of the line to the cursor
	KeyKillAfter  // Ctrl-K
	KeyKillWord   // Ctrl-W
	KeyRedraw     // Ctrl-L
	KeyInterrupt  // Ctrl-C
	KeyHangUp     // Ctrl-D: ends the input, or else acts as Delete
	KeySuspend    // Ctrl-Z
	KeySearch     // Ctrl-R
	KeyEscape     // Esc alone
)

// Event is one key.
type Event struct {
	Key  Key
	Text string // for KeyText and KeyPaste; any text that can be pasted
}

// Input decodes keys as they are typed.
type Input struct {
	// Events delivers the keys. It is closed when the input ends.
	Events <-chan Event
}

// escapeWait is the time after which a lone ESC byte counts as the key Esc instead of the start of a sequence.
const escapeWait = 50 * time.Millisecond

// NewInput reads from a terminal in raw mode until the terminal ends.
func NewInput(r io.Reader) *Input {
	events, chunks := make(chan Event), make(chan []byte)
	go func() {
		defer close(chunks)
		for {
			chunk := make([]byte, 4096)
			n, err := r.Read(chunk)
			if n > 0 {
				chunks <- chunk[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer close(events)
		var d decoder
		for {
			var escapeTimer <-chan time.Time
			if string(d.pending) == "\x1b" {
				escapeTimer = time.After(escapeWait)
			}
			select {
			case chunk, ok := <-chunks:
				if !ok {
					return
				}
				for _, e := range d.decode(chunk) {
					events <- e
				}
			case <-escapeTimer:
				d.pending = nil
				events <- Event{Key: KeyEscape}
			}
		}
	}()
	return &Input{Events: events}
}

// decoder converts bytes to keys. It buffers incomplete sequences.
type decoder struct {
	pending []byte
	scanned int // the part of a paste that was already searched for its end
}

func (d *decoder) decode(more []byte) (events []Event) {
	d.pending = append(d.pending, more...)
	for len(d.pending) > 0 {
		e, n, known := d.next()
		if n == 0 {
			break
		}
		d.pending, d.scanned = d.pending[n:], 0
		if last := len(events) - 1; known && e.Key == KeyText && last >= 0 && events[last].Key == KeyText {
			events[last].Text += e.Text
		} else if known {
			events = append(events, e)
		}
	}
	return events
}

var pasteStart, pasteEnd = []byte("\x1b[200~"), []byte("\x1b[201~")

// next decodes the first key of rest, and returns its length in bytes. If the key is incomplete, the length is 0.
func (d *decoder) next() (e Event, n int, known bool) {
	if bytes.HasPrefix(d.pending, pasteStart) {
		from := max(len(pasteStart), d.scanned-len(pasteEnd))
		end := bytes.Index(d.pending[min(from, len(d.pending)):], pasteEnd)
		if end < 0 {
			d.scanned = len(d.pending)
			return e, 0, false
		}
		return Event{KeyPaste, string(d.pending[len(pasteStart) : from+end])}, from + end + len(pasteEnd), true
	}
	n = d.keyLength()
	if key, ok := keyBytes[strings.Replace(string(d.pending[:n]), "\x1bO", "\x1b[", 1)]; ok {
		return Event{Key: key}, n, true
	}
	r, _ := utf8.DecodeRune(d.pending)
	return Event{KeyText, string(d.pending[:n])}, n, r != utf8.RuneError && r >= ' '
}

// keyLength returns the number of bytes of the first key in rest. If the key is incomplete, it returns 0.
func (d *decoder) keyLength() int {
	switch {
	case d.pending[0] != escape && !utf8.FullRune(d.pending):
		return 0
	case d.pending[0] != escape:
		_, n := utf8.DecodeRune(d.pending)
		return n
	case len(d.pending) == 1, d.pending[1] == 'O' && len(d.pending) == 2:
		return 0
	case d.pending[1] == escape:
		return 1
	case d.pending[1] == 'O':
		return 3
	case d.pending[1] != '[':
		return 2
	}
	for i, c := range d.pending[2:] {
		if c >= 0x40 && c <= 0x7e && !(i == 0 && c == '[') {
			return i + 3
		}
	}
	return 0
}

const escape = 0x1b

// keyBytes maps the bytes of each key. Some terminals send "\x1bO" instead of "\x1b[".
var keyBytes = map[string]Key{
	"\r": KeyEnter, "\n": KeyEnter, "\t": KeyTab, "\x7f": KeyBackspace, "\b": KeyBackspace,
	"\x01": KeyHome, "\x02": KeyLeft, "\x03": KeyInterrupt, "\x04": KeyHangUp, "\x05": KeyEnd, "\x06": KeyRight,
	"\x0b": KeyKillAfter, "\x0c": KeyRedraw, "\x0e": KeyDown, "\x10": KeyUp, "\x12": KeySearch, "\x15": KeyKillBefore,
	"\x17": KeyKillWord, "\x1a": KeySuspend,
	"\x1b\r": KeyNewline, "\x1b\n": KeyNewline, "\x1bb": KeyWordLeft, "\x1bf": KeyWordRight, "\x1b\x7f": KeyKillWord,
	"\x1b[A": KeyUp, "\x1b[B": KeyDown, "\x1b[C": KeyRight, "\x1b[D": KeyLeft, "\x1b[H": KeyHome, "\x1b[F": KeyEnd,
	"\x1b[1~": KeyHome, "\x1b[7~": KeyHome, "\x1b[4~": KeyEnd, "\x1b[8~": KeyEnd, "\x1b[3~": KeyDelete,
	"\x1b[1;3D": KeyWordLeft, "\x1b[1;5D": KeyWordLeft, "\x1b[1;3C": KeyWordRight, "\x1b[1;5C": KeyWordRight,
}

// PastedLines returns pasted text with line feeds as line breaks, because terminals paste line breaks as Enter.
func PastedLines(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
