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

// The styles of printed text, as parameters of SGR.
const (
	bold, dim, red, green, yellow = "1", "2", "31", "32", "33"
)

// Terminal is the terminal of a conversation. [Open] makes one for a real terminal, and [New] for other streams.
type Terminal struct {
	Editor    *lineedit.Editor
	Color     bool // texts have styles
	restore   func()
	dialogues chan dialogue

	mu           sync.Mutex
	canvas       *show.Canvas
	turn         *turn    // nil if no turn is running
	questionOpen bool     // a question holds the terminal
	delayedLines []string // lines to print when the question releases it
}

// New returns a Terminal for an editor whose terminal is already in raw mode.
func New(e *lineedit.Editor, color bool) *Terminal {
	return &Terminal{
		Editor: e, Color: color, restore: func() {}, dialogues: make(chan dialogue),
		canvas: show.NewCanvas(e.Out, e.Size),
	}
}

// Open sets a terminal to raw mode. The caller must close it.
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

// Close erases the live lines and restores the terminal. It may be called twice.
func (t *Terminal) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn = nil
	t.canvas.Clear()
	t.restore()
}

// Print prints lines without control characters. They may have styles.
func (t *Terminal) Print(lines ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.print(lines)
}

// print does the work of Print. The caller must hold mu.
func (t *Terminal) print(lines []string) {
	if t.questionOpen {
		t.delayedLines = append(t.delayedLines, lines...)
		return
	}
	if len(lines) == 0 {
		return
	}
	t.canvas.Clear()
	_, _ = io.WriteString(t.Editor.Out, strings.Join(lines, "\r\n")+"\r\n")
	t.draw()
}

// Write prints log lines and messages, and wraps long lines. It implements [io.Writer] for stderr. The lines must not
// contain control characters.
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

// Dim styles a text as less important.
func (t *Terminal) Dim(text string) string { return t.styled(text, dim) }

// Bold styles a text as more important.
func (t *Terminal) Bold(text string) string { return t.styled(text, bold) }

func (t *Terminal) styled(text, style string) string {
	if !t.Color {
		return text
	}
	return show.Styled(text, style)
}

// draw draws the live lines, if there are any and no question holds the terminal.
func (t *Terminal) draw() {
	if t.turn == nil || t.questionOpen {
		return
	}
	width, _ := t.Editor.Size()
	t.canvas.Draw(func(height int) []string { return t.turn.liveLines(width, height) })
}

// hold erases the live lines and delays printed lines until release, because a question holds the terminal.
func (t *Terminal) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.canvas.Clear()
	t.questionOpen = true
}

func (t *Terminal) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := slices.Clone(t.delayedLines)
	t.questionOpen, t.delayedLines = false, nil
	t.print(lines)
	t.draw()
}

// ReadLine reads the next text: see [lineedit.Editor.Read]. The text that was typed during the last turn is already in
// it.
func (t *Terminal) ReadLine(ctx context.Context, prompt string) (string, error) {
	return t.Editor.Read(ctx, t.Bold(prompt))
}
