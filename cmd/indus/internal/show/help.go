package show

import (
	"strings"

	chars "github.com/indusagi/indus/internal/text"
)

// Part is a part of a help text: a heading, a paragraph, an item of a list, or lines that stay as they are.
type Part struct {
	Section string // the heading above it, or "" in the introduction
	Kind    PartKind
	Head    string // first column of an item, with its indentation
	At      int    // column of the text
	Text    string // one line; empty for a blank line
}

// PartKind is the kind of a [Part].
type PartKind int

// The kinds of a [Part].
const (
	Paragraph PartKind = iota
	Heading
	Item     // a line whose text begins in a second column, or below a longer first column
	Usage    // a command line without an explanation
	Verbatim // a line of a session or of an example
)

// Section titles that decide how their lines are read.
const (
	UsageTitle   = "Usage:"
	SessionTitle = "A session:"
)

// Parts splits a help text. A flush-left line that ends with a colon, directly above indented lines, is a heading.
// Indented lines without a heading are an example. Line breaks within a paragraph or an item have no meaning.
func Parts(text string) (parts []Part) {
	section := ""
	for lines := strings.Split(text, "\n"); len(lines) > 0; {
		line := lines[0]
		at, item := textColumn(line)
		p := Part{Section: section, At: at, Text: line[min(at, len(line)):]}
		n := 1
		next, nextItem := 0, false
		if len(lines) > 1 {
			next, nextItem = textColumn(lines[1])
		}
		isIndented := strings.HasPrefix(line, " ")
		switch {
		case line == "":
		case !isIndented && strings.HasSuffix(line, ":") && next > 0:
			section = line
			p.Section, p.Kind = section, Heading
		case !isIndented:
			section = ""
			p.Section, n = section, paragraphLines(lines, at)
		case section == "" && !isListed(line), section == SessionTitle:
			p.Kind, p.At, p.Text = Verbatim, 0, line
		case item:
			p.Kind, p.Head, n = Item, line[:at], paragraphLines(lines, at)
		case next > at && !nextItem:
			p.Kind, p.Head, p.At = Item, line, next
			n = 1 + paragraphLines(lines[1:], next)
			p.Text = ""
		case section == UsageTitle:
			p.Kind = Usage
		default:
			n = paragraphLines(lines, at)
		}
		if n > 1 {
			all := Where([]string{p.Text}, func(s string) bool { return s != "" })
			for _, more := range lines[1:n] {
				all = append(all, strings.TrimSpace(more))
			}
			p.Text = strings.Join(all, " ")
		}
		parts, lines = append(parts, p), lines[n:]
	}
	return parts
}

// paragraphLines returns the number of lines in the paragraph that begins with the first of lines.
func paragraphLines(lines []string, at int) int {
	n := 1
	for n < len(lines) && lines[n] != "" {
		if next, item := textColumn(lines[n]); item || next != at {
			break
		}
		n++
	}
	return n
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

var secondColumn = chars.Pattern(`^ +(?:\S.*?   *|- )`)

// isListed reports whether a line is a point of a list: "- text".
func isListed(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "- ") }

// textColumn returns the column where the text of a line begins. item is true if an item in a first column precedes it.
func textColumn(line string) (at int, item bool) {
	if head := secondColumn().FindString(line); head != "" && len(head) < len(line) {
		return len(head), true
	}
	return indentOf(line), false
}

// hanging is the further indentation of the lines that continue a command line.
const hanging = 4

// Reflow lays out a help text for a width: it fills paragraphs and the texts of second columns. Only lines of sessions
// and examples keep their breaks. If one of these is too wide, it is folded so that a command can still be copied.
func Reflow(text string, width int) string {
	var out []string
	continues := false // the line before ends with a backslash
	for _, p := range Parts(text) {
		before := strings.Repeat(" ", p.At)
		switch {
		case p.Kind == Verbatim:
			isCommand := continues || strings.HasPrefix(strings.TrimLeft(p.Text, " "), "$ ")
			out = append(out, fold(p.Text, isCommand, width)...)
			continues = strings.HasSuffix(p.Text, "\\")
		case p.Kind == Usage:
			out = append(out, fill(before, p.Text, p.At+hanging, width)...)
		case p.Kind == Item && !strings.HasSuffix(p.Head, " "):
			in, _ := textColumn(p.Head)
			out = append(out, fill(p.Head[:in], p.Head[in:], in+hanging, width)...)
			at := narrowed(p.At, width)
			out = append(out, fill(before[:at], p.Text, at, width)...)
		case p.Kind == Item:
			out = append(out, fill(p.Head, p.Text, p.At, width)...)
		default:
			out = append(out, fill(before, p.Text, p.At, width)...)
		}
	}
	return strings.Join(out, "\n")
}

// fold breaks a line that is too wide at blanks, and indents the rest further. A command gets a backslash before each
// break. Columns within the line stay.
func fold(line string, isCommand bool, width int) (lines []string) {
	in := indentOf(line)
	before, rest := line[:in], line[in:]
	mark := ""
	if isCommand {
		mark = " \\"
	}
	for first := in + 1; beginning(rest, width-len(before)) != rest; first = in + hanging {
		at := strings.LastIndexByte(beginning(rest, width-len(before)-len(mark)+1), ' ')
		if len(before)+at <= first { // the first word, also behind "$ ", is too wide
			break
		}
		lines = append(lines, strings.TrimRight(before+rest[:at], " ")+mark)
		before, rest = strings.Repeat(" ", in+hanging), strings.TrimLeft(rest[at:], " ")
	}
	return append(lines, before+rest)
}
