package history

import (
	"fmt"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
)

// logLine is what happened at once to one server.
type logLine struct {
	entries  []ledger.Entry
	approved *ledger.Entry // of a version that is another, what was approved
}

// linesOf is entries as lines. Tools of one server that came or went in one batch
// share one, unless each is to have its own.
func linesOf(entries []ledger.Entry, each bool, skip func(ledger.Entry) bool) []logLine {
	var out []logLine
	story := newVersions()
	for _, e := range entries {
		approved, other := story.take(e)
		if skip(e) {
			continue
		}
		l := logLine{entries: []ledger.Entry{e}}
		if other {
			l.approved = &approved
		}
		if n := len(out); n > 0 && !each && out[n-1].joins(l) {
			out[n-1].entries = append(out[n-1].entries, e)
			continue
		}
		out = append(out, l)
	}
	return out
}

func (l *logLine) joins(next logLine) bool {
	a, b := l.entries[0], next.entries[0]
	return (a.Op == ledger.Enroll || a.Op == ledger.Retire) && a.Op == b.Op && a.Run == b.Run && a.Server == b.Server &&
		a.Note == b.Note && !a.Changed && !b.Changed && a.At.Equal(b.At) && l.approved == nil && next.approved == nil
}

func (l *logLine) fields() []ledger.Field {
	if l.approved == nil {
		return nil
	}
	return Differences(*l.approved, l.entries[0])
}

// tableOf is lines in columns: when, which run, what, which server, what of it.
func tableOf(lines []logLine) string {
	server := 0
	for _, l := range lines {
		server = min(30, max(server, show.Columns(show.Clean(l.entries[0].Server))))
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text(server) + "\n")
	}
	return b.String()
}

// text is the line, with so many columns for the server.
func (l *logLine) text(server int) string {
	e := l.entries[0]
	what, why := whatOf(e)
	line := fmt.Sprintf("%s  %s  %-8s  ", e.At.Local().Format(show.TimeFormat), shortRun(e.Run), what)
	if e.Server != "" {
		line += show.Pad(show.Clean(e.Server), server+2)
	}
	return strings.TrimRight(line+l.tools()+l.reason(why), " ")
}

func (l *logLine) tools() string {
	var names []string
	for _, e := range l.entries {
		if e.Tool != "" {
			names = append(names, show.Clean(e.Tool))
		}
	}
	return show.List(names, show.MaxNamed, "tools")
}

// reason is what there is to say behind the tools.
func (l *logLine) reason(why string) string {
	if l.approved != nil {
		why = ChangedPlaces(l.fields())
	}
	switch {
	case why == "":
		return ""
	case l.entries[0].Tool == "":
		return show.Clean(why)
	}
	return ": " + show.Clean(why)
}

// whatOf is what an entry records, as one word, and the rest of it.
func whatOf(e ledger.Entry) (what, why string) {
	switch e.Op {
	case ledger.Begin:
		return "began", e.Note
	case ledger.Reload:
		return "reloaded", e.Note
	case ledger.End:
		return "ended", e.Note
	case ledger.Enroll:
		if e.Changed {
			return "changed", e.Note
		}
		return "enrolled", e.Note
	case ledger.Retire:
		return "retired", e.Note
	case ledger.Hold:
		return "held", e.Note
	case ledger.Accept:
		return "accepted", e.Note
	case ledger.Health:
		if why, lost := strings.CutPrefix(e.Note, ledger.NoteLost); lost {
			return "lost", strings.TrimPrefix(why, ": ")
		}
		return "back", strings.TrimPrefix(strings.TrimPrefix(e.Note, "ready"), "; ")
	}
	return show.Clean(string(e.Op)), e.Note // of a later version
}

// shortRun is enough of a run's id to follow it by eye.
func shortRun(run string) string {
	if n := len(run) - 4; n > 0 {
		run = run[n:]
	}
	return fmt.Sprintf("%-4s", show.Clean(run))
}
