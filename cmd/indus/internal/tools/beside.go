package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/schema"
	"github.com/spf13/cobra"
)

// beside is what servers have beside their tools.
type beside struct {
	capability string // under which a server declares it
	method     string // that lists it
	member     string // of the result, which has the rows
}

var (
	promptLists   = beside{"prompts", "prompts/list", "prompts"}
	resourceLists = beside{"resources", "resources/list", "resources"}
	templateLists = beside{"resources", "resources/templates/list", "resourceTemplates"}
)

// besideRow is one prompt, resource or template of a server.
type besideRow struct {
	server string
	raw    json.RawMessage
	about
}

// about is what is read of a row.
type about struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	URI         string           `json:"uri"`
	URITemplate string           `json:"uriTemplate"`
	MimeType    string           `json:"mimeType"`
	Arguments   []promptArgument `json:"arguments"`
}

type promptArgument struct {
	Name     string `json:"name"`
	Required bool   `json:"required"`
}

// qualified is what a prompt is called beside those of other servers.
func (r besideRow) qualified() string { return interop.QualifiedName(r.server, r.Name) }

// besideFlags are the flags of the commands about prompts and resources.
type besideFlags struct {
	command.ServerFlags
	asJSON bool
}

// sentJSON is the usage of --json of commands that print one result.
const sentJSON = "print the result as the server sent it, byte for byte"

func (f *besideFlags) add(cmd *cobra.Command, json string) {
	cmd.Flags().BoolVar(&f.asJSON, "json", false, json)
	f.Add(cmd)
}

// onServer adds the flag of the one server that is asked.
func (f *besideFlags) onServer(cmd *cobra.Command, server *string, usage string) {
	cmd.Flags().StringVar(server, "server", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("server", f.CompleteServers(math.MaxInt))
}

// connect is the servers that a command is about. The caller closes what it gets.
func (f *besideFlags) connect(ctx context.Context, servers []interop.Server, s show.Streams) (*besideServers, error) {
	c, err := f.Connect(ctx, servers, schema.Original, s)
	if err != nil {
		return nil, err
	}
	return &besideServers{Connection: c, down: command.ReportDown(c.Fleet, s)}, nil
}

// besideServers are servers that are asked for what they have beside tools.
type besideServers struct {
	*command.Connection
	down error // the fault of one that is down, which was reported
}

// ask sends a request to one of them.
func (b *besideServers) ask(ctx context.Context, server, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	result, err := b.request(ctx, server, method, raw)
	if err == nil {
		err = command.CheckResult(server, method, result)
	}
	return result, err
}

func (b *besideServers) request(ctx context.Context, server, method string, params json.RawMessage) (json.RawMessage, error) {
	result, err := b.Fleet.Request(ctx, server, interop.Message{Method: method, Params: params})
	if err != nil {
		return nil, err
	}
	if kind, ok := wire.Lookup(result, "resultType"); ok && string(kind) != `"complete"` {
		return nil, interop.NewFault(interop.Protocol, server, method, fmt.Errorf("it answers with %s, which nobody can give here", show.Cut(string(kind), 40)))
	}
	return result, nil
}

const maxListPages = 1000 // of one list: a server whose pages have no end is left there

// list is what one server has; what it does not declare it is not asked for.
func (b *besideServers) list(ctx context.Context, server string, of beside) (rows []besideRow, rest string, err error) {
	if e, err := b.Fleet.Endpoint(server, ""); err != nil || !declares(e.Capabilities(), of.capability) {
		return nil, "", err
	}
	pages := protocol.Pages{Method: of.method, Key: of.member, Most: maxListPages, MaxBytes: interop.MaxMessage}
	rest, err = pages.Read(func(params json.RawMessage) (json.RawMessage, error) {
		return b.request(ctx, server, of.method, params)
	}, func(_ []wire.Member, raws []json.RawMessage) {
		for _, raw := range raws {
			row := besideRow{server: server, raw: raw}
			if json.Unmarshal(raw, &row.about) == nil {
				rows = append(rows, row)
			}
		}
	})
	var bad *protocol.PageError
	rpc, refused := errors.AsType[*interop.RPCError](err)
	switch {
	case refused && rpc.Code == interop.CodeMethodNotFound: // servers declare resources and have no templates
		err = nil
	case errors.As(err, &bad):
		err = interop.NewFault(interop.Protocol, server, of.method, bad)
	}
	return rows, rest, err
}

func declares(capabilities json.RawMessage, name string) bool {
	v, ok := wire.Lookup(capabilities, name)
	return ok && string(v) != "null"
}

// lists is what all of them have, in their order. One that fails is reported, and its error is that of
// all where nothing was listed.
func (b *besideServers) lists(ctx context.Context, s show.Streams, kinds ...beside) (rows []besideRow, failed error) {
	failed = b.down
	if failed != nil {
		failed = command.Said(failed)
	}
	for _, st := range b.Fleet.Status() {
		if st.Fault != nil {
			continue
		}
		for _, of := range kinds {
			some, rest, err := b.list(ctx, st.Server, of)
			rows = append(rows, some...)
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
