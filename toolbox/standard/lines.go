package standard

import (
	"bufio"
	"errors"
	"io"
	"unicode/utf8"
)

// lines reads a text line by line and never holds more than its buffer and the
// part of a line that was asked for.
type lines struct {
	*bufio.Reader
}

// next is the next line without its end: at most width bytes of it, whole characters,
// and how many bytes follow. The last line need not have an end. After it the
// error is io.EOF.
func (l *lines) next(width int) (line []byte, cut int, err error) {
	length, ended := 0, false
	for !ended {
		part, err := l.ReadSlice('\n')
		switch {
		case err == nil:
			part, ended = part[:len(part)-1], true
		case errors.Is(err, io.EOF) && length+len(part) > 0:
			ended = true
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, err
		}
		length += len(part)
		line = append(line, part[:min(len(part), width-len(line))]...)
	}
	if length > len(line) {
		line = wholeRunes(line)
	}
	return line, length - len(line), nil
}

// skip passes over up to n lines, and no line that begins after most bytes.
// The error is io.EOF where there were fewer.
func (l *lines) skip(n int, most int64) (skipped int, err error) {
	for passed := int64(0); skipped < n && passed < most; skipped++ {
		_, length, err := l.next(0)
		if err != nil {
			return skipped, err
		}
		passed += int64(length) + 1
	}
	return skipped, nil
}

// wholeRunes drops the beginning of a character from the end of b.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}
