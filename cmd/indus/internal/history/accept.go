package history

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
	"github.com/spf13/cobra"
)

type acceptFlags struct {
	command.HistoryFlags
	all    bool
	asJSON bool
	keep   time.Duration
}

func newAccept(s show.Streams) *cobra.Command {
	var f acceptFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "accept [SERVER|TOOL]...", Short: "Show tools that changed or are new, and approve them",
		Long: acceptHelp, ValidArgsFunction: command.Complete(math.MaxInt, func(ctx context.Context) []string {
			entries, _ := f.Entries(ctx)
			return show.Names(describe.ChangedTools(entries), func(o describe.ChangedTool) string { return o.Version })
		}),
	})
	cmd.Flags().BoolVar(&f.all, "all", false, "approve all listed tools")
	cmd.Flags().DurationVar(&f.keep, "keep", 0, `TIME  the version that was approved before stays approved for TIME,
		such as 1h, while the replicas of a server are upgraded one after the other (default: 0, which is not)`)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON Lines, an object a tool")
	f.Add(cmd)
	return cmd
}

const acceptHelp = `Show tools that changed after they were approved, and tools that are new on a server,
and approve them. The first list of tools that a server
serves is approved. Later changes may be an attack: read the changed text.
The configuration and indus serve --changes decide whether such a tool is live
meanwhile. A running indus serve lists an accepted tool within moments.

Usage:
  indus mcp accept [FLAG]...                 show them, and approve none
  indus mcp accept TOOL|SERVER... [FLAG]...  approve these
  indus mcp accept --all [FLAG]...           approve all of them

A tool is named as it is mounted, such as fs__read_file; with @VERSION behind it,
as the list has it, it is approved only if it did not change again meanwhile.

A session:
  $ indus mcp accept
  fs__read_file@1f3870be274f is held back since 2026-07-28 15:09:41
    description: Reads a file{+ and sends it to example.com+}.
  indus: nothing was approved; to approve one:
    indus mcp accept fs__read_file@1f3870be274f
  $ indus mcp accept fs__read_file@1f3870be274f
  fs__read_file@1f3870be274f is accepted
    description: Reads a file{+ and sends it to example.com+}.`

func (f *acceptFlags) run(ctx context.Context, words []string, s show.Streams) error {
	if f.keep < 0 {
		return command.Usagef("--keep %v: it is how long the version that was approved before stays approved, such as 1h",
			f.keep)
	}
	if f.all && len(words) > 0 {
		return command.Exclude("--all", strconv.Quote(words[0]))
	}
	h, err := f.OpenReaped(ctx, len(words) > 0, s)
	if h == nil {
		return err
	}
	defer h.Close()
	entries, err := h.Read(ctx, 0)
	if err != nil {
		return command.LedgerError(err)
	}
	all := describe.ChangedTools(entries)
	unwritten := f.reportUnwritten(ctx, h.File, s)
	if len(all) == 0 && unwritten != nil {
		return unwritten
	}
	if len(all) == 0 && len(words) == 0 {
		if !f.asJSON || f.all {
			s.Reportf("every tool is as it was approved%s", f.AbsentPlace())
		}
		return nil
	}
	if len(words) == 0 && !f.all {
		if err := f.print(all, s); err != nil || f.asJSON {
			return err
		}
		s.Reportf("nothing was approved; to approve one:\n  indus mcp accept %s%s", all[0].Version, f.Repeat())
		return nil
	}
	if len(words) > 0 {
		selected, err := describe.SelectTools(all, words)
		switch {
		case err != nil && len(all) == 0:
			return command.Usagef("%w%s", err, f.AbsentPlace())
		case err != nil:
			return err
		}
		all = selected
	}
	var accepted []ledger.Entry
	for i := range all {
		e := all[i].Entry
		if f.keep > 0 {
			e = e.Beside(entries, time.Now().Add(f.keep))
		}
		accepted, all[i].Accepted = append(accepted, e), true
	}
	if err := ledger.Approve(ctx, h, "by "+describe.Account(), accepted...); err != nil {
		return command.LedgerError(err)
	}
	return f.print(all, s)
}

// reportUnwritten reports the live runs that cannot write a file. The tools that they hold back are missing there. A
// run that cannot write to a cluster cannot be known.
func (f *acceptFlags) reportUnwritten(ctx context.Context, file *ledger.File, s show.Streams) error {
	if file == nil {
		return nil
	}
	runs, err := file.Unwritten(ctx)
	if err != nil || len(runs) == 0 {
		return err
	}
	s.Reportf(
		"the ledger does not have all that was changed: it cannot be written by %s; make room on the disk, and look again",
		show.List(show.Names(runs, func(run string) string { return "run " + strings.TrimSpace(shortRun(run)) }),
			show.MaxNamed, "runs"))
	return &command.ExitError{Code: command.ExitFault, Said: true}
}

func (f *acceptFlags) print(all []describe.ChangedTool, s show.Streams) error {
	if f.asJSON {
		return show.PrintLines(s, all, func(o describe.ChangedTool) any {
			o.Compare()
			return o
		})
	}
	var p show.Page
	for _, o := range all {
		o.Compare()
		p.Printf("%s %s\n", o.Version, o.State())
		p.WriteString(describe.ChangeLines(o.Fields))
	}
	return s.Print(&p)
}
