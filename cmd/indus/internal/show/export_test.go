package show

import "slices"

// FittedTable is rows on a terminal of so many columns.
func FittedTable(rows [][]string, spare []string, room int) string {
	t := &Table{Spare: spare}
	for _, row := range rows {
		t.Add(slices.Clone(row)...)
	}
	t.fit(room)
	return t.String()
}
