package show_test

import (
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/show"
)

func TestCellsAreColumnsOfATerminal(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "日本": 4, "e\u0301": 1, "ｱ": 1, "🙂": 2, "한": 2, "…": 1, "\x1b[1;3ma\x1b[0mb\x1b[0m": 2,
	} {
		if got := show.Columns(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"日本語", 6, "日本語"}, {"\x1b[1mabcd\x1b[0m", 3, "\x1b[1mab…\x1b[0m"}, {"\x1b[1mabc\x1b[0m", 3, "\x1b[1mabc\x1b[0m"},
	} {
		if got := show.CutColumns(c.text, c.most); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

// On a narrow terminal, spare columns are left out before a row would wrap.
func TestATableFits(t *testing.T) {
	rows := [][]string{{"NAME", "LEAST", "TARGET"}, {"日本", "x", "a command line that is long"}}
	for room, want := range map[int]string{
		80: "NAME  LEAST  TARGET\n日本  x      a command line that is long\n",
		30: "NAME  LEAST  TARGET\n日本  x      a command line t…\n",
		20: "NAME  LEAST\n日本  x\n",
		7:  "NAME\n日本\n",
	} {
		if got := show.FittedTable(rows, []string{"TARGET", "LEAST"}, room); got != want {
			t.Errorf("%d columns:\n%swant:\n%s", room, got, want)
		}
	}
}

// TestATableFitsWithoutSpareColumns checks that a table is never wider than the terminal, and that its columns stay
// apart, whichever cell is long.
func TestATableFitsWithoutSpareColumns(t *testing.T) {
	long := strings.Repeat("long", 20)
	for wide := range 4 {
		row := []string{"日本", "b", "c", "d"}
		row[wide] = long
		text := show.FittedTable([][]string{{"NAME", "STATE", "SERVER", "TARGET"}, row}, nil, 60)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i, line := range lines {
			if n := show.Columns(line); n > 60 || len(strings.Fields(line)) != 4 {
				t.Errorf("line %d has %d columns:\n%s", i, n, text)
			}
		}
	}
}
