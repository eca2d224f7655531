package tools

import (
	"context"
	"math"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

// besideList is what differs between the commands that list what servers have beside tools.
type besideList struct {
	kinds []beside
	json  func(besideRow) any // a row of --json
	title func(besideRow) string
	count func([]besideRow) string // those of one server
}

func newBesideList(s show.Streams, name, short, long string, of besideList) *cobra.Command {
	var f besideFlags
	cmd := &cobra.Command{
		Use: name + " [SERVER]...", Short: short, Long: long,
		ValidArgsFunction: f.CompleteServers(math.MaxInt),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.listAll(cmd.Context(), args, of, s) },
	}
	f.add(cmd, "print a JSON array")
	return cmd
}

func (f *besideFlags) listAll(ctx context.Context, words []string, of besideList, s show.Streams) error {
	servers, err := f.Choose(ctx, words, command.IsServer, s)
	if err != nil {
		return err
	}
	b, err := f.connect(ctx, servers, s)
	if err != nil {
		return err
	}
	defer b.Close()
	rows, err := b.lists(ctx, s, of.kinds...)
	if err != nil {
		return err
	}
	if f.asJSON {
		out := make([]any, len(rows))
		for i, r := range rows {
			out[i] = of.json(r)
		}
		return s.WriteIndented(out)
	}
	return printByServer(s, rows, func(r besideRow) string { return r.server }, of.count, func(r besideRow) (string, string) {
		return of.title(r), show.Summary(r.Description)
	})
}
