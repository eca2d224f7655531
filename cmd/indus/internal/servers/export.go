package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

type exportFlags struct {
	command.ConfigFlags
	to, via, view           string
	gateway, write, project bool
	force, asJSON           bool
}

func newExport(s show.Streams) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export --to CLIENT [SERVER]...",
		Short: "Give servers to another MCP client, in its own format",
		Long:  exportHelp,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, s)
		},
		ValidArgsFunction: f.CompleteServers(math.MaxInt),
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&f.to, "to", "", "the client")
	cmd.Flags().BoolVar(&f.gateway, "gateway", false, "one entry that runs indus serve --stdio")
	cmd.Flags().StringVar(&f.via, "via", "", "one entry with the URL of a running indus serve")
	cmd.Flags().StringVar(&f.view, "view", "", "with --via, a view of it alone")
	cmd.Flags().BoolVar(&f.write, "write", false, "merge it into the client's own file")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace servers of the same name")
	cmd.Flags().BoolVar(&f.project, "project", false, "the client's file in this directory")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print a JSON object")
	_ = cmd.RegisterFlagCompletionFunc("via", cobra.FixedCompletions([]string{viaGateway}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("view", f.completeViews)
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(writableNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// writableClients are the clients that have a format to write.
func writableClients() []mcpconfig.Client {
	return slices.DeleteFunc(mcpconfig.Clients(), func(c mcpconfig.Client) bool { return !c.Writes })
}

func writableNames() []string {
	return show.Names(writableClients(), func(c mcpconfig.Client) string { return c.Name })
}

var exportHelp = `Give the configured servers, or the named ones, to another MCP client: print them in
its format, or with --write merge them into its file, which keeps its comments and
all else. Variables stay variables, in the client's own form; a secret that is
in plain text in a file of indus is so in the client's too.

With --gateway the client gets one entry, which runs indus serve --stdio, instead of
the servers: one place to configure them all, for any number of clients. With --via it
gets one with the URL of an indus serve that runs, and with --view that of a view of it:
one server, or what "views" in the configuration has by that name. Where $INDUS_TOKEN is
set, the client sends it as that variable.

Usage:
  indus mcp export --to CLIENT [FLAG]... [SERVER]...
  indus mcp export --to CLIENT --gateway [FLAG]...
  indus mcp export --to CLIENT --via gateway|URL [--view SERVER|NAME] [FLAG]...

CLIENT is one of
` + show.Wrap(strings.Join(writableNames(), ", "), 2) + `

Flags:
  --write      merge it into the client's own file: the user's, or with
  --project    the one in this directory
  --force      replace servers of the same name in it
  --gateway    one entry that runs indus serve --stdio
  --via URL    one entry with the URL of a running indus serve; "gateway" is
               http://127.0.0.1:7332/mcp
  --view NAME  with --via, a server of it, or a view that the configuration names
  --json       print a JSON object: client, servers, notes, and with --write file and
               changed, else text, which is in the client's format` + command.ConfigFlagsHelp + `

A session:
  $ indus mcp export --to cursor github >mcp.json
  $ indus mcp export --to vscode --via gateway --view dev
  $ indus mcp export --to cursor --gateway --write
  indus: wrote 1 server to /home/me/.cursor/mcp.json; start the client again

Exit codes:
  0    ok
  1    the file changed at the same moment: try again
  2    usage: flags, files, no such CLIENT or SERVER, and a SERVER that waits for
       approval
  130  interrupted`

func (f *exportFlags) run(ctx context.Context, names []string, s show.Streams) error {
	client, err := f.client()
	if err != nil {
		return err
	}
	var defs []mcpconfig.Definition
	switch {
	case f.via == "" && f.view != "":
		return command.Usagef("--view is part of a running gateway: add --via gateway, or --via URL")
	case f.via != "" && f.gateway:
		return command.Usagef("--via and --gateway exclude each other: the one runs indus serve, the other finds it running")
	case f.via != "" && len(names) > 0:
		return command.Usagef("--via gives all servers behind one entry: leave out %q, or write --view %s", names[0], names[0])
	case f.via != "":
		defs, err = f.viaURL(ctx)
	case f.gateway:
		if len(names) > 0 {
			return command.Usagef("--gateway gives all servers behind one entry: leave out %q", names[0])
		}
		defs, err = f.entry()
	default:
		defs, err = f.definitions(ctx, names, s)
	}
	if err != nil {
		return err
	}
	if !f.write {
		return f.print(client, defs, s)
	}
	return f.merge(ctx, client, defs, s)
}

func (f *exportFlags) client() (mcpconfig.Client, error) {
	known := writableNames()
	if f.to == "" {
		return mcpconfig.Client{}, command.Usagef("mcp export needs --to CLIENT: one of %s", strings.Join(known, ", "))
	}
	for _, c := range writableClients() {
		if c.Name == f.to {
			return c, nil
		}
	}
	return mcpconfig.Client{}, command.Usagef("no client %q to write for%s; known are %s", f.to, command.DidYouMean(f.to, known), strings.Join(known, ", "))
}

// print writes the client's format to stdout.
func (f *exportFlags) print(client mcpconfig.Client, defs []mcpconfig.Definition, s show.Streams) error {
	if f.project {
		return command.Usagef("--project says where --write writes: add that")
	}
	out, notes, err := mcpconfig.Export(client.Name, defs, nil, dry())
	if err != nil {
		return command.AsUsage(err)
	}
	reportNotes(notes, s)
	if err := nothingWritten(client, defs, notes); err != nil {
		return err
	}
	if f.asJSON {
		text := string(out)
		return s.WriteIndented(exported{Client: client.Name, Servers: writtenIDs(defs, notes), Notes: notes, Text: &text})
	}
	if _, ok := show.Terminal(s.Out); ok && slices.ContainsFunc(defs, func(d mcpconfig.Definition) bool { return len(secret.InDefinition(d.JSON)) > 0 }) {
		s.Reportf("this has a secret in plain text")
	}
	return s.WriteText(string(out))
}

// merge writes into the client's own file.
func (f *exportFlags) merge(ctx context.Context, client mcpconfig.Client, defs []mcpconfig.Definition, s show.Streams) error {
	project, user := clientFiles(client)
	files, whose := user, "of the user's"
	if f.project {
		files, whose = project, "in a project"
	}
	if len(files) == 0 {
		return command.Usagef("%s has no file %s", client.Title, whose)
	}
	path, same := thereOf(files), false
	var said []mcpconfig.Note
	unlock, err := mcpconfig.Lock(ctx, dry())
	if err != nil {
		return err
	}
	err = mcpconfig.Rewrite(path, func(text []byte) ([]byte, error) {
		out, notes, err := mcpconfig.Export(client.Name, defs, text, dry())
		if err != nil {
			return nil, atPath(path, err)
		}
		said = notes
		if err = nothingWritten(client, defs, notes); err != nil {
			return nil, err
		}
		if same = bytes.Equal(out, text); !same && !f.force {
			err = f.taken(client, defs, path, text)
		}
		return out, err
	})
	unlock() // before anything is said to somebody who may not read it
	reportNotes(said, s)
	switch {
	case errors.Is(err, mcpconfig.ErrChanged):
		return err
	case err != nil:
		return command.AsUsage(err)
	case same:
		s.Reportf("%s has it already: nothing was written", path)
	default:
		s.Reportf("wrote %s to %s; start the client again", show.Count(len(writtenIDs(defs, said)), "server"), path)
	}
	if !f.asJSON {
		return nil
	}
	changed := !same
	return s.WriteIndented(exported{Client: client.Name, Servers: writtenIDs(defs, said), Notes: said, File: path, Changed: &changed})
}

// exported is what was given away, as --json prints it.
type exported struct {
	Client  string           `json:"client"`
	Servers []string         `json:"servers"`
	Notes   []mcpconfig.Note `json:"notes,omitempty"`
	Text    *string          `json:"text,omitempty"`
	File    string           `json:"file,omitempty"`    // with --write
	Changed *bool            `json:"changed,omitempty"` // with --write; false: it had them already
}

// writtenIDs are the servers that a client's format can say.
func writtenIDs(defs []mcpconfig.Definition, notes []mcpconfig.Note) []string {
	skipped := skippedIDs(notes)
	return slices.DeleteFunc(definitionIDs(defs), func(id string) bool { return slices.Contains(skipped, id) })
}

// nothingWritten is the error where a client's format can say none of the servers; the notes have the reasons.
func nothingWritten(client mcpconfig.Client, defs []mcpconfig.Definition, notes []mcpconfig.Note) error {
	if len(writtenIDs(defs, notes)) > 0 {
		return nil
	}
	return command.Usagef("nothing was written: %s can have none of these", client.Title)
}

// atPath is an error of a file's text, which may begin with a position there.
func atPath(path string, err error) error {
	if text := err.Error(); text[0] >= '0' && text[0] <= '9' {
		return fmt.Errorf("%s:%w", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// taken refuses to replace servers that the client's file has in another form.
func (f *exportFlags) taken(client mcpconfig.Client, defs []mcpconfig.Definition, path string, text []byte) error {
	in, err := mcpconfig.Import(path, client.Name, dry())
	if err != nil { // there is none yet
		return nil
	}
	there := append(definitionIDs(in.Definitions), skippedIDs(in.Notes)...) // what indus cannot read is the client's all the same
	var names []string
	for _, d := range defs {
		if !slices.Contains(there, d.ID) {
			continue
		}
		out, _, err := mcpconfig.Export(client.Name, []mcpconfig.Definition{d}, text, dry())
		if err != nil || !bytes.Equal(out, text) {
			names = append(names, strconv.Quote(d.ID))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%s has another server of that name: %s; --force replaces it", path, strings.Join(names, ", "))
}

// skippedIDs are the servers that are not written.
func skippedIDs(notes []mcpconfig.Note) []string {
	skipped := slices.DeleteFunc(slices.Clone(notes), func(n mcpconfig.Note) bool { return n.State != mcpconfig.Skipped })
	return show.Names(skipped, func(n mcpconfig.Note) string { return n.Server })
}

func reportNotes(notes []mcpconfig.Note, s show.Streams) {
	for _, n := range notes {
		s.Reportf("%s", n)
	}
}

// entry is indus itself as a server.
func (f *exportFlags) entry() ([]mcpconfig.Definition, error) {
	if f.Trust {
		return nil, command.Usagef("--trust is not for --gateway: approve the servers with indus mcp approve")
	}
	program := "indus"
	if !f.project { // a client that has a window may have no PATH to speak of
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	args := []string{"serve", "--stdio"}
	for _, path := range f.Paths {
		full, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(full)
		}
		if err != nil {
			return nil, command.AsUsage(err)
		}
		args = append(args, "--mcp", full)
	}
	var row jsonObject
	row.add("command", text.Quote(program))
	row.add("args", listOrNone(args))
	return []mcpconfig.Definition{{ID: "indus", JSON: row.JSON()}}, nil
}

// definitions are the servers that may be given away: of a project's file those that
// are approved, or else another client would start what nobody looked at.
func (f *exportFlags) definitions(ctx context.Context, names []string, s show.Streams) ([]mcpconfig.Definition, error) {
	c, err := f.ReadDry(ctx)
	if err != nil {
		return nil, err
	}
	var defs []mcpconfig.Definition
	var known []string
	for _, r := range c.Rows {
		id := r.Server.ID
		if r.State == mcpconfig.Shadowed || slices.Contains(known, id) || id == "" {
			continue
		}
		known = append(known, id)
		r, _ = c.Find(id, func(r mcpconfig.Row) bool { return r.State != mcpconfig.Shadowed })
		if len(names) > 0 && !slices.Contains(names, id) {
			continue
		}
		d, ok := c.Definition(r)
		switch {
		case ok && (r.State == mcpconfig.Active || r.Scope != mcpconfig.Project):
			defs = append(defs, d)
		case len(names) > 0:
			return nil, command.NotStarted(r)
		case r.State != mcpconfig.Disabled:
			s.Reportf("left out: %s", fmt.Sprintf("%s is %s: %s", id, r.State, command.JoinHint(r.Reason, r.Hint)))
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, command.Usagef("no server %q is configured%s", name, command.DidYouMean(name, known))
		}
	}
	if len(defs) == 0 {
		return nil, command.Usagef("there is no server to export: indus mcp ls shows what is configured")
	}
	return defs, nil
}
