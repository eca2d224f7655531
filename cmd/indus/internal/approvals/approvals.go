package approvals

import (
	"context"
	"errors"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/approval"
	"github.com/spf13/cobra"
)

// New returns the command approvals. Without a sub-command it is "approvals ls".
func New(s show.Streams) *cobra.Command {
	shared := &command.ClusterFlags{}
	cmd := command.NewGroup(cobra.Command{
		Use: "approvals", Aliases: []string{"approval"}, SuggestFor: []string{"approve", "allow", "grants"},
		Short: "Calls that wait for the approval of a person", Long: approvalsHelp,
	}, newLs(shared, s), newShow(shared, s), newAllow(shared, s), newDeny(shared, s), newWatch(shared, s))
	command.AddClusterFlags(cmd, shared)
	var f listFlags
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return withBook(shared, f.run)(cmd.Context(), nil, s) }
	f.add(cmd)
	return cmd
}

const approvalsHelp = `Calls to "indus serve" that wait for the approval of a person, because a rule of the
policy with @approve covers them. Without a command, list them.

An approval is good for one run of one call: the same caller, client, view, tool and
arguments, byte for byte, while the tool is as it was. The caller sends the call again
to use it. You may decide each of them, because the file of approvals is yours.
With a "cluster" in the configuration, they are those of all its replicas.

A session:
  $ indus approvals
  ID    STATE    SERVER  TOOL   CALLER      EXPIRES              ARGUMENTS
  7K2F  waiting  github  merge  user:ann    2026-07-28 15:14:05  {"pull":42}
  $ indus approvals allow 7K2F --yes
  indus: allowed 7K2F: merge of github, for user:ann until 2026-07-28 15:15:31

` + exitHelp

const exitHelp = `Exit codes:
  0    ok
  1    the file of approvals cannot be read or written
  2    usage: flags, and an approval that does not wait
  4    the cluster cannot be reached: nothing is decided
  130  interrupted`

// openBook is the calls that wait, with the flags that select them.
type openBook struct {
	*approval.Book
	flags *command.ClusterFlags
}

// withBook returns the function of a command that first opens the approvals: of the cluster of the configuration, or of
// the user. "indus serve" uses the same.
func withBook(
	c *command.ClusterFlags, run func(context.Context, *openBook, []string, show.Streams) error,
) func(context.Context, []string, show.Streams) error {
	return func(ctx context.Context, args []string, s show.Streams) error {
		shared, err := c.Open(ctx, s)
		if err != nil {
			return err
		}
		defer shared.Close()
		path := command.ApprovalsPath()
		if path == "" && shared == nil {
			return fileError(errors.New("there is no place for them: set $HOME or $XDG_STATE_HOME"))
		}
		book, err := shared.Approvals(ctx, path, approval.Options{})
		if err != nil {
			return fileError(err)
		}
		return run(ctx, &openBook{book, c}, args, s)
	}
}

// fileError returns an error about the file of approvals, or about the cluster.
func fileError(err error) error { return command.StateError("approvals", err) }

// itemError returns an error about one approval.
func (b *openBook) itemError(err error) error {
	if errors.Is(err, approval.ErrUnknown) {
		return command.Usagef(`%w%s; "indus approvals%s" lists them`, err, b.flags.AbsentPlace(), b.flags.RepeatPaths())
	}
	for _, usage := range []error{
		approval.ErrExpired, approval.ErrDecided, approval.ErrRequester, approval.ErrNotCaller,
	} {
		if errors.Is(err, usage) {
			return command.AsUsage(err)
		}
	}
	return fileError(err)
}

// completeIDs completes the IDs of approvals in the file: of all, or of those that wait. It connects to no cluster.
func completeIDs(all bool) cobra.CompletionFunc {
	return command.Complete(1, func(ctx context.Context) []string {
		path := command.ApprovalsPath()
		book, err := approval.Open(path, nil)
		if err != nil || path == "" {
			return nil
		}
		items, _ := book.List(ctx, &approval.Filter{All: all})
		return show.Names(items, func(i approval.Item) string {
			return i.ID + "\t" + show.Clean(i.Server+" "+i.Tool)
		})
	})
}

