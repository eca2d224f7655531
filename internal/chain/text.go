package chain

import (
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/wire"
)

// MaxSeq is the largest integer that every JSON reader accepts.
const MaxSeq = 1<<53 - 1

// TimeLayout is the layout of times in a line.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Clip shortens a text that is longer than limit bytes or not UTF-8. A hash at its end keeps different texts apart.
// Clipping a text a second time does not change it.
func Clip(s string, limit int) string {
	if len(s) <= limit && utf8.ValidString(s) {
		return s
	}
	end := Hash([]byte(s))[:16]
	if len(s) > limit/2 {
		s = s[:limit/2]
	}
	return strings.ToValidUTF8(s, "?") + "…" + end
}

// Unquote returns the string that JSON text encodes. It calls text to make the string if nothing is escaped.
func Unquote(value []byte, text func([]byte) string) (string, bool) {
	for i, c := range value {
		if c < 0x20 || c > 0x7e || c == '\\' || c == '"' && i > 0 && i < len(value)-1 {
			return wire.Unquote(value)
		}
	}
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	return text(value[1 : len(value)-1]), true
}

// maxTexts bounds the texts that are kept because they may be repeated.
const maxTexts = 1 << 16

// Texts makes strings. Equal texts share one string.
type Texts map[string]string

// Text returns b as a string.
func (t Texts) Text(b []byte) string {
	known, ok := t[string(b)]
	if !ok {
		known = string(b)
		if len(t) < maxTexts && len(b) <= HashLen {
			t[known] = known
		}
	}
	return known
}
