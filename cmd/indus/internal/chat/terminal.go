package chat

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/cmd/indus/internal/lineedit"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"golang.org/x/term"
)

// The looks of what is printed, as parameters of SGR.
const (
	bold, dim, red, green, yellow = "1", "2", "31", "32", "33"
)

// Terminal is the terminal of a conversation. Make it with [Open], or with [New] on something else.
type Terminal struct {
	Editor    *lineedit.Editor
	Color     bool // texts have looks
	restore   func()
	dialogues chan dialogue

	mu     sync.Mutex
	canvas *show.Canvas
	turn   *turn    // nil: none runs
	held   bool     // a question has the terminal
	later  []string // what is printed when it gives it back
}

// New is a terminal on what somebody else has put into raw mode.
func New(e *lineedit.Editor, color bool) *Terminal {
	return &Terminal{
		Editor: e, Color: color, restore: func() {}, dialogues: make(chan dialogue),
		canvas: show.NewCanvas(e.Out, e.Size),
	}
}

// Open puts a terminal into raw mode. The caller closes it.
func Open(in, out *os.File) (*Terminal, error) {
	fd := int(in.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	e := &lineedit.Editor{
		In: lineedit.NewInput(in), Out: out,
		Size: func() (int, int) { return show.ScreenSize(out) },
	}
	e.Suspend = func() {
		_ = term.Restore(fd, state)
		suspend()
		_, _ = term.MakeRaw(fd)
	}
	t := New(e, os.Getenv("NO_COLOR") == "")
	t.restore = func() { _ = term.Restore(fd, state) }
	return t, nil
}

// Close wipes the live lines and restores the terminal. It may be called twice.
func (t *Terminal) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn = nil
	t.canvas.Clear()
	t.restore()
}

// Print prints lines that are harmless for a terminal. They may have looks.
func (t *Terminal) Print(lines ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.print(lines)
}

// print is Print for who has mu.
func (t *Terminal) print(lines []string) {
	if t.held {
		t.later = append(t.later, lines...)
		return
	}
	if len(lines) == 0 {
		return
	}
	t.canvas.Clear()
	_, _ = io.WriteString(t.Editor.Out, strings.Join(lines, "\r\n")+"\r\n")
	t.draw()
}

// Write prints lines of a log, or for a person, broken where they are too long: it implements [io.Writer] for stderr. They are
// harmless already.
func (t *Terminal) Write(b []byte) (int, error) {
	width, _ := t.Editor.Size()
	var lines []string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if show.Columns(line) >= width {
			lines = append(lines, show.WrapTo(line, 0, width-1)...)
		} else {
			lines = append(lines, line)
		}
	}
	t.Print(lines...)
	return len(b), nil
}

// Dim is a text that is less important than others.
func (t *Terminal) Dim(text string) string { return t.styled(text, dim) }

// Bold is a text that is more important than others.
func (t *Terminal) Bold(text string) string { return t.styled(text, bold) }

func (t *Terminal) styled(text, looks string) string {
	if !t.Color {
		return text
	}
	return show.Styled(text, looks)
}

// draw draws the live lines, where there are any and nobody else has the terminal.
func (t *Terminal) draw() {
	if t.turn == nil || t.held {
		return
	}
	width, _ := t.Editor.Size()
	t.canvas.Draw(func(height int) []string { return t.turn.live(width, height) })
}

// hold wipes the live lines and keeps what is printed back until release: a question has the terminal.
func (t *Terminal) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.canvas.Clear()
	t.held = true
}

func (t *Terminal) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := slices.Clone(t.later)
	t.held, t.later = false, nil
	t.print(lines)
	t.draw()
}

// ReadLine is the next text that is typed: see [lineedit.Editor.Read]. What was typed in the last turn stands there already.
func (t *Terminal) ReadLine(ctx context.Context, prompt string) (string, error) {
	return t.Editor.Read(ctx, t.Bold(prompt))
}
