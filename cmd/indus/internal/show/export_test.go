package show

import "slices"

// FittedTable returns rows as text, fitted to a terminal of room columns.
func FittedTable(rows [][]string, spare []string, room int) string {
	t := &Table{Spare: spare}
	for _, row := range rows {
		t.Add(slices.Clone(row)...)
	}
	t.fit(room)
	return t.String()
}

// WrapLines returns a text as a terminal of width columns shows it.
var WrapLines = wrapLines
