package approvals

import (
	"context"

	"github.com/indusagi/indus/approval"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

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
  ID    STATE    SERVER  TOOL   CALLER      VIEW     EXPIRES              ARGUMENTS
  4MWQ  spent    github  merge  user:alice  @review  2026-07-28 14:31:12  {"pull":41}
  7K2F  waiting  github  merge  user:alice  @review  2026-07-28 15:14:05  {"pull":42}

` + exitHelp

func (f *listFlags) run(ctx context.Context, book *approval.Book, _ []string, s show.Streams) error {
	items, err := book.List(ctx, &approval.Filter{All: f.all})
	if err != nil {
		return fileError(err)
	}
	if f.asJSON {
		return s.WriteIndented(append([]approval.Item{}, items...))
	}
	if len(items) == 0 {
		s.Reportf("no call waits for approval")
		return nil
	}
	t := show.Table{Spare: []string{"VIEW", "CALLER"}}
	t.Add("ID", "STATE", "SERVER", "TOOL", "CALLER", "VIEW", "EXPIRES", "ARGUMENTS")
	for _, i := range items {
		caller := show.Escaped(describe.Caller(i.Principal))
		t.Add(i.ID, string(i.State), show.Escaped(i.Server), show.Escaped(i.Tool), caller, show.Escaped(i.View),
			describe.Time(i.Expires), show.Escaped(show.CompactJSON(i.Shown)))
	}
	return t.Write(s.Out)
}
