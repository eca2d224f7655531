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

func newBesideList(s show.Streams, of besideList, json string, c cobra.Command) *cobra.Command {
	var f besideFlags
	c.ValidArgsFunction = f.CompleteServers(math.MaxInt)
	cmd := command.New(s, func(ctx context.Context, words []string, s show.Streams) error { return f.listAll(ctx, words, of, s) }, c)
	f.add(cmd, json)
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
