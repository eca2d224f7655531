package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"golang.org/x/term"
)

// liveTick is how often the lines are drawn: often enough to look alive.
const liveTick = 100 * time.Millisecond

// silenceLimit is when somebody who sees no terminal hears why nothing
// is printed yet.
const silenceLimit = 3 * time.Second

// watchLive draws a line for each server on stderr while they connect, where that is a
// terminal; elsewhere it names those that take long. stop wipes the lines.
func watchLive(fleet *interop.Fleet, s streams) (stop func()) {
	file, ok := s.canvas()
	if !ok {
		return s.tellSlow(func() (starting []string) {
			for _, st := range fleet.Status() {
				if !st.Phase.Usable() && st.Fault == nil {
					starting = append(starting, st.Server)
				}
			}
			return starting
		})
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(liveTick)
		defer tick.Stop()
		start, lines := time.Now(), &drawing{}
		for {
			select {
			case <-tick.C:
				width, height := screen(int(file.Fd()))
				lines.draw(file, serverLines(fleet.Status(), time.Since(start), height), width)
			case <-quit:
				width, _ := screen(int(file.Fd()))
				lines.draw(file, nil, width)
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// canvas is stderr where lines can be drawn on it, with no log between them.
func (s streams) canvas() (*os.File, bool) {
	file, ok := terminal(s.err)
	return file, ok && s.log.level == nil && !s.log.verbose
}

// tellSlow says for whom a command still waits after a while.
func (s streams) tellSlow(waiting func() []string) (stop func()) {
	slow := time.AfterFunc(silenceLimit, func() {
		if who := waiting(); len(who) > 0 { // or all have come meanwhile
			s.tell("still waiting, after %s, for %s", silenceLimit, clean(some(who, maxTools, "servers")))
		}
	})
	return func() { slow.Stop() }
}

func screen(fd int) (width, height int) {
	width, height, err := term.GetSize(fd)
	if err != nil || width < 2 || height < 2 {
		return 80, 24
	}
	return width, height
}

// drawing is lines at the bottom of a terminal that are drawn anew.
type drawing struct{ widths []int }

// draw puts lines in the place of those drawn before. A terminal that became
// narrower has wrapped the old ones: their rows are counted by its width now.
func (d *drawing) draw(w io.Writer, lines []string, width int) {
	if len(lines) == 0 && len(d.widths) == 0 {
		return
	}
	up := 0
	for _, n := range d.widths {
		up += max(1, (n+width-1)/width)
	}
	var b strings.Builder
	b.WriteString("\x1b[?7l\r") // no wrapping, whatever a character's width
	if up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\x1b[J")
	d.widths = nil
	for _, line := range lines {
		line = cutCells(line, width-1)
		d.widths = append(d.widths, cells(line))
		b.WriteString(line + "\n")
	}
	b.WriteString("\x1b[?7h")
	_, _ = io.WriteString(w, b.String())
}

// serverLines are the lines for servers on a screen of that height. Where not
// all fit, those that are ready go first, and the last line counts the rest.
func serverLines(all []interop.EndpointStatus, since time.Duration, height int) []string {
	shown, room, id := all, height-2, 0
	if len(all) > room {
		shown = nil
		for _, st := range all {
			if !st.Phase.Usable() && len(shown) < room-1 {
				shown = append(shown, st)
			}
		}
	}
	for _, st := range shown {
		id = min(30, max(id, cells(clean(st.Server))))
	}
	var lines []string
	for _, st := range shown {
		lines = append(lines, fmt.Sprintf("%s  %-10s  %s", padded(clean(st.Server), id), st.Phase, progressOf(st, since)))
	}
	if more := len(all) - len(shown); more > 0 {
		ready := 0
		for _, st := range all {
			if st.Phase.Usable() {
				ready++
			}
		}
		lines = append(lines, fmt.Sprintf("… and %d more; %d of %d are ready", more, ready, len(all)))
	}
	return lines
}

func progressOf(st interop.EndpointStatus, since time.Duration) string {
	switch {
	case st.Fault != nil:
		return clean(strings.TrimPrefix(st.Fault.Error(), st.Server+": "))
	case st.Phase.Usable():
		return plural(st.Tools, "tool") + ", " + short(st.Took)
	}
	return short(since.Truncate(liveTick))
}

// watchProgress shows the progress of a call on one line of stderr, where that
// is a terminal. stop wipes the line; report is nil where nobody looks.
func watchProgress(s streams) (report func(toolbox.Progress), stop func()) {
	file, ok := s.canvas()
	if !ok {
		return nil, func() {}
	}
	line := &drawing{}
	report = func(p toolbox.Progress) {
		text := fmt.Sprintf("%g", p.Done)
		if p.Total > 0 {
			text += fmt.Sprintf("/%g", p.Total)
		}
		width, _ := screen(int(file.Fd()))
		line.draw(file, []string{text + " " + clean(p.Message)}, width)
	}
	return report, func() {
		width, _ := screen(int(file.Fd()))
		line.draw(file, nil, width)
	}
}

func short(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
