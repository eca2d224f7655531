package show

import (
	"io"
	"slices"
	"strings"
)

// fitted returns text as out shows it: if out is a terminal, lines that are too wide are wrapped.
func (s Streams) fitted(text string, out io.Writer) string {
	if width := WidthOf(out, 0); width > 0 {
		return wrapLines(text, width, s.Commands)
	}
	return text
}

// wrapLines wraps lines that are wider than the terminal. Others, and lines of JSON, stay as they are. No URL, path or
// command (indus and the name of one of commands) is broken, because a person copies it. A quoted text is broken only
// if it is longer than a line. If two blanks separate columns, the last column goes on below itself, unless it begins
// too far to the right.
func wrapLines(text string, width int, commands []string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if Columns(line) > width && !strings.HasPrefix(strings.TrimLeft(line, " "), `"`) &&
			!strings.ContainsAny(line[:min(len(line), indentOf(line)+1)], "{}[]") {
			lines[i] = wrapLine(line, width, commands)
		}
	}
	return strings.Join(lines, "\n")
}

func wrapLine(line string, width int, commands []string) string {
	in := indentOf(line)
	at := in
	if in < 4 { // a title, whose text is indented further
		at = in + 2
	}
	if cell := strings.LastIndex(line, "  ") + 2; Columns(line[:cell]) > at && Columns(line[:cell]) <= width/2 {
		at = Columns(line[:cell])
	}
	var units []string
	for words := strings.Split(line[in:], " "); len(words) > 0; { // two blanks have an empty word between them
		n := unitWords(words, width-at, commands)
		units, words = append(units, strings.Join(words[:n], " ")), words[n:]
	}
	return strings.Join(placeUnits(line[:in], units, at, width), "\n")
}

// unitWords returns the number of the first words that stay on one line of at most most columns.
func unitWords(words []string, most int, commands []string) int {
	if words[0] == "indus:" && len(words) > 1 { // a first line never has this alone
		return 1 + unitWords(words[1:], most, commands)
	}
	ends := func(word string) bool { return word == "" || strings.ContainsAny(word[len(word)-1:], "`,;:)?\"") }
	if first := strings.TrimLeft(words[0], "(\"`"); first == "indus" && len(words) > 1 &&
		slices.Contains(commands, strings.TrimRight(words[1], "`,;:)?\"")) {
		if strings.HasPrefix(words[1], "-") { // a flag, with prose behind it
			return 2
		}
		for n, isOpen := 2, false; n <= len(words); n++ {
			isOpen = isOpen != (strings.Count(words[n-1], "'")%2 == 1) // a quoted argument
			if !isOpen && ends(words[n-1]) {
				return n
			}
		}
		return len(words)
	}
	if opens := func(word string) bool { return strings.Count(word, `"`)%2 == 1 }; opens(words[0]) {
		if n := slices.IndexFunc(words[1:], opens) + 2; n > 1 && Columns(strings.Join(words[:n], " ")) <= most {
			return n
		}
	}
	return 1
}
