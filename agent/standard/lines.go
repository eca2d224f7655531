package standard

import (
	"bufio"
	"errors"
	"io"
	"unicode/utf8"
)

// lines reads a text line by line. It holds only its buffer and the requested part of a line.
type lines struct {
	*bufio.Reader
}

// next returns the next line without its end: at most width bytes in whole characters, and the
// number of bytes after them. The last line need not have an end. After the last line the error is
// io.EOF.
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

// skip skips up to n lines. It stops before a line that begins after most bytes. The error is
// io.EOF if there are fewer lines.
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

// wholeRunes removes an incomplete character from the end of b.
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
