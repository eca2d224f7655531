// Package screen emulates the display of a terminal for the output of a program. It supports only the few sequences
// that indus uses. Any other control character or sequence is added to Unknown, so that a test detects the effect of an
// untrusted text on a terminal. A screen that becomes narrower wraps its lines, as most terminals do.
package screen

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Screen is a terminal that scrolls. All methods are safe for concurrent use.
type Screen struct {
	mu            sync.Mutex
	width, height int
	rows          []row // including rows that have scrolled off
	y, x          int
	nowrap        bool
	rest          []byte
	unknown       []string
	columns       func(rune) int
}

type row struct {
	cells   []rune // 0 is the second half of a wide character
	marks   map[int]string
	wrapped bool // the line continues in the next row
}

// New returns an empty screen. columns returns the width of a character.
func New(width, height int, columns func(rune) int) *Screen {
	return &Screen{width: width, height: height, rows: make([]row, 1), columns: columns}
}

// Write implements [io.Writer].
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(s.rest, b...)
	for len(s.rest) > 0 {
		n := s.next()
		if n == 0 {
			break
		}
		s.rest = s.rest[n:]
	}
	return len(b), nil
}

var sequence = regexp.MustCompile(`^\x1b\[([?\d;]*)([@-~])`)

func (s *Screen) next() int {
	switch c := s.rest[0]; {
	case c == '\r':
		s.x = 0
		return 1
	case c == '\n':
		s.down()
		return 1
	case c == 0x1b:
		if m := sequence.FindSubmatch(s.rest); m != nil {
			s.control(string(m[1]), m[2][0])
			return len(m[0])
		}
		if len(s.rest) < 16 && regexp.MustCompile(`^\x1b(\[[?\d;]*)?$`).Match(s.rest) {
			return 0
		}
		s.unknown = append(s.unknown, string(s.rest[:min(8, len(s.rest))]))
		return 1
	case c < ' ' || c == 0x7f:
		s.unknown = append(s.unknown, string(c))
		return 1
	}
	if !utf8.FullRune(s.rest) {
		return 0
	}
	r, n := utf8.DecodeRune(s.rest)
	s.put(r)
	return n
}

func (s *Screen) control(parameters string, final byte) {
	n, err := strconv.Atoi(parameters)
	if err != nil || n == 0 {
		n = 1
	}
	switch {
	case final == 'm' || parameters == "?2004":
	case parameters == "?7":
		s.nowrap = final == 'l'
	case final == 'A':
		s.y = max(s.top(), s.y-n)
	case final == 'C':
		s.x = min(s.width-1, s.x+n)
	case (final == 'J' || final == 'K') && parameters == "":
		if final == 'J' {
			s.rows = s.rows[:s.y+1]
		}
		r := &s.rows[s.y]
		r.cells, r.wrapped = r.cells[:min(s.x, len(r.cells))], false
	case final == 'J' && parameters == "2":
		s.rows = append(s.rows[:s.top()], make([]row, s.y-s.top()+1)...)
	case final == 'H' && parameters == "":
		s.y, s.x = s.top(), 0
	default:
		s.unknown = append(s.unknown, "\x1b["+parameters+string(final))
	}
}

// top returns the first row that is still on the screen.
func (s *Screen) top() int { return max(0, len(s.rows)-s.height) }

func (s *Screen) down() {
	s.y++
	if s.y == len(s.rows) {
		s.rows = append(s.rows, row{})
	}
}

func (s *Screen) put(r rune) {
	n := s.columns(r)
	if n == 0 {
		if at := min(s.x, len(s.rows[s.y].cells)); at > 0 {
			if s.rows[s.y].marks == nil {
				s.rows[s.y].marks = map[int]string{}
			}
			s.rows[s.y].marks[at-1] += string(r)
		}
		return
	}
	if s.x+n > s.width {
		if s.nowrap {
			s.x = s.width - n
		} else {
			s.rows[s.y].wrapped = true
			s.down()
			s.x = 0
		}
	}
	cells := &s.rows[s.y].cells
	for len(*cells) < s.x+n {
		*cells = append(*cells, ' ')
	}
	(*cells)[s.x] = r
	for i := 1; i < n; i++ {
		(*cells)[s.x+i] = 0
	}
	s.x += n
}

// Resize changes the size. It wraps the rows again, and the cursor keeps its place in its line.
func (s *Screen) Resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []row
	y, x := 0, 0
	for i := 0; i < len(s.rows); {
		var cells []rune
		marks := map[int]string{}
		at := -1
		for more := true; more; i++ {
			if i == s.y {
				at = len(cells) + s.x
			}
			for k, m := range s.rows[i].marks {
				marks[len(cells)+k] = m
			}
			cells = append(cells, s.rows[i].cells...)
			more = s.rows[i].wrapped && i+1 < len(s.rows)
		}
		for from := 0; ; {
			to := min(len(cells), from+width)
			if to < len(cells) && cells[to] == 0 {
				to--
			}
			r := row{cells: cells[from:to:to], wrapped: to < len(cells), marks: map[int]string{}}
			for k := from; k < to; k++ {
				if m, ok := marks[k]; ok {
					r.marks[k-from] = m
				}
			}
			if at >= from && (at < to || to == len(cells)) {
				y, x = len(rows), min(at-from, width-1)
			}
			rows = append(rows, r)
			from = to
			if from == len(cells) {
				break
			}
		}
	}
	s.rows, s.y, s.x, s.width, s.height = rows, y, x, width, height
}

// Size returns the width and height.
func (s *Screen) Size() (width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.width, s.height
}

// String returns all current and scrolled rows, without blanks at the ends of rows and empty rows at the end.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, r := range s.rows {
		line := ""
		for i, c := range r.cells {
			if c != 0 {
				line += string(c)
			}
			line += r.marks[i]
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// Cursor returns the place of the cursor: the row, counted from 0 and including scrolled rows, and the column.
func (s *Screen) Cursor() (y, x int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.y, s.x
}

// Unknown returns the control characters and sequences that this terminal does not support.
func (s *Screen) Unknown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unknown
}
