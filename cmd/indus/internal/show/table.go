package show

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Table holds rows of cells. The first row is the heading.
type Table struct {
	rows [][]string
	// Spare lists the headings of columns that are left out on a narrow terminal, in this order.
	Spare []string
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// minCellWidth is the minimum width of the last column if it is cut.
const minCellWidth = 12

// Write prints the rows in columns, separated by two spaces. On a terminal, the rows are fitted to its width.
func (t *Table) Write(out io.Writer) error {
	_, err := io.WriteString(out, t.In(WidthOf(out, math.MaxInt)))
	return err
}

// PrintTable prints a table. If it has no row below the heading, it reports the message instead.
func (s Streams) PrintTable(t *Table, none string, args ...any) error {
	if len(t.rows) == 1 {
		s.Reportf(none, args...)
		return nil
	}
	return t.Write(s.Out)
}

// In returns the rows as text, fitted to room columns.
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

// fit removes spare columns until the rows fit, and cuts the last column to the rest of the width.
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
		if room-used < min(widths[last], minCellWidth) {
			continue
		}
		for _, row := range t.rows {
			row[last] = CutColumns(row[last], room-used)
		}
		return
	}
	t.shrink(room)
}

// shrink cuts the cells of the widest columns until the rows fit.
func (t *Table) shrink(room int) {
	widths := t.widths()
	used := -2
	for _, w := range widths {
		used += w + 2
	}
	for widest := slices.Max(widths); used > room && widest > minCellWidth; widest = slices.Max(widths) {
		widths[slices.Index(widths, widest)]--
		used--
	}
	for _, row := range t.rows {
		for i := range row {
			row[i] = CutColumns(row[i], widths[i])
		}
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

// Columns returns the number of terminal columns of a text. East Asian wide characters take two. Combining marks, and
// the escape sequences of [Styled], take none.
func Columns(s string) (n int) {
	for s != "" {
		sgr := sgrLength(s)
		r, size := utf8.DecodeRuneInString(s[sgr:])
		if size > 0 {
			n += runeColumns(r)
		}
		s = s[sgr+size:]
	}
	return n
}

// Styled returns text with the SGR parameters in style, such as "1;3". If style is "", the text is returned unchanged.
func Styled(text, style string) string {
	if style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + sgrReset
}

const sgrReset = "\x1b[0m"

// sgrLength returns the length of the SGR sequences at the beginning of a text, in bytes.
func sgrLength(s string) (n int) {
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

// Pad appends spaces to a text until it has at least n columns.
func Pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-Columns(s))) }

// CutColumns cuts a text to at most n columns.
func CutColumns(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	used := 1 // the "…" takes one column
	for i := 0; i < len(s); {
		i += sgrLength(s[i:])
		r, size := utf8.DecodeRuneInString(s[i:])
		used += runeColumns(r)
		if used > n {
			if strings.Contains(s[:i], "\x1b[") {
				return s[:i] + "…" + sgrReset
			}
			return s[:i] + "…"
		}
		i += size
	}
	return s
}
