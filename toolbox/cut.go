package toolbox

import (
	"fmt"
	"unicode/utf8"
)

// cut takes the middle out of s, which is UTF-8, so that what is left and the note
// about it fit in budget bytes: the beginning of an output says what it is and the end
// how it went. It never divides a character. The note itself is never cut. A
// negative budget is none.
func cut(s string, budget int) (string, int) {
	if budget < 0 || len(s) <= budget {
		return s, 0
	}
	room := max(0, budget-len(note(len(s)))) // what is cut is less, so its note is no longer
	head, tail := room-room/2, len(s)-room/2
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + note(tail-head) + s[tail:], tail - head
}

func note(n int) string { return fmt.Sprintf("\n… %d bytes cut …\n", n) }
