package show

import (
	"io"
	"slices"
)

// FittedTable is rows on a terminal of so many columns.
func FittedTable(rows [][]string, spare []string, room int) string {
	t := &Table{Spare: spare}
	for _, row := range rows {
		t.Add(slices.Clone(row)...)
	}
	t.fit(room)
	return t.String()
}

// Drawing is lines that are drawn anew.
type Drawing struct{ d drawing }

// Draw draws them.
func (d *Drawing) Draw(w io.Writer, lines []string, width int) { d.d.draw(w, lines, width) }
