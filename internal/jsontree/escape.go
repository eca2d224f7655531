package jsontree

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns the characters of a quoted string, so "ty\u0070e" is type. Without escapes the result is a part of
// quoted.
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
	for next >= 0 && next+1 < len(inner) {
		out = append(out, inner[:next]...)
		var n int
		out, n = appendEscape(out, inner[next:])
		inner = inner[next+n:]
		next = bytes.IndexByte(inner, '\\')
	}
	return string(append(out, inner...))
}

// appendEscape appends the character for the escape at the start of text, and returns the length of the escape. The
// text has at least two bytes.
func appendEscape(out, text []byte) ([]byte, int) {
	switch c := text[1]; c {
	case 'b':
		return append(out, '\b'), 2
	case 'f':
		return append(out, '\f'), 2
	case 'n':
		return append(out, '\n'), 2
	case 'r':
		return append(out, '\r'), 2
	case 't':
		return append(out, '\t'), 2
	case 'u':
		return appendUnicode(out, text)
	default: // " \ / and invalid escapes
		return append(out, c), 2
	}
}

func appendUnicode(out, text []byte) ([]byte, int) {
	first, ok := unicodeEscape(text)
	if !ok {
		return append(out, 'u'), 2
	}
	if !utf16.IsSurrogate(first) {
		return utf8.AppendRune(out, first), 6
	}
	if low, ok := unicodeEscape(text[6:]); ok {
		if r := utf16.DecodeRune(first, low); r != utf8.RuneError {
			return utf8.AppendRune(out, r), 12
		}
	}
	return append(out, 0xE0|byte(first>>12), 0x80|byte(first>>6)&0x3F, 0x80|byte(first)&0x3F), 6
}

// unicodeEscape reads a \uXXXX at the start of text.
func unicodeEscape(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	r, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(r), err == nil
}
