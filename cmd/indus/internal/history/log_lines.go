package history

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
)

// logLine holds the entries of one server that share a line.
type logLine struct {
	entries  []ledger.Entry
	approved *ledger.Entry // the approved version, if the entry has another one
	isNew    bool          // no version of the tool was approved
}

// buildLines returns entries as lines. Unless separate is true, tools of a server that came or went in one batch share
// a line.
func buildLines(entries []ledger.Entry, separate bool, skip func(ledger.Entry) bool) []logLine {
	var out []logLine
	tracker := versionTracker{map[command.Version]ledger.Entry{}, map[command.Version]string{}}
	for _, e := range entries {
		approved, other, isNew := tracker.process(e)
		if skip(e) {
			continue
		}
		l := logLine{entries: []ledger.Entry{e}, isNew: isNew}
		if other {
			l.approved = &approved
		}
		if n := len(out); n > 0 && !separate && out[n-1].joins(l) {
			out[n-1].entries = append(out[n-1].entries, e)
			continue
		}
		out = append(out, l)
	}
	return out
}

// Text returns entries as indus mcp log prints them. If server is not "", it leaves out other servers.
func Text(entries []ledger.Entry, server string) string {
	return formatPage(buildLines(entries, server != "", func(e ledger.Entry) bool {
		return server != "" && e.Server != server
	})).String()
}

func (l *logLine) joins(next logLine) bool {
	a, b := l.entries[0], next.entries[0]
	return (a.Op == ledger.Enroll || a.Op == ledger.Retire) && a.Op == b.Op && a.Run == b.Run && a.Server == b.Server &&
		a.Note == b.Note && l.isNew == next.isNew && a.At.Equal(b.At) && l.approved == nil && next.approved == nil
}

func (l *logLine) fields() []ledger.Field {
	if l.approved == nil {
		return nil
	}
	return describe.Differences(*l.approved, l.entries[0])
}

// formatPage returns lines in columns: time, run, event, server and details.
func formatPage(lines []logLine) *show.Page {
	width := 0
	for _, l := range lines {
		width = min(30, max(width, show.Columns(show.Clean(l.entries[0].Server))))
	}
	p := &show.Page{}
	for _, l := range lines {
		e := l.entries[0]
		what, why := eventText(e)
		if l.isNew && e.Op == ledger.Enroll {
			what = "new"
		}
		server := ""
		if e.Server != "" {
			server = show.Pad(show.Clean(e.Server), width+2)
		}
		line := fmt.Sprintf("%s  %s  %-8s  %s", show.Time(e.At), shortRun(e.Run), what, server)
		p.Printf("%s\n", strings.TrimRight(line+l.details(why), " "))
	}
	return p
}

// details returns the tools of a line, and the details after them.
func (l *logLine) details(why string) string {
	names := show.Names(l.entries, func(e ledger.Entry) string { return e.Tool })
	switch {
	case l.approved != nil:
		why = describe.ChangedPlaces(l.fields())
	case l.isNew && l.entries[0].Op == ledger.Hold:
		why = "new"
	}
	if why != "" && l.entries[0].Tool != "" {
		why = ": " + why
	}
	return show.List(names, show.MaxNamed, "tools") + why
}

var opWords = map[ledger.Op]string{
	ledger.Begin: "began", ledger.Reload: "reloaded", ledger.End: "ended", ledger.Enroll: "enrolled",
	ledger.Retire: "retired", ledger.Hold: "held", ledger.Accept: "accepted", ledger.Describe: "listed",
	ledger.Reset: "reset", ledger.Archive: "archived",
}

// eventText returns the event of an entry as one word, and its details.
func eventText(e ledger.Entry) (what, why string) {
	if why, lost := strings.CutPrefix(e.Note, ledger.NoteLost); lost && e.Op == ledger.Health {
		return "lost", strings.TrimPrefix(why, ": ")
	}
	switch {
	case e.Op == ledger.Health:
		return "back", strings.TrimPrefix(strings.TrimPrefix(e.Note, "ready"), "; ")
	case e.Op == ledger.Describe && e.Note == "seen":
		return e.Note, ""
	case e.Op == ledger.Enroll && e.Changed:
		return "changed", e.Note
	}
	return cmp.Or(opWords[e.Op], string(e.Op)), e.Note // a later edition may have other operations
}

// shortRun returns the end of the id of a run. It is enough to recognize the run.
func shortRun(run string) string {
	if n := len(run) - 4; n > 0 {
		run = run[n:]
	}
	return fmt.Sprintf("%-4s", show.Clean(run))
}

// versionTracker tracks the approved version of each tool while the log is read in order.
type versionTracker struct {
	known    map[command.Version]ledger.Entry
	approved map[command.Version]string // sum by version; the sum of the key is ""
}

// process processes the next entry. If e is not the approved version, it returns that version, or isNew if there is
// none.
func (v *versionTracker) process(e ledger.Entry) (approved ledger.Entry, ok, isNew bool) {
	if e.Tool == "" || e.Sum == "" {
		return ledger.Entry{}, false, false
	}
	version := command.VersionOf(e)
	t := version
	t.Sum = ""
	switch e.Op {
	case ledger.Accept:
		v.approved[t] = e.Sum
		return ledger.Entry{}, false, false
	case ledger.Enroll, ledger.Hold:
		if _, seen := v.approved[t]; !seen && !e.Changed && e.Op == ledger.Enroll {
			v.approved[t] = e.Sum
		}
		v.known[version] = e
	}
	if v.approved[t] == e.Sum {
		return ledger.Entry{}, false, false
	}
	t.Sum = v.approved[t]
	if approved, ok = v.known[t]; ok && approved.Same(e) {
		return ledger.Entry{}, false, false
	}
	return approved, ok, t.Sum == ""
}
