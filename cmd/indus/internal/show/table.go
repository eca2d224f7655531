package show

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Table is rows of cells, the first of which is the heading.
type Table struct {
	rows [][]string
	// spare are the columns that a narrow terminal does without, the first one first.
	Spare []string
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// leastCell is the narrowest that the last column is cut to: less says nothing.
const leastCell = 12

// Write prints the rows in columns, two blanks apart. A terminal gets lines that fit.
func (t *Table) Write(out io.Writer) error {
	text := ""
	if file, ok := Terminal(out); ok {
		room, _ := ScreenSize(file)
		text = t.In(room)
	} else {
		t.clean()
		text = t.String()
	}
	_, err := io.WriteString(out, text)
	return err
}

// In is the rows in columns, in so many columns of a terminal.
func (t *Table) In(room int) string {
	t.clean()
	t.fit(room)
	return t.String()
}

func (t *Table) clean() {
	for _, row := range t.rows {
		for i := range row {
			row[i] = cmp.Or(Clean(row[i]), "-")
		}
	}
}

func (t *Table) String() string {
	widths := t.widths()
	var b strings.Builder
	for _, row := range t.rows {
		line := ""
		for i, cell := range row {
			line += Pad(cell, widths[i]+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// fit leaves columns out and cuts the last one.
func (t *Table) fit(room int) {
	for _, name := range append([]string{""}, t.Spare...) {
		if i := slices.Index(t.rows[0], name); i >= 0 {
			for r := range t.rows {
				t.rows[r] = slices.Delete(t.rows[r], i, i+1)
			}
		}
		widths := t.widths()
		last := len(widths) - 1
		used := 0
		for _, w := range widths[:last] {
			used += w + 2
		}
		if room-used < min(widths[last], leastCell) {
			continue
		}
		for _, row := range t.rows {
			row[last] = CutColumns(row[last], room-used)
		}
		return
	}
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], Columns(cell))
		}
	}
	return widths
}

// Columns is how many columns of a terminal a text takes: those of East Asia are wide,
// marks go on the letter before, and its looks take none: see [Styled].
func Columns(s string) (n int) {
	for s != "" {
		looks := looksLength(s)
		r, size := utf8.DecodeRuneInString(s[looks:])
		if size > 0 {
			n += runeColumns(r)
		}
		s = s[looks+size:]
	}
	return n
}

// Styled is a text with looks, the parameters of SGR: "1;3". "" are none.
func Styled(text, looks string) string {
	if looks == "" || text == "" {
		return text
	}
	return "\x1b[" + looks + "m" + text + plainLooks
}

const plainLooks = "\x1b[0m"

// looksLength is how long the looks are that a text begins with.
func looksLength(s string) (n int) {
	for strings.HasPrefix(s[n:], "\x1b[") {
		end := strings.IndexByte(s[n:], 'm')
		if end < 0 || strings.Trim(s[n+2:n+end], "0123456789;") != "" {
			break
		}
		n += end + 1
	}
	return n
}

func runeColumns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// Pad is a text with blanks behind it, in at least n columns.
func Pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-Columns(s))) }

// CutColumns is a text in at most n columns.
func CutColumns(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	used := 1 // the dots
	for i := 0; i < len(s); {
		i += looksLength(s[i:])
		r, size := utf8.DecodeRuneInString(s[i:])
		if used += runeColumns(r); used > n {
			if strings.Contains(s[:i], "\x1b[") {
				return s[:i] + "…" + plainLooks
			}
			return s[:i] + "…"
		}
		i += size
	}
	return s
}
