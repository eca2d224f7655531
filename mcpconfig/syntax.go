package mcpconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// unfit says why a text need not be parsed, or must not.
func unfit(text []byte) (at int, reason, hint string) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return 0, "is UTF-16", "save it as UTF-8"
	}
	if !utf8.Valid(text) {
		for at < len(text) {
			r, n := utf8.DecodeRune(text[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return at, "is not UTF-8", "save it as UTF-8"
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return 0, "is empty", example
	}
	if at := tooDeep(text); at >= 0 {
		return at, fmt.Sprintf("nested deeper than %d levels", maxDepth), ""
	}
	return 0, "", ""
}

// tooDeep is where the text goes below maxDepth, or -1. It follows the parser up
// to the parser's first error: strings and comments are where that one sees them.
func tooDeep(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		case '"':
			i = skipString(text, i)
		case '/':
			i = skipComment(text, i)
		}
	}
	return -1
}

// skipString is the offset of the quote that ends the string that begins at i.
func skipString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// skipComment is the offset of the last byte of the comment that begins at i.
func skipComment(text []byte, i int) int {
	end := "\n"
	switch {
	case bytes.HasPrefix(text[i:], []byte("/*")):
		end = "*/"
	case !bytes.HasPrefix(text[i:], []byte("//")):
		return i
	}
	n := bytes.Index(text[i+2:], []byte(end))
	if n < 0 {
		return len(text)
	}
	return i + 2 + n + len(end) - 1
}

// syntax is where and why the parser gave up. The parser quotes the token it
// stumbled over, which may be a secret with a bad escape: that text is replaced.
func (f *file) syntax(err error) (at int, reason, hint string) {
	at = f.errorOffset(err)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return len(f.text), "ends too early", "look for a bracket, a quote or a comment that is not closed"
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	reason = err.Error()
	switch {
	case strings.HasPrefix(reason, "invalid literal"):
		return f.literal(at)
	case strings.HasPrefix(reason, `invalid character '\''`):
		hint = `write strings in double quotes`
	}
	return at, reason, hint
}

// errorOffset reads the position from the parser's text, which has no other place for it.
func (f *file) errorOffset(err error) int {
	var line, column int
	if _, e := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); e != nil {
		return 0
	}
	if line < 1 || line > len(f.starts) {
		return len(f.text)
	}
	return min(f.starts[line-1]+column-1, len(f.text))
}

// literal says what is wrong with the token at an offset, without showing it.
func (f *file) literal(at int) (where int, reason, hint string) {
	if at >= len(f.text) || f.text[at] != '"' {
		return at, "a word that is neither true, false, null nor a number", "write strings and names in double quotes"
	}
	end := min(skipString(f.text, at), len(f.text))
	for i := at + 1; i < end; i++ {
		switch c := f.text[i]; {
		case c < ' ':
			return i, "a line break or control character in a string", `write it as \n, \t or \u00XX`
		case c == '\\' && !hujson.Literal(`"`+string(f.text[i:escapeEnd(f.text, i, end)])+`"`).IsValid():
			return i, "a bad escape in a string", `write "\\" for a backslash`
		case c == '\\':
			i++
		}
	}
	return at, "a bad string", ""
}

// escapeEnd is where the escape that begins at i ends, but at most end.
func escapeEnd(text []byte, i, end int) int {
	if i+1 < end && text[i+1] == 'u' {
		return min(i+6, end)
	}
	return min(i+2, end)
}

// kindOf names a value as a person would.
func kindOf(v hujson.ValueTrimmed) string {
	switch v.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a boolean"
}
