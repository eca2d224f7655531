package lineedit

import (
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// layout is a text in rows for the screen, with the position of the cursor.
type layout struct {
	lines       []string
	row, column int
}

// tabBlanks is drawn instead of a tab.
const tabBlanks = "    "

// layoutText breaks a text into rows that leave the last column free. The first row begins with the prompt, and the
// other rows are indented by its width.
func layoutText(b *buffer, prompt string, width int) layout {
	room := max(width-1, 8)
	indent := min(show.Columns(prompt), room/2)
	var out layout
	line, used := prompt, show.Columns(prompt)
	wrap := func() {
		out.lines = append(out.lines, line)
		line, used = strings.Repeat(" ", indent), indent
	}
	for i, r := range b.String() + "\n" { // the cursor may be after the text
		shown := ""
		if r != '\n' {
			shown = strings.ReplaceAll(string(r), "\t", tabBlanks)
		}
		columns := show.Columns(shown)
		if used+columns > room {
			wrap()
		}
		if i == len(b.before) {
			out.row, out.column = len(out.lines), used
		}
		if r == '\n' {
			wrap()
		}
		line, used = line+shown, used+columns
	}
	return out
}

// window returns the rows around the cursor that fit on the screen.
func (r layout) window(height int) layout {
	if most := max(height-1, 1); len(r.lines) > most {
		top := min(max(0, r.row-most+1), len(r.lines)-most)
		return layout{r.lines[top : top+most], r.row - top, r.column}
	}
	return r
}
