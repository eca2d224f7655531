package jsontree

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/wire"
)

// Unquote returns the characters of a quoted string, so "ty\u0070e" is type.
//
// It differs from encoding/json in two ways. Half of a surrogate pair keeps its value, in three bytes as if it were a
// character. If all halves became U+FFFD, two names could become equal. And it takes any bytes: an invalid escape
// stands for itself.
func Unquote(quoted []byte) string {
	inner := bytes.TrimSuffix(quoted[1:], []byte{'"'})
	next := bytes.IndexByte(inner, '\\')
	if next < 0 {
		return string(inner)
	}
	out := make([]byte, 0, len(inner))
	for ; next >= 0; next = bytes.IndexByte(inner, '\\') {
		out = append(out, inner[:next]...)
		inner = inner[next:]
		r, size := wire.Char(inner)
		switch {
		case size == 2 && r >= utf8.RuneSelf:
			out = append(out, inner[1])
		case utf16.IsSurrogate(r):
			out = append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
		default:
			out = utf8.AppendRune(out, r)
		}
		inner = inner[size:]
	}
	return string(append(out, inner...))
}
