package show

import (
	"io"
	"slices"
	"strings"
	"unicode"

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
	for _, row := range t.rows {
		for i := range row {
			row[i] = orDash(Clean(row[i]))
		}
	}
	if file, ok := Terminal(out); ok {
		room, _ := ScreenSize(file)
		t.fit(room)
	}
	_, err := io.WriteString(out, t.String())
	return err
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
			row[last] = cutColumns(row[last], room-used)
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
// and marks go on the letter before.
func Columns(s string) (n int) {
	for _, r := range s {
		n += runeColumns(r)
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

// cutColumns is a text in at most n columns.
func cutColumns(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	used := 1 // the dots
	for i, r := range s {
		if used += runeColumns(r); used > n {
			return s[:i] + "…"
		}
	}
	return s
}
