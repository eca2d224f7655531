package history

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
	"github.com/spf13/cobra"
)

// Commands returns the commands about the ledger.
func Commands(s show.Streams) []*cobra.Command {
	return []*cobra.Command{newLog(s), newAccept(s), newVerify(s), newWatch(s)}
}

type logFlags struct {
	command.HistoryFlags
	server, since, at string
	limit             int
	diff, asJSON      bool
	cmd               *cobra.Command
}

func newLog(s show.Streams) *cobra.Command {
	var f logFlags
	f.cmd = command.New(s, f.run, cobra.Command{
		Use: "log", SuggestFor: []string{"history", "logs", "events"}, Short: "List the changes of tools, with their times",
		Long: logHelp, Args: cobra.ArbitraryArgs, ValidArgsFunction: cobra.NoFileCompletions,
	})
	flags := f.cmd.Flags()
	flags.StringVar(&f.server, "server", "", "ID  only this server")
	flags.StringVar(&f.since, "since", "", "TIME  list changes since TIME")
	flags.IntVarP(&f.limit, "lines", "n", 100, "N  print only the newest N lines (default: 100; 0 is all)")
	flags.StringVar(&f.at, "at", "", "TIME  list the tools that were live at TIME")
	flags.BoolVar(&f.diff, "diff", false, "list the differences between two times")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON Lines: entries; with --at live tools; with --diff changes")
	f.Add(f.cmd)
	_ = f.cmd.RegisterFlagCompletionFunc("server", command.Complete(math.MaxInt, func(ctx context.Context) []string {
		entries, _ := f.Entries(ctx)
		return serversOf(entries)
	}))
	return f.cmd
}

const logHelp = `List the changes of tools that indus serve recorded in the ledger, the newest last. If
several tools of a server were added or removed together, they share a line, unless
--server selects one server.

Usage:
  indus mcp log [FLAG]...              list changes
  indus mcp log --at TIME              list the tools that were live at TIME
  indus mcp log --diff [FROM [TO]]     what changed from one time (default: 1d) to
                                       another (default: now), word by word; of a
                                       server that did not run it is what it had
                                       when it last ran

Flags:
  --*
` + command.TimesHelp + `

A session:
  $ indus mcp log -n 4
  2026-07-28 15:04:05  K3F9  began     indus serve --stdio, process 4711
  2026-07-28 15:04:06  K3F9  enrolled  fs  read_file and 13 more tools
  2026-07-28 15:09:41  K3F9  changed   fs  read_file: description
  2026-07-28 15:10:02  K3F9  lost      fs  transport
  $ indus mcp log --diff 1h
  fs__read_file changed
    description: Reads a file{+ and sends it to example.com+}.`

// check refuses flags and arguments that exclude each other.
func (f *logFlags) check(args []string) error {
	flag := "--at"
	if f.diff {
		flag = "--diff"
	}
	switch one := f.diff || f.at != ""; {
	case f.diff && f.at != "":
		return command.Exclude("--at", "--diff")
	case one && f.cmd.Flags().Changed("lines"):
		return command.Exclude("-n", flag)
	case one && f.since != "":
		return command.Exclude("--since", flag)
	case len(args) > 0 && !f.diff:
		return command.AtMost(0, "")(f.cmd, args)
	case len(args) > 2:
		return command.Usagef("--diff takes two times, and %q is too many; see %s -h", args[2], f.cmd.CommandPath())
	case f.limit < 0:
		return command.Usagef("-n %d: a number of lines is 0, which is all, or more", f.limit)
	}
	return nil
}

func (f *logFlags) run(ctx context.Context, args []string, s show.Streams) error {
	if err := f.check(args); err != nil {
		return err
	}
	now := time.Now()
	var since, at time.Time
	from, to := now.Add(-24*time.Hour), now
	texts := append([]string{f.since, f.at}, args...)
	for i, target := range []*time.Time{&since, &at, &from, &to} {
		if i < len(texts) && (i > 1 || texts[i] != "") {
			var err error
			if *target, err = command.ParseTime(texts[i], now); err != nil {
				return err
			}
		}
	}
	if to.Before(from) {
		return command.Usagef("--diff: %s is before %s: write the earlier time first", args[1], args[0])
	}
	h, err := f.OpenReaped(ctx, f.server != "", s)
	if h == nil {
		return err
	}
	defer h.Close()
	entries, err := h.History(ctx)
	if err != nil {
		return command.LedgerError(err)
	}
	if servers := serversOf(entries); f.server != "" && !slices.Contains(servers, f.server) { // mistyped
		return command.Usagef("the ledger knows no server %q%s", f.server,
			cmp.Or(command.DidYouMean(f.server, servers), f.AbsentPlace()))
	}
	until := func(t time.Time) []ledger.Entry { return ledger.Until(entries, command.EndOfSecond(t)) }
	switch {
	case f.at != "":
		return f.printLive(ledger.Live(until(at)), s)
	case f.diff:
		return f.printDiff(ledger.Diff(liveTools(until(from)), liveTools(until(to))), s)
	}
	return f.printEntries(entries, since, s)
}

// serversOf returns the servers in a log, sorted.
func serversOf(entries []ledger.Entry) []string {
	all := show.Names(entries, func(e ledger.Entry) string { return e.Server })
	slices.Sort(all)
	return slices.Compact(all)
}

func (f *logFlags) excludes(e ledger.Entry) bool { return f.server != "" && e.Server != f.server }

