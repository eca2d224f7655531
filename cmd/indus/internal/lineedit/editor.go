package lineedit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	chars "github.com/indusagi/indus/internal/text"
)

// ErrInterrupt is returned for Ctrl-C. ErrTyped wraps it if other keys were pressed before.
var (
	ErrInterrupt = errors.New("interrupted")
	ErrTyped     = fmt.Errorf("%w after other keys", ErrInterrupt)
)

// ErrEscape is returned for Esc if EscapeEnds is set.
var ErrEscape = errors.New("escaped")

// sizeTick is the interval for checks of the terminal's size.
const sizeTick = 200 * time.Millisecond

// Editor reads texts. In, Out and Size are required.
type Editor struct {
	In  *Input
	Out io.Writer
	// Size returns the current size of the terminal.
	Size func() (width, height int)
	// Complete returns possible replacements for the line before the cursor. If it is nil, there is no completion.
	Complete func(line string) []string
	// History holds the earlier texts. If it is nil, there are none.
	History *History
	// Begin is the initial content of the next text, as if it had been typed. Read then sets it to "".
	Begin string
	// Suspend stops the process on Ctrl-Z until it is resumed. If it is nil, the key has no effect.
	Suspend func()
	// EscapeEnds ends the text on Esc with ErrEscape. If it is false, Esc only ends a search of the history.
	EscapeEnds bool
}

// These sequences turn bracketed paste on and off. With it, a pasted line break does not send the text.
const pasteOn, pasteOff = "\x1b[?2004h", "\x1b[?2004l"

// readState is the state of one Read.
type readState struct {
	*Editor
	buffer
	canvas      *show.Canvas
	prompt      string
	completions []string // completions, shown below the text until the next key
	position    int      // position of the text in the history, counted from the newest; 0 is the draft
	draft       string   // the typed text before the history was used
	typed       bool     // an earlier key was pressed
	search      *search  // nil if the history is not searched
}

// Read returns the next text. Enter ends it, unless the line ends in a backslash. Read returns [ErrInterrupt], or the
// error of the context. It returns io.EOF for Ctrl-D in an empty text, and if the terminal is gone.
func (e *Editor) Read(ctx context.Context, prompt string) (string, error) {
	r := &readState{Editor: e, prompt: prompt, canvas: show.NewCanvas(e.Out, e.Size), typed: e.Begin != ""}
	r.edit(Event{KeyPaste, e.Begin})
	e.Begin = ""
	_, _ = io.WriteString(e.Out, pasteOn)
	defer func() {
		r.completions, r.search = nil, nil
		r.set(r.String())
		r.draw()
		_, _ = io.WriteString(e.Out, pasteOff+"\r\n")
	}()
	tick := time.NewTicker(sizeTick)
	defer tick.Stop()
	width, height := e.Size()
	for r.draw(); ; {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-tick.C:
			if w, h := e.Size(); w != width || h != height {
				width, height = w, h
				r.draw()
			}
		case event, ok := <-e.In.Events:
			if !ok {
				return "", io.EOF
			}
			r.completions = nil
			if done, err := r.handleKey(event); done {
				return r.String(), err
			}
			r.typed = true
			r.draw()
		}
	}
}

// handleKey handles a key, and reports whether it ends the text.
func (r *readState) handleKey(e Event) (done bool, err error) {
	if r.search != nil && r.handleSearchKey(e) {
		return false, nil
	}
	switch {
	case e.Key == KeyInterrupt && r.typed:
		return true, ErrTyped
	case e.Key == KeyInterrupt:
		return true, ErrInterrupt
	case e.Key == KeyEscape && r.EscapeEnds:
		return true, ErrEscape
	case e.Key == KeySearch && r.History != nil:
		r.search = &search{draft: r.String()}
	case e.Key == KeyHangUp && r.String() == "":
		return true, io.EOF
	case e.Key == KeyEnter && strings.HasSuffix(r.before, `\`):
		r.before = strings.TrimSuffix(r.before, `\`) + "\n"
	case e.Key == KeyEnter:
		return true, nil
	case e.Key == KeyTab:
		r.complete()
	case e.Key == KeyUp || e.Key == KeyDown:
		if !r.vertical(e.Key == KeyUp) {
			r.recall(e.Key == KeyUp)
		}
	case e.Key == KeyRedraw:
		_, _ = io.WriteString(r.Out, "\x1b[H\x1b[2J")
		r.canvas = show.NewCanvas(r.Out, r.Size)
	case e.Key == KeySuspend && r.Suspend != nil:
		_, _ = io.WriteString(r.Out, pasteOff)
		r.Suspend()
		_, _ = io.WriteString(r.Out, pasteOn) // the shell has turned it off
		r.canvas = show.NewCanvas(r.Out, r.Size)
	default:
		r.edit(e)
	}
	return false, nil
}

func (r *readState) draw() {
	width, height := r.Size()
	prompt := r.prompt
	if r.search != nil {
		prompt = r.search.prompt()
	}
	rows := layoutText(&r.buffer, prompt, width)
	if room := height - 1 - len(rows.lines); room > 0 && len(r.completions) > 0 {
		rows.lines = append(rows.lines, completionLines(r.completions, width, room)...)
	}
	rows = rows.window(height)
	r.canvas.DrawText(rows.lines, rows.row, rows.column)
}

// completionLines formats completions in lines.
func completionLines(offer []string, width, most int) (lines []string) {
	line := " "
	for _, o := range offer {
		o = show.CutColumns(show.Clean(o), width-4)
		if show.Columns(line)+show.Columns(o)+2 >= width {
			lines, line = append(lines, line), " "
		}
		line += " " + o + " "
	}
	lines = append(lines, line)
	if len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("  … and %d more lines", len(lines)-most+1))
	}
	return lines
}

// complete inserts the common prefix of all completions. If that adds nothing, it shows the completions.
func (r *readState) complete() {
	if r.Complete == nil {
		return
	}
	completions := r.Complete(r.before)
	common := commonPrefix(completions)
	if len(completions) != 1 && common == r.before {
		r.completions = completions
	} else if len(common) > len(r.before) {
		r.before = chars.Lines(common)
	}
}

func commonPrefix(all []string) string {
	if len(all) == 0 {
		return ""
	}
	common := all[0]
	for _, s := range all[1:] {
		for !strings.HasPrefix(s, common) {
			common = common[:len(common)-1]
		}
	}
	return strings.ToValidUTF8(common, "")
}

// recall moves through the history.
func (r *readState) recall(older bool) {
	all := r.History.All()
	if r.position == 0 {
		r.draft = r.String()
	}
	switch {
	case older && r.position < len(all):
		r.position++
	case !older && r.position > 0:
		r.position--
	default:
		return
	}
	if r.position == 0 {
		r.set(r.draft)
	} else {
		r.set(chars.Lines(all[len(all)-r.position])) // from a file that other programs may have written
	}
}

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
