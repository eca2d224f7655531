package show

import (
	"slices"
	"strings"
)

// joint stands for a blank at which a message is not broken. Messages have no control characters.
const joint = "\x00"

// messageIndent is the indentation of the lines that continue a message.
const messageIndent = 2

// wrapMessage wraps the lines of a message that are wider than the terminal. It breaks no word, such as a URL or a path,
// and no command, which begins with indus and the name of one of commands: a person can copy them as they are. A quoted
// text is broken only if it needs more than a line.
func wrapMessage(text string, width int, commands []string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if Columns(line) <= width {
			out = append(out, line)
			continue
		}
		in, _ := textColumn(line)
		var units []string
		for words := strings.Fields(line); len(words) > 0; {
			n := unitWords(words, width-in-messageIndent, commands)
			units, words = append(units, strings.Join(words[:n], joint)), words[n:]
		}
		out = append(out, fill(strings.Repeat(" ", in), strings.Join(units, " "), in+messageIndent, width)...)
	}
	return strings.ReplaceAll(strings.Join(out, "\n"), joint, " ")
}

// unitWords returns the number of the first words that stay on one line of at most most columns.
func unitWords(words []string, most int, commands []string) int {
	if words[0] == "indus:" && len(words) > 1 { // a first line never has this alone
		return 1 + unitWords(words[1:], most, commands)
	}
	if first := strings.TrimLeft(words[0], `("`); first == "indus" && len(words) > 1 &&
		slices.Contains(commands, strings.TrimRight(words[1], `,;:)?"`)) {
		for n, isOpen := 2, false; n <= len(words); n++ {
			isOpen = isOpen != (strings.Count(words[n-1], "'")%2 == 1) // a quoted argument
			if !isOpen && strings.ContainsAny(words[n-1][len(words[n-1])-1:], `,;:)?"`) {
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
