package show

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// DrawTick is the interval at which live lines are drawn.
const DrawTick = 100 * time.Millisecond

// slowLimit is the delay after which [Streams.ReportSlow] names the servers that a command still waits for.
const slowLimit = 3 * time.Second

// Canvas redraws lines at the bottom of a terminal.
type Canvas struct {
	out    io.Writer
	size   func() (width, height int)
	widths []int // columns of each line above the cursor, as last drawn
	column int   // column of the cursor
}

// NewCanvas returns a canvas on a terminal of the given size.
func NewCanvas(out io.Writer, size func() (width, height int)) *Canvas {
	return &Canvas{out: out, size: size}
}

// CanvasOn returns a canvas on a stream. If the stream is not a terminal, it returns nil.
func CanvasOn(stream any) *Canvas {
	if file, ok := Terminal(stream); ok {
		return NewCanvas(file, func() (int, int) { return ScreenSize(file) })
	}
	return nil
}

// Canvas returns a canvas on stderr. If stderr is not a terminal, or logs are written there, it returns nil.
func (s Streams) Canvas() *Canvas {
	if s.Log.Level() != logOff {
		return nil
	}
	return CanvasOn(s.Err)
}

// Draw replaces the lines that were drawn before, and puts the cursor below. It calls lines with the screen's height.
func (c *Canvas) Draw(lines func(height int) []string) {
	_, height := c.size()
	if now := lines(height); len(now) > 0 || len(c.widths) > 0 {
		c.DrawText(now, len(now), 0)
	}
}

// DrawText is like Draw, and puts the cursor at row and column. If the terminal became narrower, it has wrapped the old
// lines. DrawText therefore computes their number of rows from the present width.
func (c *Canvas) DrawText(now []string, row, column int) {
	width, _ := c.size()
	up := c.column / width
	for _, n := range c.widths {
		up += max(1, (n+width-1)/width)
	}
	var b strings.Builder
	move := func(n int, direction string) {
		if n > 0 {
			fmt.Fprintf(&b, "\x1b[%d%s", n, direction)
		}
	}
	b.WriteString("\x1b[?7l\r") // lines must not wrap, also if the terminal draws a character wider than expected
	move(up, "A")
	c.widths, c.column = nil, column
	for i, line := range now {
		line = CutColumns(line, width-1)
		if i < row {
			c.widths = append(c.widths, Columns(line))
		}
		b.WriteString(line + "\x1b[K\r\n") // \r is for terminals in raw mode
	}
	b.WriteString("\x1b[J") // cleared last: if a clear starts at the top of the screen, tmux keeps the old lines
	move(len(now)-row, "A")
	move(column, "C")
	b.WriteString("\x1b[?7h")
	_, _ = io.WriteString(c.out, b.String())
}

// Clear wipes the lines.
func (c *Canvas) Clear() { c.Draw(func(int) []string { return nil }) }

// waitDelay is the delay after which [Streams.Waiting] shows a line.
const waitDelay = time.Second

// Waiting shows on a terminal, after a second, what a command waits for and since when. If stderr is not a terminal, it
// shows nothing. stop removes the line; it may be called twice. Nothing else may be written to stderr before.
func (s Streams) Waiting(what string) (stop func()) {
	canvas := s.Canvas()
	if canvas == nil {
		return func() {}
	}
	return canvas.Live(waitDelay, func(_ int, elapsed time.Duration) []string {
		return []string{Clean(what) + "  " + Duration(elapsed.Truncate(time.Second))}
	})
}

// Live draws lines again and again, from a delay on. It calls lines with the screen's height and the elapsed time. stop
// removes the lines; it may be called twice.
func (c *Canvas) Live(after time.Duration, lines func(height int, elapsed time.Duration) []string) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(DrawTick)
		defer tick.Stop()
		start := time.Now()
		for {
			select {
			case <-tick.C:
				if elapsed := time.Since(start); elapsed >= after {
					c.Draw(func(height int) []string { return lines(height, elapsed) })
				}
			case <-quit:
				c.Clear()
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(quit); <-done })
}

// ReportSlow starts a timer. If waiting still returns servers after slowLimit, it reports their names on stderr.
func (s Streams) ReportSlow(waiting func() []string) (stop func()) {
	slow := time.AfterFunc(slowLimit, func() {
		if servers := waiting(); len(servers) > 0 { // empty if all servers became ready in the meantime
			s.Reportf("still waiting, after %s, for %s", slowLimit, List(servers, MaxNamed, "servers"))
		}
	})
	return func() { slow.Stop() }
}

// WidthOf returns the columns of a stream that is a terminal, and otherwise other.
func WidthOf(stream any, other int) int {
	file, ok := Terminal(stream)
	if !ok {
		return other
	}
	width, _ := ScreenSize(file)
	return width
}

// ScreenSize returns the size of a terminal, or 80 by 24 if the size is unknown or too small.
func ScreenSize(file *os.File) (width, height int) {
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil || width < 2 || height < 2 {
		return 80, 24
	}
	return width, height
}
