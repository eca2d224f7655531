package standard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"unicode/utf8"
)

// checkInterval is the number of bytes searched between two checks of the context. A large expression takes a tenth of
// a millisecond for each byte.
const checkInterval = 4 << 10

// find returns the first match in a line. In a long line, it stops when the context ends.
func (g *grepRun) find(row []byte) []int {
	if len(row) <= checkInterval {
		return g.expr.FindIndex(row)
	}
	return g.expr.FindReaderIndex(&contextRuneReader{ctx: g.ctx, row: row})
}

// contextRuneReader reads the runes of a line, and ends early when the context does.
type contextRuneReader struct {
	ctx context.Context
	row []byte
	n   int
}

func (e *contextRuneReader) ReadRune() (rune, int, error) {
	if e.n++; len(e.row) == 0 || e.n%256 == 0 && e.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	r, size := utf8.DecodeRune(e.row)
	e.row = e.row[size:]
	return r, size, nil
}

// text searches data and lists its matches under name. The error is the context's error or
// errWalkLimit.
func (g *grepRun) text(name string, data []byte) error {
	if !bytes.Contains(data, g.prefix) {
		return nil
	}
	part := &filePart{name: name, page: g.page, contextLines: g.contextLines}
	since := 0
	for n := 1; len(data) > 0; n++ {
		var row []byte
		row, data, _ = bytes.Cut(data, []byte("\n"))
		row = bytes.TrimSuffix(row, []byte("\r"))
		at := g.find(row)
		if since += len(row) + 1; since > checkInterval {
			if since = 0; g.ctx.Err() != nil {
				return g.ctx.Err()
			}
		}
		if at == nil {
			part.skip(n, row)
			continue
		}
		if g.found++; g.found > grepCount {
			return errWalkLimit
		}
		if g.shown == g.limit || !part.match(n, row, at[0]) {
			part.skip(n, row)
			continue
		}
		g.shown++
	}
	return nil
}

// filePart is one file's part of the page. It takes the lines in order.
type filePart struct {
	name         string
	page         *page
	contextLines int

	before    [][]byte // the last lines that are not on the page
	remaining int      // number of lines still to show after the last match
	last      int      // the last line on the page, 0 if there is none
}

// match shows line n, which matches at the byte at, and the lines before it.
func (s *filePart) match(n int, row []byte, at int) bool {
	first, heading := n-len(s.before), s.name
	if s.page.lines.Len() > 0 {
		heading = "\n" + s.name // an empty line after the previous file
	}
	switch {
	case s.last == 0 && !s.page.add(heading):
		return false
	case s.last > 0 && first > s.last+1:
		s.page.add("--")
	}
	for i, row := range s.before {
		s.show(first+i, "-", row, 0)
	}
	s.before, s.remaining = s.before[:0], s.contextLines
	return s.show(n, ":", row, at)
}

// skip handles line n, which does not match or is not shown as a match.
func (s *filePart) skip(n int, row []byte) {
	switch {
	case s.remaining > 0:
		s.remaining--
		s.show(n, "-", row, 0)
	case s.contextLines > 0:
		if len(s.before) == s.contextLines {
			s.before = append(s.before[:0], s.before[1:]...)
		}
		s.before = append(s.before, row)
	}
}

func (s *filePart) show(n int, sign string, row []byte, at int) bool {
	s.last = n
	return s.page.add(fmt.Sprintf("%d%s%s", n, sign, clip(row, at, grepWidth)))
}
