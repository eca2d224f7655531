package show

import (
	"regexp"
	"strings"
)

// Reflow breaks the lines of a help text anew that are wider than a terminal: prose,
// and what is in the second column. Sessions stay as they are.
func Reflow(text string, width int) string {
	var out []string
	section := ""
	for lines := strings.Split(text, "\n"); len(lines) > 0; {
		first, n := lines[0], 1
		if strings.HasSuffix(first, ":") && !strings.HasPrefix(first, " ") {
			section = first
		}
		at, item := textColumn(first)
		loose := section != "A session:" && (item || section != "Usage:")
		for loose && n < len(lines) && first != "" {
			if next, another := textColumn(lines[n]); another || next != at || lines[n] == "" {
				break
			}
			n++
		}
		group := lines[:n]
		lines = lines[n:]
		if loose && widestLine(group) > width {
			group = refill(group, at, width)
		}
		out = append(out, group...)
	}
	return strings.Join(out, "\n")
}

var secondColumn = regexp.MustCompile(`^ +\S.*?   *`)

// textColumn is where the text of a line begins: behind the item that it explains, if
// there is one.
func textColumn(line string) (at int, item bool) {
	if head := secondColumn.FindString(line); head != "" && len(head) < len(line) {
		return len(head), true
	}
	return len(line) - len(strings.TrimLeft(line, " ")), false
}

func widestLine(lines []string) (n int) {
	for _, line := range lines {
		n = max(n, Columns(line))
	}
	return n
}

// Wrap is text in lines of at most 80 columns, so many columns in.
func Wrap(text string, in int) string {
	return strings.Join(WrapTo(text, in, 80), "\n")
}

// WrapTo is text in lines of at most so many columns, in columns in.
func WrapTo(text string, in, width int) []string {
	return WrapColumn(strings.Repeat(" ", in)+text, in, width)
}

// WrapColumn is a line whose text begins at a column, with what does not fit below that text.
func WrapColumn(line string, at, width int) []string { return refill([]string{line}, at, width) }

// leastText is the narrowest second column; else the text goes on below the item.
const leastText = 24

func refill(lines []string, at, width int) []string {
	head := lines[0][:at]
	text := lines[0][at:] + " " + strings.Join(lines[1:], " ")
	if width-at < leastText {
		at = min(at, 6)
	}
	var out []string
	line := head
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case Columns(line)+1+Columns(word) > width:
			out = append(out, line)
			line = strings.Repeat(" ", at) + word
		default:
			line += " " + word
		}
	}
	return append(out, line)
}
