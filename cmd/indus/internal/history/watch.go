package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/spf13/cobra"
)

const (
	watchTick = 500 * time.Millisecond // interval of reading new entries, which costs a stat
	reapTick  = 2 * time.Second        // interval of ending the runs of processes that are gone
)

type watchFlags struct {
	command.HistoryFlags
	once     bool
	asJSON   bool
	lastRows []watchRow // rows of the last output
	// members are the replicas of a cluster and their differences, and lastMembers those of the last output.
	members, lastMembers []string
}

func newWatch(s show.Streams) *cobra.Command {
	var f watchFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "watch", Short: "Watch all processes of indus, with their servers", Long: watchHelp,
	})
	cmd.Flags().BoolVar(&f.once, "once", false, "print the state once, and exit")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON Lines: an object a server, and then one for each change")
	f.Add(cmd)
	return cmd
}

const watchHelp = `Watch all processes of indus on this machine, or of a cluster: their servers, the state
of each, and the number of tools that are live, changed or held back. On a terminal, the
display is updated as it changes. Otherwise, a line is printed for each server, and then
a line for each change. It ends on Ctrl-C.

A session:
  $ indus mcp watch --once
  indus serve --stdio, process 4711 (K3F9), since 2026-07-28 15:04:05
    fs       ready            14 tools, 1 changed  since 2026-07-28 15:04:06
    weather  lost: transport  0 tools              since 2026-07-28 15:09:41`

// watchRow is a server in a run, or a run without servers, in the output of --json.
type watchRow struct {
	Run     string    `json:"run"`
	By      string    `json:"by"`
	Began   time.Time `json:"began"`
	Server  string    `json:"server,omitempty"`
	Health  string    `json:"health,omitempty"` // "ready", or "lost" with the reason
	Since   time.Time `json:"since"`            // start of the present Health
	Tools   int       `json:"tools"`            // live tools
	Changed int       `json:"changed"`          // live tools that differ from their approved version
	Held    int       `json:"held"`             // held tools
	Gone    bool      `json:"gone,omitempty"`   // no longer served
}

func (f *watchFlags) run(ctx context.Context, _ []string, s show.Streams) error {
	h, err := f.OpenReaped(ctx, false, s)
	if h == nil {
		return err
	}
	defer h.Close()
	entries, err := h.Read(ctx, 0)
	if err != nil {
		return command.LedgerError(err)
	}
	f.members = h.Members(ctx)
	canvas := show.CanvasOn(s.Out)
	if f.once && !f.asJSON {
		return s.WriteWrapped(strings.Join(append(f.lines(watchRows(entries)), ""), "\n"))
	}
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	for reaped := time.Now(); ; {
		rows := watchRows(entries)
		if canvas != nil && !f.asJSON {
			canvas.Draw(func(height int) []string { return fitHeight(f.lines(rows), height-1) })
		} else if err := f.report(rows, s); err != nil || f.once {
			return err
		}
		select {
		case <-ctx.Done():
			return nil // the normal end
		case <-tick.C:
		}
		if time.Since(reaped) >= reapTick {
			_, _ = h.Reap(ctx) // a failed attempt is repeated later
			f.members = h.Members(ctx)
			reaped = time.Now()
		}
		last := uint64(0)
		if n := len(entries); n > 0 {
			last = entries[n-1].Seq
		}
		news, err := h.Read(ctx, last)
		if err != nil && ctx.Err() == nil && !errors.Is(err, cluster.ErrUnavailable) { // which is reported, and ends
			return command.LedgerError(err)
		}
		entries = append(entries, news...)
	}
}

// report prints the rows that changed since the last report.
func (f *watchFlags) report(rows []watchRow, s show.Streams) error {
	for _, text := range f.members {
		if slices.Contains(f.lastMembers, text) {
			continue
		}
		if err := f.printMember(text, s); err != nil {
			return err
		}
	}
	f.lastMembers = f.members
	gone := slices.DeleteFunc(slices.Clone(f.lastRows), func(old watchRow) bool {
		return slices.ContainsFunc(rows, func(r watchRow) bool { return r.Run == old.Run && r.Server == old.Server })
	})
	for i := range gone {
		gone[i].Gone = true
	}
	news := slices.DeleteFunc(slices.Clone(rows), func(r watchRow) bool { return slices.Contains(f.lastRows, r) })
	f.lastRows = rows
	for _, r := range append(gone, news...) {
		if err := f.printRow(r, s); err != nil {
			return err
		}
	}
	return nil
}

func (f *watchFlags) printMember(text string, s show.Streams) error {
	if f.asJSON {
		return show.PrintLine(s, struct {
			Replicas string `json:"replicas"`
		}{text})
	}
	_, err := fmt.Fprintf(s.Out, "%s  %s\n", time.Now().Format(show.TimeFormat), text)
	return err
}

