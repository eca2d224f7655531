package history

import (
	"context"
	"math"
	"os"
	"os/user"
	"slices"
	"strconv"
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
	cmd := command.New(s, f.run, cobra.Command{
		Use: "accept [SERVER|TOOL]...", Short: "Show tools that changed or are new, and approve them",
		Long: acceptHelp, ValidArgsFunction: command.Complete(math.MaxInt, func(ctx context.Context) []string {
			entries, _ := f.Entries(ctx)
			return show.Names(changedTools(entries), func(o changedTool) string { return o.Version })
		}),
	})
	cmd.Flags().BoolVar(&f.all, "all", false, "approve all listed tools")
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
  indus mcp accept [FLAG]...                list them, and approve nothing
  indus mcp accept TOOL|SERVER... [FLAG]... approve a tool, or all of a server
  indus mcp accept --all [FLAG]...

A tool is named as it is mounted, such as fs__read_file; with @VERSION behind it,
as the list has it, it is approved only if it did not change again meanwhile.

A session:
  $ indus mcp accept
  fs__read_file@1f3870be274f6c49b3e31a0c6728957f is held back since 2026-07-28 15:09:41
    description: Reads a file{+ and sends it to example.com+}.
  indus: nothing was approved; to approve one:
    indus mcp accept fs__read_file@1f3870be274f6c49b3e31a0c6728957f
  $ indus mcp accept fs__read_file@1f3870be274f6c49b3e31a0c6728957f
  fs__read_file@1f3870be274f6c49b3e31a0c6728957f is accepted
    description: Reads a file{+ and sends it to example.com+}.`

// versionChars is the length of a sum in the name of a version. It is long enough that no server can find two versions
// with the same name, one to be reviewed and one to be accepted.
const versionChars = 32

// changedTool is a version of a tool that a person may accept, in the output of --json.
type changedTool struct {
	Server   string `json:"server"`
	Tool     string `json:"tool"`
	Name     string `json:"name"`
	Version  string `json:"version"`       // the argument that accepts it
	New      bool   `json:"new,omitempty"` // no version of the tool is approved
	Held     bool   `json:"held"`
	Accepted bool   `json:"accepted"`
	Since    string `json:"since"`
	// Fields holds the differences from the approved version. For a new tool, it holds all members.
	Fields []ledger.Field `json:"fields,omitempty"`
	Config string         `json:"config"`
	Sum    string         `json:"sum"`
	entry  ledger.Entry
}

func changedTools(entries []ledger.Entry) (out []changedTool) {
	for _, e := range ledger.Changed(entries) {
		o := changedTool{
			Server: e.Server, Tool: e.Tool, Name: e.Name, Version: e.Name + "@" + e.Sum[:min(versionChars, len(e.Sum))],
			Held: e.Op == ledger.Hold, Since: e.At.Format("2006-01-02T15:04:05.000Z07:00"), Config: e.Config, Sum: e.Sum,
			entry: e,
		}
		if before, ok := ledger.Approved(entries, e); ok {
			o.Fields = Differences(before, e)
		} else {
			o.New = true
			if e.Capability != nil {
				o.Fields = ledger.Fields([]byte(`{}`), e.Capability.Wire.JSON)
			}
		}
		out = append(out, o)
	}
	return out
}

func (f *acceptFlags) run(ctx context.Context, words []string, s show.Streams) error {
	if f.all && len(words) > 0 {
		return command.Usagef("--all and %q exclude each other", words[0])
	}
	file, entries, err := f.Read(ctx)
	if err != nil {
		return err
	}
	all := changedTools(entries)
	unwritten := f.reportUnwritten(ctx, file, s)
	if len(all) == 0 && unwritten != nil {
		return unwritten
	}
	if len(all) == 0 && len(words) == 0 {
		if !f.asJSON || f.all {
			s.Reportf("every tool is as it was approved")
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
		if all, err = selectTools(all, words); err != nil {
			return err
		}
	}
	var accepted []ledger.Entry
	for i := range all {
		accepted, all[i].Accepted = append(accepted, all[i].entry), true
	}
	if err := ledger.Approve(ctx, file, "by "+accountName(), accepted...); err != nil {
		return err
	}
	return f.print(all, s)
}

// accountName returns the account of this process, and the account that used sudo. USER may be missing or false.
func accountName() string {
	account := "uid " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		account = u.Username + " (uid " + u.Uid + ")"
	}
	if from := os.Getenv("SUDO_USER"); from != "" {
		account += ", through sudo from " + from
	}
	if host, err := os.Hostname(); err == nil {
		account += " on " + host
	}
	return show.Clean(account)
}

// reportUnwritten reports the live runs that cannot write the ledger. The tools that they hold back are missing there.
func (f *acceptFlags) reportUnwritten(ctx context.Context, file *ledger.File, s show.Streams) error {
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

// selectTools returns the tools that the words name. If a word names no tool, it returns an error.
func selectTools(all []changedTool, words []string) ([]changedTool, error) {
	for _, w := range words {
		if !slices.ContainsFunc(all, func(o changedTool) bool { return o.matches(w) }) {
			return nil, unknownTool(all, w)
		}
	}
	return slices.DeleteFunc(all, func(o changedTool) bool { return !slices.ContainsFunc(words, o.matches) }), nil
}

func (o changedTool) matches(word string) bool {
	if name, version, ok := strings.Cut(word, "@"); ok && len(version) >= versionChars {
		return (name == o.Name || name == interop.QualifiedName(o.Server, o.Tool)) && strings.HasPrefix(o.Sum, version)
	}
	return word == o.Server || word == o.Name || word == interop.QualifiedName(o.Server, o.Tool)
}

func unknownTool(all []changedTool, word string) error {
	name, version, pinned := strings.Cut(word, "@")
	if i := slices.IndexFunc(all, func(o changedTool) bool { return pinned && o.matches(name) }); i >= 0 {
		return command.Usagef("%s is no longer at version %s: it is %s; look at the changes again", name, version,
			all[i].Version)
	}
	known := slices.Concat(show.Names(all, func(o changedTool) string { return o.Name }),
		show.Names(all, func(o changedTool) string { return o.Server }))
	slices.Sort(known)
	return command.Usagef("no tool %q is other than it was approved%s", word,
		command.DidYouMean(word, slices.Compact(known)))
}

func (f *acceptFlags) print(all []changedTool, s show.Streams) error {
	if f.asJSON {
		return show.PrintLines(s, all, func(o changedTool) any { return o })
	}
	var p show.Page
	for _, o := range all {
		state := "is live all the same since " + o.entry.At.Local().Format(show.TimeFormat)
		switch {
		case o.Accepted:
			state = "is accepted"
		case o.Held:
			state = "is held back since " + o.entry.At.Local().Format(show.TimeFormat)
		}
		if o.New && !o.Accepted {
			state = "is new, and " + state
		}
		p.Printf("%s %s\n", o.Version, state)
		p.WriteString(changeLines(o.Fields))
	}
	return s.Print(&p)
}
