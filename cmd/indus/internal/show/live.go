package show

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// DrawTick is how often the lines are drawn: often enough to look alive.
const DrawTick = 100 * time.Millisecond

// silenceLimit is when a person without a terminal is told why nothing is printed yet.
const silenceLimit = 3 * time.Second

// Canvas is lines at the bottom of a terminal that are drawn anew.
type Canvas struct {
	out    io.Writer
	size   func() (width, height int)
	widths []int // of the lines above the cursor that were drawn last
	column int   // of the cursor
}

// NewCanvas is on a terminal of that size.
func NewCanvas(out io.Writer, size func() (width, height int)) *Canvas {
	return &Canvas{out: out, size: size}
}

// CanvasOn is on a stream; nil where that is no terminal.
func CanvasOn(stream any) *Canvas {
	if file, ok := Terminal(stream); ok {
		return NewCanvas(file, func() (int, int) { return ScreenSize(file) })
	}
	return nil
}

// Canvas is on stderr; nil where that is no terminal, or logs go there.
func (s Streams) Canvas() *Canvas {
	if s.Log.Level() != logOff {
		return nil
	}
	return CanvasOn(s.Err)
}

// Draw puts lines, on a screen of that height, in the place of those drawn before, and the cursor below them.
func (c *Canvas) Draw(lines func(height int) []string) {
	_, height := c.size()
	if now := lines(height); len(now) > 0 || len(c.widths) > 0 {
		c.DrawText(now, len(now), 0)
	}
}

// DrawText is Draw with a place for the cursor. A terminal that became narrower has wrapped the old lines: their rows are counted
// by its width now.
func (c *Canvas) DrawText(now []string, row, column int) {
	width, _ := c.size()
	up := c.column / width
	for _, n := range c.widths {
		up += max(1, (n+width-1)/width)
	}
	var b strings.Builder
	move := func(n int, way string) {
		if n > 0 {
			fmt.Fprintf(&b, "\x1b[%d%s", n, way)
		}
	}
	b.WriteString("\x1b[?7l\r") // no wrapping, whatever a character's width
	move(up, "A")
	c.widths, c.column = nil, column
	for i, line := range now {
		line = CutColumns(line, width-1)
		if i < row {
			c.widths = append(c.widths, Columns(line))
		}
		b.WriteString(line + "\x1b[K\r\n") // also where the terminal is in raw mode
	}
	b.WriteString("\x1b[J") // and not before: tmux keeps what is cleared from the top of the screen on
	move(len(now)-row, "A")
	move(column, "C")
	b.WriteString("\x1b[?7h")
	_, _ = io.WriteString(c.out, b.String())
}

// Clear wipes the lines.
func (c *Canvas) Clear() { c.Draw(func(int) []string { return nil }) }

// ReportSlow says for whom a command still waits after a while.
func (s Streams) ReportSlow(waiting func() []string) (stop func()) {
	slow := time.AfterFunc(silenceLimit, func() {
		if who := waiting(); len(who) > 0 { // or all have come meanwhile
			s.Reportf("still waiting, after %s, for %s", silenceLimit, List(who, MaxNamed, "servers"))
		}
	})
	return func() { slow.Stop() }
}

// ScreenSize is that of a terminal.
func ScreenSize(file *os.File) (width, height int) {
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil || width < 2 || height < 2 {
		return 80, 24
	}
	return width, height
}
