package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop"
)

// WatchLive draws a line for each server on stderr while they connect, where that is a
// terminal; elsewhere it names those that take long. stop wipes the lines.
func WatchLive(fleet *interop.Fleet, s show.Streams) (stop func()) {
	canvas := s.Canvas()
	if canvas == nil {
		return s.ReportSlow(func() (starting []string) {
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
		tick := time.NewTicker(show.DrawTick)
		defer tick.Stop()
		start := time.Now()
		for {
			select {
			case <-tick.C:
				canvas.Draw(func(height int) []string { return serverLines(fleet.Status(), time.Since(start), height) })
			case <-quit:
				canvas.Clear()
				return
			}
		}
	}()
	return func() { close(quit); <-done }
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
		id = min(30, max(id, show.Columns(show.Clean(st.Server))))
	}
	var lines []string
	for _, st := range shown {
		lines = append(lines, fmt.Sprintf("%s  %-10s  %s", show.Pad(show.Clean(st.Server), id), st.Phase, progressOf(st, since)))
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
		return show.Clean(strings.TrimPrefix(st.Fault.Error(), st.Server+": "))
	case st.Phase.Usable():
		return show.Count(st.Tools, "tool") + ", " + show.Duration(st.Took)
	}
	return show.Duration(since.Truncate(show.DrawTick))
}