// needsID refuses a command line without an ID.
func needsID() cobra.PositionalArgs {
	return command.Needs(1, `the ID of an approval; "indus approvals" lists them`, "ID")
}

type listFlags struct{ all, asJSON bool }

func (f *listFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.all, "all", false, "also list decided, used and expired approvals of the last 7 days")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print a JSON array")
}

func newLs(c *command.ClusterFlags, s show.Streams) *cobra.Command {
	var f listFlags
	cmd := command.New(s, withBook(c, f.run), cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the calls that wait", Long: lsHelp,
	})
	f.add(cmd)
	return cmd
}

const lsHelp = `List the calls that wait for approval. Likely secrets in their arguments are masked.

A session:
  $ indus approvals ls --all
  ID    STATE    SERVER  TOOL   CALLER      EXPIRES              ARGUMENTS
  4MWQ  spent    github  merge  user:ann    2026-07-28 14:31:12  {"pull":41}
  7K2F  waiting  github  merge  user:ann    2026-07-28 15:14:05  {"pull":42}

` + exitHelp

const noneWaits = "no call waits for approval%s"

func (f *listFlags) run(ctx context.Context, b *openBook, _ []string, s show.Streams) error {
	items, err := b.List(ctx, &approval.Filter{All: f.all})
	if err != nil {
		return fileError(err)
	}
	if f.asJSON {
		return s.WriteIndented(append([]approval.Item{}, items...))
	}
	t := show.Table{Spare: []string{"VIEW", "CALLER"}}
	t.Add("ID", "STATE", "SERVER", "TOOL", "CALLER", "VIEW", "EXPIRES", "ARGUMENTS")
	for _, i := range items {
		caller := show.Escaped(describe.Caller(i.Principal))
		t.Add(i.ID, string(i.State), show.Escaped(i.Server), show.Escaped(i.Tool), caller, show.Escaped(i.View),
			show.Time(i.Expires), show.Escaped(show.CompactJSON(i.Shown)))
	}
	return s.PrintTable(&t, noneWaits, b.flags.AbsentPlace())
}

type showFlags struct{ asJSON bool }

func newShow(c *command.ClusterFlags, s show.Streams) *cobra.Command {
	var f showFlags
	cmd := command.New(s, withBook(c, f.run), cobra.Command{
		Use: "show ID", Short: "Show all about one call", Long: showHelp,
		Args: needsID(), ValidArgsFunction: completeIDs(true),
	})
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print a JSON object")
	return cmd
}

const showHelp = `Show all about one call: the caller, the tool and its arguments, which rule requires the
approval, and what changed in the tool since it was accepted. Likely secrets in the
arguments are masked, and characters that cannot be seen are written as \u{...}.

A session:
  $ indus approvals show 7K2F
  7K2F is waiting, until 2026-07-28 15:14:05, for another 9m12s
    server     github
    runs       npx -y @github/mcp-server
    tool       merge
    title      Merge a pull request
    caller     user:alice
    client     claude-code, as it names itself
    view       @review
    decides    another person than the caller
    rule       policy.cedar:3
    asked      2026-07-28 15:04:05
    arguments  11 bytes, SHA-256 3f1c9c7a…
      {
        "pull": 42
      }

` + exitHelp

func (f *showFlags) run(ctx context.Context, b *openBook, args []string, s show.Streams) error {
	item, err := b.Item(ctx, args[0])
	if err != nil {
		return b.itemError(err)
	}
	if f.asJSON {
		return s.WriteIndented(item)
	}
	return s.WriteText(describeItem(&item, show.WidthOf(s.Out, 0)))
}
