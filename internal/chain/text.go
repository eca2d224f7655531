package chain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
	sum := sha256.Sum256([]byte(s))
	if len(s) > limit/2 {
		s = s[:limit/2]
	}
	return strings.ToValidUTF8(s, "?") + "…" + hex.EncodeToString(sum[:8])
}

// EachMember calls read with each member of an object without its braces, until read returns false. It reports whether
// b is such an object and read accepted all members. It expects JSON without white space.
func EachMember(b []byte, read func(key, value []byte) bool) bool {
	for len(b) > 0 {
		key, value, rest, ok := cutMember(b)
		if !ok || !read(key, value) {
			return false
		}
		b = rest
	}
	return true
}

// cutMember returns the first member of an object without its braces, and the rest of the object.
func cutMember(b []byte) (key, value, rest []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(`"`))
	key, b, _ = bytes.Cut(b, []byte(`":`))
	if !ok || len(b) == 0 {
		return nil, nil, nil, false
	}
	end := valueEnd(b)
	if end == 0 || end > len(b) || end < len(b) && b[end] != ',' {
		return nil, nil, nil, false
	}
	return key, b[:end], bytes.TrimPrefix(b[end:], []byte(",")), true
}

// valueEnd returns the length of the first value. It is beyond b if the value has no end.
func valueEnd(b []byte) (end int) {
	switch b[0] {
	case '"':
		return stringEnd(b)
	case '{', '[':
		for depth := 0; end < len(b); end++ {
			switch b[end] {
			case '"':
				end += stringEnd(b[end:]) - 1
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return end + 1
				}
			}
		}
		return len(b) + 1
	}
	end = bytes.IndexByte(b, ',')
	if end < 0 {
		end = len(b)
	}
	return end
}

// stringEnd returns the length of the string at the beginning of b. It is beyond b if the string has no end.
func stringEnd(b []byte) int {
	end := 1
	for ; end < len(b) && b[end] != '"'; end++ {
		if b[end] == '\\' {
			end++
		}
	}
	return end + 1
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
