package serve

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// alarm reports tools that changed since their approval, one per line, and new tools of a server in one line. It
// reports each version once. If a server keeps changing its tools, reports about it pause, so that they do not hide the
// reports about other servers.
type alarm struct {
	attached      *ledger.Attachment
	log           ledger.Log // nil if only the log of attached is available
	acceptCommand string     // the command that accepts a change, or "" if there is none
	s             show.Streams
	reported      map[command.Version]bool
	bursts        burstCounts
	silent        bool // the approvals are unknown, and that was reported
}

// maxAlarms is the number of reported changes of one server before reports about it pause.
const maxAlarms = 20

// alarmWait limits the time to read the approvals. Without them a report has less detail.
const alarmWait = 10 * time.Second

// watch reports changes until stop is called.
func (a *alarm) watch() (stop func()) {
	return inBackground(context.Background(), func(ctx context.Context) {
		watch.Until(ctx, a.attached.Watch, func() bool {
			a.reportChanges(ctx)
			return false
		})
	})
}

func (a *alarm) reportChanges(ctx context.Context) {
	if a.silent {
		return
	}
	now, news := map[command.Version]bool{}, []ledger.Entry(nil)
	for _, e := range a.attached.Changed() {
		v := command.VersionOf(e)
		now[v] = true
		if a.reported[v] {
			continue
		}
		switch n := a.bursts.count(e.Server); {
		case n < maxAlarms:
			news = append(news, e)
		case n == maxAlarms:
			a.s.Reportf("%s: more of its tools are new or changed; they are not reported for a minute", e.Server)
		}
	}
	a.reported = now
	if len(news) == 0 {
		return
	}
	entries := earlierEntries(ctx, a.attached, a.log)
	approvedOf := ledger.Approved(entries)
	fresh := map[[2]string][]ledger.Entry{} // new tools by server and advice
	for _, e := range news {
		if approved, ok := approvedOf(e); ok {
			places := describe.ChangedPlaces(describe.Differences(approved, e))
			a.s.Reportf("%s has changed since it was approved: %s; %s", e.Name, places, a.advice(e))
			continue
		}
		group := [2]string{e.Server, a.advice(e)}
		fresh[group] = append(fresh[group], e)
	}
	for group, tools := range fresh {
		names := show.List(show.Names(tools, func(e ledger.Entry) string { return e.Tool }), show.MaxNamed, "tools")
		a.s.Reportf("%s: new since it was approved: %s; %s", group[0], names, group[1])
	}
}

// earlierEntries returns the entries of the log, or those of this run if log is nil or cannot be read.
func earlierEntries(ctx context.Context, attached *ledger.Attachment, log ledger.Log) []ledger.Entry {
	fallback := attached.Ledger().Log()
	if log == nil {
		return fallback
	}
	ctx, cancel := context.WithTimeout(ctx, alarmWait)
	defer cancel()
	_ = attached.Flush(ctx)
	entries, err := log.Read(ctx, 0)
	if err != nil {
		return fallback
	}
	return entries
}

// toolChanges returns the difference of a tool from its approved version, or "" if it has none.
func toolChanges(ctx context.Context, attached *ledger.Attachment, log ledger.Log, server, tool string) string {
	for _, o := range describe.ChangedTools(earlierEntries(ctx, attached, log)) {
		if o.Server != server || o.Tool != tool {
			continue
		}
		if o.New {
			return "no version of this tool was accepted before"
		}
		o.Compare()
		return describe.ChangeLines(o.Fields)
	}
	return ""
}

// advice returns the state of a changed tool and the user's options.
func (a *alarm) advice(e ledger.Entry) string {
	state := "it is live all the same"
	if e.Op == ledger.Hold {
		state = "it is held back"
		if a.attached.Policy(e.Server) == config.DenyChanges {
			state += " for as long as this indus serve runs"
		}
	}
	if a.acceptCommand == "" {
		return state
	}
	return fmt.Sprintf("%s; look at the changes, and accept them: %s", state, a.acceptCommand)
}

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
	note := ""
	if st.Unprobed {
		note = "; it did not answer server/discover in time, and is used as an older server"
	}
	return fmt.Sprintf("ready, %s (MCP %s, %s)%s", show.Count(st.Tools, "tool"), st.Version, show.Duration(st.Took), note)
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
