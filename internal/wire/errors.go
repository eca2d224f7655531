package wire

import (
	"fmt"
)

// SyntaxError reports invalid bytes. Scan also returns it for JSON that is not one object.
type SyntaxError struct {
	Offset int    // of the invalid byte; the length of the input if it ended too soon
	Reason string // a phrase: "unexpected '}'", "nested deeper than 10000"
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("wire: %s at byte %d", e.Reason, e.Offset)
}

// KeyError reports that valid JSON is ambiguous: a key is repeated, or only some readers take it
// for an envelope key.
type KeyError struct {
	Key       string // as written, decoded
	Resembles string // the key it repeats or resembles
	Offset    int    // of the offending key
}

func (e *KeyError) Error() string {
	if e.Key == e.Resembles {
		return fmt.Sprintf("wire: key %q stands twice, again at byte %d", e.Key, e.Offset)
	}
	return fmt.Sprintf("wire: key %q can be taken for %q, at byte %d", e.Key, e.Resembles, e.Offset)
}

// TooLong reports that a message was discarded, because it exceeded the limit of its [Lines] or
// [Events], or found no room in their budget. Reading can continue.
type TooLong struct {
	Prefix []byte // the first 4 KiB
	Size   int64  // of the whole message in bytes
	Limit  int
}

func (e *TooLong) Error() string {
	if e.Size <= int64(e.Limit) {
		return fmt.Sprintf("wire: there was no room for a message of %d bytes, because others hold too many", e.Size)
	}
	return fmt.Sprintf("wire: message of %d bytes is over the limit of %d", e.Size, e.Limit)
}

// Frame returns the discarded message as a BadFrame, with the fields that its beginning shows.
func (e *TooLong) Frame() *BadFrame {
	bad := &BadFrame{Err: e}
	bad.ID, bad.HasMethod = probe(e.Prefix)
	return bad
}

// stopReason is the reason why the scanner stopped, or stopNone.
type stopReason uint8

const (
	stopNone stopReason = iota
	stopUnexpected
	stopTooDeep
	stopControl
	stopEscape
)

// syntaxError returns the error for a scan of b that stopped at i.
func syntaxError(b []byte, i int, w stopReason) *SyntaxError {
	reason := "unexpected end"
	switch {
	case w == stopTooDeep:
		reason = fmt.Sprintf("nested deeper than %d", maxDepth)
	case i >= len(b):
	case w == stopControl:
		reason = fmt.Sprintf("control character 0x%02x in a string", b[i])
	case w == stopEscape:
		reason = fmt.Sprintf("invalid escape with %s", byteName(b[i]))
	default:
		reason = "unexpected " + byteName(b[i])
	}
	return &SyntaxError{Offset: i, Reason: reason}
}

func byteName(c byte) string {
	if c < ' ' || c > '~' {
		return fmt.Sprintf("byte 0x%02x", c)
	}
	return fmt.Sprintf("%q", c)
}