func (f *watchFlags) printRow(r watchRow, s show.Streams) error {
	if f.asJSON {
		return show.PrintLine(s, r)
	}
	what := r.By
	switch {
	case r.Server != "" && r.Gone:
		what = r.Server + "  is not served any more"
	case r.Server != "":
		what = r.Server + "  " + r.Health + "  " + r.tools()
	case r.Gone:
		what = r.By + "  has servers, or has ended"
	}
	_, err := fmt.Fprintf(s.Out, "%s  %s  %s\n", time.Now().Format(show.TimeFormat), shortRun(r.Run), show.Clean(what))
	return err
}

func (r watchRow) tools() string {
	text := show.Count(r.Tools, "tool")
	if r.Changed > 0 {
		text += fmt.Sprintf(", %d changed", r.Changed)
	}
	if r.Held > 0 {
		text += fmt.Sprintf(", %d held back", r.Held)
	}
	return text
}

// watchRows returns the servers of live runs, in the order in which the runs began.
func watchRows(entries []ledger.Entry) []watchRow {
	changed := map[command.Version]bool{}
	for _, e := range ledger.Changed(entries) {
		changed[command.VersionOf(e)] = true
	}
	var out []watchRow
	for _, r := range ledger.Runs(entries) {
		isRun := slices.ContainsFunc(r.Entries, func(e ledger.Entry) bool { return e.Op == ledger.Begin })
		if !isRun || !r.Ended.IsZero() {
			continue // an approval, or an ended run
		}
		rows := rowsOfRun(r, changed)
		if len(rows) == 0 {
			rows = []watchRow{{Since: r.Began}}
		}
		for _, row := range rows {
			row.Run, row.By, row.Began = r.ID, r.By, r.Began
			out = append(out, row)
		}
	}
	return out
}

// runServer holds the state of a server in a run.
type runServer struct {
	row     watchRow
	held    map[string]bool
	removed bool
}

func rowsOfRun(r ledger.Run, changed map[command.Version]bool) (out []watchRow) {
	var order []string
	servers := map[string]*runServer{}
	for _, e := range r.Entries {
		if e.Server == "" || e.Op == ledger.Accept {
			continue
		}
		s := servers[e.Server]
		if s == nil {
			s = &runServer{held: map[string]bool{}}
			s.row.Server = e.Server
			servers[e.Server] = s
			order = append(order, e.Server)
		}
		s.apply(e)
	}
	for _, e := range r.Live().Live {
		row := &servers[e.Server].row
		row.Tools++
		if changed[command.VersionOf(e)] {
			row.Changed++
		}
	}
	for _, id := range order {
		if s := servers[id]; !s.removed {
			s.row.Held = len(s.held)
			out = append(out, s.row)
		}
	}
	return out
}

func (s *runServer) apply(e ledger.Entry) {
	s.removed = e.Op == ledger.Retire && e.Note == ledger.NoteRemoved
	health := "ready"
	switch e.Op {
	case ledger.Hold:
		s.held[e.Tool] = true
	case ledger.Enroll:
		delete(s.held, e.Tool)
	case ledger.Health:
		if strings.HasPrefix(e.Note, ledger.NoteLost) {
			health = e.Note
		}
	case ledger.Retire:
		if e.Note != ledger.NoteLost { // a Health entry follows
			break
		}
		return
	default:
		return
	}
	if s.row.Health != health {
		s.row.Health, s.row.Since = health, e.At
	}
}

// lines returns the rows as lines for a person: each run, with its servers below.
func (f *watchFlags) lines(rows []watchRow) []string {
	if len(rows) == 0 {
		return append([]string{"no indus serve is running" + f.AbsentPlace()}, f.members...)
	}
	id, health, tools := 0, 0, 0
	for _, r := range rows {
		id = min(30, max(id, show.Columns(show.Clean(r.Server))))
		health = min(30, max(health, show.Columns(show.Clean(r.Health))))
		tools = max(tools, len(r.tools()))
	}
	var lines []string
	for i, r := range rows {
		if i == 0 || rows[i-1].Run != r.Run {
			lines = append(lines,
				fmt.Sprintf("%s (%s), since %s", show.Clean(r.By), shortRun(r.Run), show.Time(r.Began)))
		}
		if r.Server != "" {
			lines = append(lines, fmt.Sprintf("  %s  %s  %-*s  since %s",
				show.Pad(show.Clean(r.Server), id), show.Pad(show.Clean(r.Health), health), tools, r.tools(),
				show.Time(r.Since)))
		}
	}
	return append(lines, f.members...)
}

// fitHeight cuts lines to the height of a screen. The last line counts the rest.
func fitHeight(lines []string, height int) []string {
	if height < 1 || len(lines) <= height {
		return lines
	}
	return append(slices.Clone(lines[:height-1]), fmt.Sprintf("… and %d more lines", len(lines)-height+1))
}