// liveTools returns the tools of each server in the last run that listed any.
func liveTools(entries []ledger.Entry) []ledger.Entry {
	var out []ledger.Entry
	runs := ledger.Runs(entries)
	for _, server := range serversOf(entries) {
		for _, r := range slices.Backward(runs) {
			if tools, ok := toolsInRun(r, server); ok {
				out = append(out, tools...)
				break
			}
		}
	}
	return out
}

// heldNote is the note of a version that is held.
const heldNote = "is held back"

// toolsInRun returns the tools that a server last had in a run, and whether the run listed any.
func toolsInRun(r ledger.Run, server string) (tools []ledger.Entry, ok bool) {
	var history []ledger.Entry
	for _, e := range r.Entries {
		if e.Server != server {
			continue
		}
		switch {
		case e.Op == ledger.Hold: // the server has this version, but it is not live
			e.Op, e.Note = ledger.Enroll, heldNote
		case e.Op == ledger.Enroll, e.Op == ledger.Retire && e.Note != ledger.NoteLost:
		default:
			continue
		}
		ok = ok || e.Op == ledger.Enroll
		history = append(history, e)
	}
	return ledger.Reduce(history).Live, ok
}

// liveJSON is a live tool in the output of --at --json.
type liveJSON struct {
	Server  string    `json:"server"`
	Tool    string    `json:"tool"`
	Name    string    `json:"name"`
	Since   time.Time `json:"since"`
	Run     string    `json:"run"`
	Changed bool      `json:"changed,omitempty"`
	Sum     string    `json:"sum"`
}

func (f *logFlags) printLive(live []ledger.Entry, s show.Streams) error {
	live = slices.DeleteFunc(live, f.excludes)
	if f.asJSON {
		return show.PrintLines(s, live, func(e ledger.Entry) any {
			return liveJSON{e.Server, e.Tool, e.Name, e.At, e.Run, e.Changed, e.Sum}
		})
	}
	t := &show.Table{}
	t.Add("SERVER", "SINCE", "TOOL")
	for _, e := range live {
		mark := ""
		if e.Changed {
			mark = " (not as it was approved)"
		}
		t.Add(e.Server, show.Time(e.At), e.Tool+mark)
	}
	return s.PrintTable(t, "nothing was live then")
}

// changeJSON is the change of a tool in the output of --diff --json.
type changeJSON struct {
	Change string         `json:"change"`
	Server string         `json:"server"`
	Tool   string         `json:"tool"`
	Name   string         `json:"name"`
	Held   bool           `json:"held,omitempty"` // the later version is held back
	Fields []ledger.Field `json:"fields,omitempty"`
}

var changeVerbs = map[string]string{ledger.Come: "came", ledger.Gone: "went", ledger.Edited: "changed"}

func (f *logFlags) printDiff(changes []ledger.Change, s show.Streams) error {
	changes = slices.DeleteFunc(changes, func(c ledger.Change) bool { return f.server != "" && c.Server != f.server })
	if f.asJSON {
		return show.PrintLines(s, changes, func(c ledger.Change) any {
			return changeJSON{c.Kind, c.Server, c.Tool, c.Name, c.After.Note == heldNote, c.Fields}
		})
	}
	if len(changes) == 0 {
		s.Reportf("nothing changed")
		return nil
	}
	var p show.Page
	for _, c := range changes {
		became := changeVerbs[c.Kind]
		if c.After.Note == heldNote {
			became += ", and " + heldNote
		}
		p.Printf("%s %s\n", c.Name, became)
		if c.Kind == ledger.Edited {
			p.WriteString(describe.ChangeLines(c.Fields))
		}
	}
	return s.Print(&p)
}

// entryJSON is an entry in the output of --json.
type entryJSON struct {
	Seq     uint64         `json:"seq"`
	At      time.Time      `json:"at"`
	Op      ledger.Op      `json:"op"`
	Run     string         `json:"run,omitempty"`
	Server  string         `json:"server,omitempty"`
	Tool    string         `json:"tool,omitempty"`
	Name    string         `json:"name,omitempty"`
	Key     ledger.Key     `json:"key,omitempty"`
	Config  string         `json:"config,omitempty"`
	Sum     string         `json:"sum,omitempty"`
	Changed bool           `json:"changed,omitempty"`
	Note    string         `json:"note,omitempty"`
	Fields  []ledger.Field `json:"fields,omitempty"` // differences of a changed tool from the approved version
	Prev    string         `json:"prev,omitempty"`
	Hash    string         `json:"hash,omitempty"`
}

func (f *logFlags) printEntries(entries []ledger.Entry, since time.Time, s show.Streams) error {
	lines := buildLines(entries, f.server != "" || f.asJSON, func(e ledger.Entry) bool {
		return f.excludes(e) || e.At.Before(since)
	})
	if left := len(lines) - f.limit; f.limit > 0 && left > 0 {
		lines = lines[left:]
		if !f.asJSON {
			s.Reportf("%s before these; -n 0 shows all", show.Count(left, "line"))
		}
	}
	if f.asJSON {
		return show.PrintLines(s, lines, func(l logLine) any {
			e := l.entries[0]
			return entryJSON{
				e.Seq, e.At, e.Op, e.Run, e.Server, e.Tool, e.Name, e.Key, e.Config, e.Sum, e.Changed,
				e.Note, l.fields(), e.Prev, e.Hash,
			}
		})
	}
	if len(lines) == 0 {
		s.Reportf("nothing has happened")
	}
	return s.Print(formatPage(lines))
}
