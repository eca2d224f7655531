package serve

import (
	"fmt"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop"
)

// maxEventLines limits the lines about one server per minute.
const maxEventLines = 100

// reportEvents writes a line for each server that starts, stops or fails.
func reportEvents(s show.Streams) func(interop.Event) {
	reported, lines := map[string]string{}, burstCounts{}
	report := func(server, line string) {
		switch n := lines.count(server); {
		case n < maxEventLines:
			s.Reportf("%s", line)
		case n == maxEventLines:
			s.Reportf("%s: more messages about it are suppressed for a minute", server)
		}
	}
	return func(e interop.Event) {
		if e.Kind == interop.ServerRemoved {
			delete(reported, e.Server) // the next server with this name is a different one
		}
		line := eventLine(e)
		if line == "" || reported[e.Server] == line {
			return // a server that stays down is reported once
		}
		reported[e.Server] = line
		report(e.Server, e.Server+": "+line)
		for _, q := range e.Quarantined {
			report(e.Server, command.QuarantineText(q))
		}
	}
}

func eventLine(e interop.Event) string {
	st := e.Status
	switch {
	case e.Kind == interop.ServerWithdrawn:
		return "its tools are withdrawn until it is back"
	case e.Kind == interop.ServerFaulted && st.Fault != nil:
		return strings.TrimPrefix(st.Fault.Error(), e.Server+": ") + "; " + st.Fault.Advice()
	case e.Kind == interop.ServerIdle:
		return fmt.Sprintf("idle, %s; it starts when it is needed", show.Count(st.Tools, "tool"))
	case e.Kind != interop.ServerReady && e.Kind != interop.ServerListed:
		return ""
	case st.Fault != nil:
		return "ready without tools: " + strings.TrimPrefix(st.Fault.Error(), e.Server+": ")
	}
	return fmt.Sprintf("ready, %s (MCP %s, %s)", show.Count(st.Tools, "tool"), st.Version, show.Duration(st.Took))
}

// burstCounts counts recent reports by server. A server that keeps changing, by intent or not, must not hide reports
// about other servers.
type burstCounts map[string]*burstCount

type burstCount struct {
	since time.Time
	n     int
}

// burstPause is the time for which reports about a server pause after too many.
const burstPause = time.Minute

// count counts a line about a server, and returns the number of lines before it.
func (b burstCounts) count(server string) int {
	one := b[server]
	if one == nil || time.Since(one.since) >= burstPause {
		one = &burstCount{since: time.Now()}
		b[server] = one
	}
	one.n++
	return one.n - 1
}
