package history

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/ledger"
	"github.com/spf13/cobra"
)

type acceptFlags struct {
	command.LedgerFlags
	all    bool
	asJSON bool
}

func newAccept(s show.Streams) *cobra.Command {
	var f acceptFlags
	cmd := &cobra.Command{
		Use:   "accept [SERVER|TOOL]...",
		Short: "Look at tools that changed, and approve what they are now",
		Long:  acceptHelp,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.all && len(args) > 0 {
				return command.Usagef("--all and %q exclude each other", args[0])
			}
			return f.run(cmd.Context(), args, s)
		},
		ValidArgsFunction: f.complete,
	}
	f.Add(cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, "approve all that are listed")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON Lines")
	return cmd
}

const acceptHelp = `Look at tools that are not what they were when they were approved, and approve what
they are now. What a tool was when it was first seen counts as approved; what it
became may be an attack: read the words that changed. Whether it is live meanwhile
is up to indus serve --changes. A running indus serve lets in what was accepted
within moments.

Usage:
  indus mcp accept [FLAG]...                list them, and approve nothing
  indus mcp accept TOOL|SERVER... [FLAG]... approve a tool, or all of a server
  indus mcp accept --all [FLAG]...

A tool is named as it is mounted, such as fs__read_file; with @VERSION behind it,
as the list has it, it is approved only if it did not change again meanwhile.

Flags:
  --all        approve all that would be listed
  --json       print JSON Lines, an object a tool` + command.LedgerFlagsHelp + `

A session:
  $ indus mcp accept
  fs__read_file@1f3870be274f6c49b3e31a0c6728957f is kept back since 2026-07-28 15:09:41
    description: Reads a file{+ and sends it to example.com+}.
  indus: nothing was approved; to approve one:
    indus mcp accept fs__read_file@1f3870be274f6c49b3e31a0c6728957f
  $ indus mcp accept fs__read_file@1f3870be274f6c49b3e31a0c6728957f
  fs__read_file@1f3870be274f6c49b3e31a0c6728957f is accepted
    description: Reads a file{+ and sends it to example.com+}.

` + command.LedgerExitHelp

// versionChars is how much of a seal names a version: a server that makes up both,
// one to be looked at and one to be accepted, must not find two that look alike.
const versionChars = 32

// changedTool is a version of a tool that somebody may accept.
type changedTool struct {
	ledger.Entry
	fields []ledger.Field // what it has otherwise than what was approved
	lost   bool           // what was approved is not known any more
}

func changedTools(entries []ledger.Entry) (out []changedTool) {
	for _, e := range ledger.Changed(entries) {
		o := changedTool{Entry: e}
		if before, ok := ledger.Approved(entries, e); ok {
			o.fields = Differences(before, e)
		} else {
			o.lost = true
		}
		out = append(out, o)
	}
	return out
}

// version is by what a person names it.
func (o changedTool) version() string {
	return o.Name + "@" + o.Seal[:min(versionChars, len(o.Seal))]
}

func (f *acceptFlags) run(ctx context.Context, words []string, s show.Streams) error {
	file, entries, err := f.Read(ctx)
	if err != nil {
		return err
	}
	all := changedTools(entries)
	if len(all) == 0 && len(words) == 0 {
		if !f.asJSON || f.all {
			s.Reportf("every tool is as it was approved")
		}
		return nil
	}
	if len(words) == 0 && !f.all {
		if err := f.print(all, false, s); err != nil || f.asJSON {
			return err
		}
		s.Reportf("nothing was approved; to approve one:\n  indus mcp accept %s%s", all[0].version(), f.Repeat())
		return nil
	}
	if len(words) > 0 {
		if all, err = choose(all, words); err != nil {
			return err
		}
	}
	var accepted []ledger.Entry
	for _, o := range all {
		accepted = append(accepted, o.Entry)
	}
	who := "by " + show.Clean(cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME"), "a person"))
	if err := ledger.Approve(ctx, file, who, accepted...); err != nil {
		return err
	}
	return f.print(all, true, s)
}

// choose is the tools that words name; every word has to name one.
func choose(all []changedTool, words []string) ([]changedTool, error) {
	for _, w := range words {
		if !slices.ContainsFunc(all, func(o changedTool) bool { return o.isNamed(w) }) {
			return nil, noSuchTool(all, w)
		}
	}
	return slices.DeleteFunc(all, func(o changedTool) bool { return !slices.ContainsFunc(words, o.isNamed) }), nil
}

func (o changedTool) isNamed(word string) bool {
	if name, version, ok := strings.Cut(word, "@"); ok && len(version) >= versionChars {
		return (name == o.Name || name == interop.QualifiedName(o.Server, o.Tool)) && strings.HasPrefix(o.Seal, version)
	}
	return word == o.Server || word == o.Name || word == interop.QualifiedName(o.Server, o.Tool)
}

func noSuchTool(all []changedTool, word string) error {
	name, version, pinned := strings.Cut(word, "@")
	if i := slices.IndexFunc(all, func(o changedTool) bool { return pinned && o.isNamed(name) }); i >= 0 {
		return command.Usagef("%s is not at version %s any more: it is %s; look again at what changed", name, version, all[i].version())
	}
	known := slices.Concat(show.Names(all, func(o changedTool) string { return o.Name }), show.Names(all, func(o changedTool) string { return o.Server }))
	slices.Sort(known)
	return command.Usagef("no tool %q is other than it was approved%s", word, command.DidYouMean(word, slices.Compact(known)))
}

// changedJSON is one version, as --json prints it.
type changedJSON struct {
	Server   string         `json:"server"`
	Tool     string         `json:"tool"`
	Name     string         `json:"name"`
	Version  string         `json:"version"` // as it is accepted by
	Held     bool           `json:"held"`
	Accepted bool           `json:"accepted"`
	Since    string         `json:"since"`
	Fields   []ledger.Field `json:"fields,omitempty"`
	Config   string         `json:"config"`
	Seal     string         `json:"seal"`
}

func (f *acceptFlags) print(all []changedTool, accepted bool, s show.Streams) error {
	if f.asJSON {
		return show.PrintLines(s, all, func(o changedTool) any {
			return changedJSON{
				o.Server, o.Tool, o.Name, o.version(), o.Op == ledger.Hold, accepted,
				o.At.Format("2006-01-02T15:04:05.000Z07:00"), o.fields, o.Config, o.Seal,
			}
		})
	}
	var p show.Page
	for _, o := range all {
		says := "is live all the same since " + o.At.Local().Format(show.TimeFormat)
		switch {
		case accepted:
			says = "is accepted"
		case o.Op == ledger.Hold:
			says = "is kept back since " + o.At.Local().Format(show.TimeFormat)
		}
		p.Printf("%s %s\n", o.version(), says)
		if o.lost {
			p.Printf("  what was approved is not in the ledger any more\n")
			continue
		}
		p.WriteString(changeLines(o.fields))
	}
	return s.Print(&p)
}

// complete offers what may be accepted. It reads the ledger and nothing else.
func (f *acceptFlags) complete(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	entries, _ := f.Entries(cmd.Context())
	all := show.Names(changedTools(entries), changedTool.version)
	return command.WithPrefix(typed, all, args...), cobra.ShellCompDirectiveNoFileComp
}
