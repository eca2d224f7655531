package approvals

import (
	"context"

	"github.com/indusagi/indus/approval"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

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

func (f *showFlags) run(ctx context.Context, book *approval.Book, args []string, s show.Streams) error {
	item, err := book.Item(ctx, args[0])
	if err != nil {
		return itemError(err)
	}
	if f.asJSON {
		return s.WriteIndented(item)
	}
	return s.WriteText(describeItem(&item, columnsOf(s.Out)))
}
