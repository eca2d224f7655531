package tools

import (
	"context"
	"math"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/spf13/cobra"
)

// besideFlags holds the flags of the commands about prompts and resources.
type besideFlags struct {
	command.ServerFlags
	asJSON bool
}

// rawJSONHelp is the usage of --json of commands that print one result.
const rawJSONHelp = "print the result as the server sent it, byte for byte"

func (f *besideFlags) add(cmd *cobra.Command, json string) {
	cmd.Flags().BoolVar(&f.asJSON, "json", false, json)
	f.Add(cmd)
}

// addServerFlag adds --server, which selects one server.
func (f *besideFlags) addServerFlag(cmd *cobra.Command, server *string, usage string) {
	cmd.Flags().StringVar(server, "server", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("server", f.CompleteServers(math.MaxInt))
}

// connect connects the servers of a command. The caller closes the result.
func (f *besideFlags) connect(ctx context.Context, servers []config.Server, s show.Streams) (*besideServers, error) {
	c, err := f.Connect(ctx, servers, schema.Original, s)
	if err != nil {
		return nil, err
	}
	return &besideServers{Connection: c, down: command.ReportDown(c.Fleet, s)}, nil
}

// besideServers holds connected servers that are asked for prompts, resources and templates.
type besideServers struct {
	*command.Connection
	down error // the fault of a server that is down, already reported
}

// listAll returns the entries of all servers in order, and reports failures. Without entries it returns the last
// failure.
func (b *besideServers) listAll(
	ctx context.Context, s show.Streams, kinds ...command.BesideKind,
) (rows []command.Beside, failed error) {
	failed = b.down
	if failed != nil {
		failed = command.Said(failed)
	}
	for _, st := range b.Fleet.Status() {
		if st.Fault != nil {
			continue
		}
		for _, of := range kinds {
			entries, rest, err := command.ListBeside(ctx, b.Fleet, st.Server, of)
			rows = append(rows, entries...)
			if rest != "" {
				s.Reportf("%s: %s", st.Server, rest)
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				err = command.Explain(err)
				s.Reportf("%s", err)
				failed = command.Said(err)
			}
		}
	}
	if len(rows) > 0 {
		failed = nil
	}
	return rows, failed
}

// besideList holds the parts that differ between the commands that list prompts and resources.
type besideList struct {
	kinds []command.BesideKind
	json  func(command.Beside) any // an element of the output of --json
	title func(command.Beside) string
	count func([]command.Beside) string // the count of the entries of one server
}

func newBesideList(s show.Streams, list besideList, json string, c cobra.Command) *cobra.Command {
	var f besideFlags
	c.ValidArgsFunction = f.CompleteServers(math.MaxInt)
	cmd := command.New(s,
		func(ctx context.Context, words []string, s show.Streams) error { return f.listAll(ctx, words, list, s) }, c)
	f.add(cmd, json)
	return cmd
}

func (f *besideFlags) listAll(ctx context.Context, words []string, list besideList, s show.Streams) error {
	servers, err := f.Choose(ctx, words, command.IsServer, s)
	if err != nil {
		return err
	}
	b, err := f.connect(ctx, servers, s)
	if err != nil {
		return err
	}
	defer b.Close()
	rows, err := b.listAll(ctx, s, list.kinds...)
	if err != nil {
		return err
	}
	if f.asJSON {
		out := make([]any, len(rows))
		for i, r := range rows {
			out[i] = list.json(r)
		}
		return s.WriteIndented(out)
	}
	return printByServer(s, servers, rows, func(r command.Beside) string { return r.Server }, list.count,
		func(r command.Beside) (string, string) {
			return list.title(r), show.Summary(r.Description)
		})
}
