package standard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"
)

// search finds matching lines in one text after the other and puts them on a page.
type search struct {
	ctx    context.Context
	expr   *regexp.Regexp
	prefix []byte // what every match begins with
	around int
	limit  int
	page   *page

	found, shown int
}

func newSearch(ctx context.Context, expr *regexp.Regexp, around, limit int, p *page) *search {
	prefix, _ := expr.LiteralPrefix()
	return &search{ctx: ctx, expr: expr, prefix: []byte(prefix), around: around, limit: limit, page: p}
}

const (
	// lookEvery is how many bytes are searched between two looks at the context: a
	// large expression takes a tenth of a millisecond for each.
	lookEvery = 4 << 10
)

// find is the first match in a line; a long one is given up when the context ends.
func (s *search) find(row []byte) []int {
	if len(row) <= lookEvery {
		return s.expr.FindIndex(row)
	}
	return s.expr.FindReaderIndex(&ending{ctx: s.ctx, row: row})
}

// ending is a line that ends with the context.
type ending struct {
	ctx context.Context
	row []byte
	n   int
}

func (e *ending) ReadRune() (rune, int, error) {
	if e.n++; len(e.row) == 0 || e.n%256 == 0 && e.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	r, size := utf8.DecodeRune(e.row)
	e.row = e.row[size:]
	return r, size, nil
}

// text searches data; its matches are under name. The error is the context's, or
// errEnough.
func (s *search) text(name string, data []byte) error {
	if !bytes.Contains(data, s.prefix) {
		return nil
	}
	part := &filePart{name: name, page: s.page, around: s.around}
	since := 0
	for n := 1; len(data) > 0; n++ {
		var row []byte
		row, data, _ = bytes.Cut(data, []byte("\n"))
		row = bytes.TrimSuffix(row, []byte("\r"))
		at := s.find(row)
		if since += len(row) + 1; since > lookEvery {
			if since = 0; s.ctx.Err() != nil {
				return s.ctx.Err()
			}
		}
		if at == nil {
			part.pass(n, row)
			continue
		}
		if s.found++; s.found > grepCount {
			return errEnough
		}
		if s.shown == s.limit || !part.match(n, row, at[0]) {
			part.pass(n, row)
			continue
		}
		s.shown++
	}
	return nil
}

// filePart is one file's part of the page. It takes the lines in turn.
type filePart struct {
	name   string
	page   *page
	around int

	before [][]byte // lines just passed that are not on the page
	due    int      // how many lines after the last match are still to come
	last   int      // the last line on the page, 0: none
}

// match shows line n, which matches at a byte, and those before it.
func (s *filePart) match(n int, row []byte, at int) bool {
	first, heading := n-len(s.before), s.name
	if s.page.lines.Len() > 0 {
		heading = "\n" + s.name // an empty line parts it from the file before
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
	s.before, s.due = s.before[:0], s.around
	return s.show(n, ":", row, at)
}

// pass takes note of line n, which does not match or is not to be shown as a match.
func (s *filePart) pass(n int, row []byte) {
	switch {
	case s.due > 0:
		s.due--
		s.show(n, "-", row, 0)
	case s.around > 0:
		if len(s.before) == s.around {
			s.before = append(s.before[:0], s.before[1:]...)
		}
		s.before = append(s.before, row)
	}
}

func (s *filePart) show(n int, sign string, row []byte, at int) bool {
	s.last = n
	return s.page.add(fmt.Sprintf("%d%s%s", n, sign, clip(row, at, grepWidth)))
}
