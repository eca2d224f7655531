package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

type importFlags struct {
	scopeFlags
	from, prefix string
	renames      []string
	write, force bool
	box          newBox
	used         []string // the applied entries of renames
}

func newImport(s show.Streams) *cobra.Command {
	var f importFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "import [CLIENT|all|FILE]", Short: "Copy the servers of another MCP client", Long: importHelp,
		Args: command.AtMost(1, "CLIENT or FILE"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return append(command.ClientNames(), allClients), cobra.ShellCompDirectiveDefault
		},
	})
	cmd.Flags().BoolVar(&f.write, "write", false, "write the servers that are shown")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace servers of the same name; otherwise the existing servers stay")
	cmd.Flags().StringVar(&f.prefix, "prefix", "", "P  add P to the front of a name that is taken: 'roo-', or '{client}-'")
	cmd.Flags().Var(command.Repeated(&f.renames), "rename",
		`OLD=NEW  import the server OLD as NEW; with all, CLIENT/OLD names the server of
		one CLIENT; may be repeated`)
	f.box.addTo(cmd, `the reach of commands without a sandbox: package, strict or off (default), as with
		indus mcp add`)
	cmd.Flags().StringVar(&f.from, "from", "", "CLIENT  the client that wrote FILE, if the contents do not show it")
	f.addJSON(cmd, "print JSON: an array of files, or with CLIENT an object")
	f.addWriting(cmd)
	_ = cmd.RegisterFlagCompletionFunc("from",
		cobra.FixedCompletions(command.ClientNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// allClients is the argument that selects all clients.
const allClients = "all"

const importHelp = `Copy the servers of another MCP client into a file of indus. Without CLIENT, it lists
the files of all clients on this machine. With CLIENT, it shows the servers in the format
of indus, with secrets hidden. With --write, it writes them.

Usage:
  indus mcp import [FLAG]...
  indus mcp import CLIENT|all|FILE [FLAG]...

The user's own file gets the client's user-wide servers. --project imports the servers
of the client's files in this directory, and --mcp imports both. If the client has two
servers with one name, the server that the client would start is imported. Servers that
are imported into a project's file wait for approval. "all" imports from every CLIENT
that has a file, in the order below. A file that cannot be read is skipped.

If another server has the name already, it stays, and the differences are shown.

Clients:
` + command.AllClients + `

A session:
  $ indus mcp import
  CLIENT  FILE                       SERVERS
  cursor  /home/me/.cursor/mcp.json  github, docs
  $ indus mcp import cursor --write
  {
    "servers": {
      "github": {"command": "npx", "args": […], "env": {"TOKEN": "<secret>"}},
    }
  }
  indus: kept the server "docs" that is there already; --force replaces it, …
  indus:   - url: "https://old.example.com/mcp"
  indus:   + url: "https://example.com/mcp"
  indus: wrote 1 server to /home/me/.config/indusvx/mcp.json

Exit codes:
  0    ok
  1    the file changed at the same moment: try again
  2    usage: flags, no such CLIENT or FILE, and files that cannot be read
  130  interrupted`

// clientSurvey is an importable file of a client.
type clientSurvey struct {
	Client  string           `json:"client"`
	Title   string           `json:"title"`
	File    string           `json:"file"`
	Servers []string         `json:"servers"`
	Notes   []mcpconfig.Note `json:"notes"`
	Error   string           `json:"error,omitempty"`
}

// survey lists the files that can be imported.
func (f *importFlags) survey(ctx context.Context, s show.Streams) error {
	for _, name := range []string{"write", "force", "from", "prefix", "rename", "sandbox", "user", "project", "mcp"} {
		if f.cmd.Flags().Changed(name) {
			return command.Usagef("--%s needs a CLIENT or FILE to import from", name)
		}
	}
	files, err := readClients(ctx, mcpconfig.Clients(), func(c mcpconfig.Client) []string { return c.Files(dryOptions()) })
	if err != nil {
		return err
	}
	found := []clientSurvey{}
	for _, r := range files {
		at := clientSurvey{
			Client: r.client.Name, Title: r.client.Title, File: r.file, Servers: []string{}, Notes: []mcpconfig.Note{},
		}
		switch {
		case errors.Is(r.err, mcpconfig.ErrNoServer):
			continue
		case r.err != nil:
			at.Error = r.err.Error()
		default:
			at.Servers = append(at.Servers, show.Names(r.in.Definitions, func(d mcpconfig.Definition) string { return d.ID })...)
			at.Notes = append(at.Notes, r.in.Notes...)
		}
		found = append(found, at)
	}
	if f.asJSON {
		return s.WriteIndented(found)
	}
	return reportSurvey(found, s)
}

func reportSurvey(found []clientSurvey, s show.Streams) error {
	t := &show.Table{}
	t.Add("CLIENT", "FILE", "SERVERS")
	for _, at := range found {
		t.Add(at.Client, at.File, strings.Join(at.Servers, ", "))
	}
	err := s.PrintTable(t, "there is no file of another client; indus mcp import FILE reads a file elsewhere")
	if err != nil {
		return err
	}
	for _, at := range found {
		switch {
		case at.Error != "":
			s.Reportf("%s", at.Error)
		case len(at.Notes) > 0:
			s.Reportf("%s: %s, which indus mcp import %s shows", at.File, show.Count(len(at.Notes), "note"), at.Client)
		}
	}
	return nil
}

// clientFile is a file of a client, with the result of reading it.
type clientFile struct {
	client mcpconfig.Client
	file   string
	in     *mcpconfig.Imported
	err    error
}

// readClients reads the existing files of clients. A shared file belongs to the first client with a matching format.
func readClients(
	ctx context.Context, clients []mcpconfig.Client, files func(mcpconfig.Client) []string,
) (out []clientFile, err error) {
	for _, client := range clients {
		for _, file := range files(client) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			isRead := func(r clientFile) bool { return r.file == file && !errors.Is(r.err, mcpconfig.ErrNoServer) }
			if slices.ContainsFunc(out, isRead) {
				continue
			}
			in, err := mcpconfig.Import(file, client.Name, dryOptions())
			if !errors.Is(err, fs.ErrNotExist) {
				out = append(out, clientFile{client, file, in, err})
			}
		}
	}
	return out, nil
}

// importResult is the output of import.
type importResult struct {
	From    []string         `json:"from"` // files
	To      string           `json:"to"`
	Written bool             `json:"written"`
	Servers []importedServer `json:"servers"`
	Notes   []mcpconfig.Note `json:"notes"`
}

// importedServer is a server, with the result of its import.
type importedServer struct {
	Server string `json:"server"`
	Was    string `json:"was,omitempty"` // its name in File, if it was renamed
	File   string `json:"file"`
	Client string `json:"client"`
	// Becomes is the result: "added", "replaced", "kept" (the existing server stays), "same" (the existing server is
	// equal) or "lost" (another imported file comes first).
	Becomes string          `json:"becomes"`
	Row     json.RawMessage `json:"row"`
	There   json.RawMessage `json:"there,omitempty"` // the row that stays instead

	definition mcpconfig.Definition
	advice     []mcpconfig.Note
	diff       []string
	first      string // the imported file that brought the same server before; "" if none did
}

func (f *importFlags) run(ctx context.Context, args []string, s show.Streams) error {
	if len(args) == 0 {
		return f.survey(ctx, s)
	}
	source := args[0]
	path, err := f.path()
	if err == nil {
		err = f.box.check()
	}
	if err != nil {
		return err
	}
	for _, rename := range f.renames {
		if old, renamed, ok := strings.Cut(rename, "="); !ok || old == "" {
			return command.Usagef("--rename takes OLD=NEW")
		} else if !isServerName(renamed) {
			return command.Usagef("--rename %s: %q is no name for a server", old, renamed)
		}
	}
	x := &importResult{From: []string{}, To: path, Servers: []importedServer{}, Notes: []mcpconfig.Note{}}
	if err := f.gather(ctx, x, source); err != nil {
		return err
	}
	if f.box.word != "" {
		f.confine(x)
	}
	if err := f.edit(ctx, x, s); err != nil {
		return err
	}
	if f.asJSON {
		return s.WriteIndented(x)
	}
	return f.report(x, source, s)
}

// confine gives the commands without a sandbox that of --sandbox.
func (f *importFlags) confine(x *importResult) {
	for i := range x.Servers {
		server := &x.Servers[i]
		if row := server.definition.JSON; hasMember(row, "command") && !hasMember(row, boxField) {
			confined, _, err := f.box.choose(row)
			if err == nil {
				server.definition.JSON, server.Row = confined, secret.Definition(confined)
			}
		}
	}
}

// edit determines the result for each server. With --write it also writes the file.
func (f *importFlags) edit(ctx context.Context, x *importResult, s show.Streams) error {
	x.Written = f.write
	_, err := editFile(ctx, s, f.write, func() (string, error) { return x.To, nil }, func(e *mcpconfig.Edit) error {
		origins := map[string]string{} // the imported file of each name so far
		for i := range x.Servers {
			if err := f.resolveServer(e, &x.Servers[i], origins); err != nil {
				return err
			}
		}
		for _, rename := range f.renames {
			if old, _, _ := strings.Cut(rename, "="); !slices.Contains(f.used, rename) {
				return command.Usagef("--rename %s: there is no server %q to import", rename, old)
			}
		}
		return nil
	})
	return err
}

// gather reads the files of a client, of all clients, or one file. For all clients, an unreadable file becomes a note.
func (f *importFlags) gather(ctx context.Context, x *importResult, source string) error {
	clients := slices.DeleteFunc(mcpconfig.Clients(), func(c mcpconfig.Client) bool {
		return c.Name != source && source != allClients
	})
	switch {
	case len(clients) == 0:
		return f.gatherFile(x, source)
	case source == allClients && f.from != "":
		return command.Usagef("--from is for a FILE, and all are clients")
	}
	files, err := readClients(ctx, clients, f.filesOf)
	if err != nil {
		return err
	}
	var none error
	for _, r := range files {
		switch {
		case r.err == nil:
			x.add(r.in, f.winningFiles(r.client.Name))
		case errors.Is(r.err, mcpconfig.ErrNoServer): // the file has other settings only
			none = cmp.Or(none, r.err)
		case source == allClients:
			x.Notes = append(x.Notes, mcpconfig.Note{Reason: "left out: " + r.err.Error()})
		default:
			return command.AsUsage(r.err)
		}
	}
	switch {
	case len(x.From) > 0 || len(x.Notes) > 0:
		return nil
	case source == allClients:
		return command.Usagef("no client has servers here; indus mcp import FILE reads a file elsewhere")
	case none != nil:
		return command.Usagef("%w", none)
	}
	return command.Usagef("%s has no file here: looked for %s", source, strings.Join(f.filesOf(clients[0]), ", "))
}

func (f *importFlags) gatherFile(x *importResult, file string) error {
	if f.from != "" && !slices.Contains(command.ClientNames(), f.from) {
		return command.Usagef("no client %q%s", f.from, command.DidYouMean(f.from, command.ClientNames()))
	}
	in, err := mcpconfig.Import(file, f.from, dryOptions())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return command.Usagef("%q is neither a client nor a file%s; indus mcp import lists the files", file,
			command.DidYouMean(file, command.ClientNames()))
	case err != nil:
		return command.AsUsage(err)
	}
	x.add(in, nil)
	return nil
}

// winningFiles returns, by name of server, the file from which the client takes that server. It is nil unless files of
// a project and of the user are read together.
func (f *importFlags) winningFiles(client string) map[string]string {
	if f.file == "" {
		return nil
	}
	files := map[string]string{}
	if all, err := mcpconfig.Import("", client, dryOptions()); err == nil {
		for n, d := range all.Definitions {
			files[d.ID] = all.From[n]
		}
	}
	return files
}

// filesOf returns the files of a client that the flags select.
func (f *importFlags) filesOf(c mcpconfig.Client) []string {
	project, user := c.SplitFiles(dryOptions())
	switch {
	case f.file != "":
		return c.Files(dryOptions())
	case f.project:
		return project
	}
	return user
}

// add adds the servers of a file. Of servers with one name, the winner's stays, or else the first.
func (x *importResult) add(in *mcpconfig.Imported, winners map[string]string) {
	x.From = append(x.From, in.Files...)
	x.Notes = append(x.Notes, in.Notes...)
	for _, d := range in.Definitions {
		server := importedServer{
			Server: d.ID, File: in.File, Client: in.Client, Row: secret.Definition(d.JSON), definition: d,
		}
		isSame := func(o importedServer) bool {
			return o.Server == d.ID && o.Client == in.Client && o.Becomes == ""
		}
		if file, ok := winners[d.ID]; ok && file != in.File || slices.ContainsFunc(x.Servers, isSame) {
			server.Becomes = "lost"
		}
		x.Servers = append(x.Servers, server)
	}
}

// resolveServer determines the result for a server, and edits the text. origins has the file that brought each name so
// far.
func (f *importFlags) resolveServer(e *mcpconfig.Edit, server *importedServer, origins map[string]string) error {
	if server.Becomes == "lost" {
		return nil
	}
	name := server.Server
	for _, rename := range f.renames {
		if old, renamed, _ := strings.Cut(rename, "="); old == server.Server || old == server.Client+"/"+server.Server {
			name = renamed
			f.used = append(f.used, rename)
		}
	}
	f.tryName(e, server, name, origins)
	if f.prefix != "" && (server.Becomes == "kept" || server.Becomes == "lost") {
		f.tryName(e, server, strings.ReplaceAll(f.prefix, "{client}", server.Client)+name, origins)
	}
	if server.Becomes != "added" && server.Becomes != "replaced" {
		return nil
	}
	if err := e.Set(server.definition); err != nil {
		return command.Usagef("%s: %w", server.File, err)
	}
	if _, taken := origins[server.Server]; !taken {
		origins[server.Server] = server.File
	}
	_, advice := e.Check(server.Server, dryOptions())
	for _, id := range e.IDs() {
		if id != server.Server && strings.EqualFold(id, server.Server) {
			advice = append(advice, mcpconfig.Note{Reason: fmt.Sprintf("there is %q too, which differs in case alone", id)})
		}
	}
	// The import has noted unset variables.
	server.advice = slices.DeleteFunc(advice, func(n mcpconfig.Note) bool { return n.State != "" })
	return nil
}

// tryName determines the result for a server under a name.
func (f *importFlags) tryName(e *mcpconfig.Edit, server *importedServer, name string, origins map[string]string) {
	server.Was = cmp.Or(server.Was, server.Server)
	if name == server.Was {
		server.Was = ""
	}
	server.Server, server.definition.ID = name, name
	server.Becomes, server.There, server.diff = "added", nil, nil
	if !slices.Contains(e.IDs(), name) {
		return
	}
	existing, _ := e.Definition(name)
	server.diff = differingMembers(existing.JSON, server.definition.JSON)
	server.first = origins[name]
	switch {
	case len(server.diff) == 0:
		server.Becomes = "same"
	case server.first != "":
		server.Becomes, server.There = "lost", secret.Definition(existing.JSON)
	case f.force:
		server.Becomes = "replaced"
	default:
		server.Becomes, server.There = "kept", secret.Definition(existing.JSON)
	}
}

// report prints the servers that were written, or would be.
func (f *importFlags) report(x *importResult, source string, s show.Streams) error {
	var servers wire.Object
	reportNotes(x.Notes, s)
	var written []string
	for _, server := range x.Servers {
		switch server.Becomes {
		case "lost", "kept":
			reportKept(server, source, s)
		case "same":
			there := "exists already and is the same"
			if server.first != "" {
				there = "is the same in " + server.first
			}
			s.Reportf("%s: server %q %s", server.File, server.Server, there)
		default:
			servers = servers.Raw(server.Server, server.Row)
			written = append(written, server.Server)
		}
	}
	if len(written) == 0 {
		s.Reportf("there is nothing to write to %s", x.To)
		return nil
	}
	whole := wire.Object{}.Raw("servers", servers.JSON()).JSON()
	if err := s.WriteText(string(show.EscapeHarmful([]byte(layoutJSON(whole, ""))))); err != nil {
		return err
	}
	if !x.Written {
		s.Reportf("nothing is written; --write writes it to %s", x.To)
		return nil
	}
	s.Reportf("wrote %s to %s", show.Count(len(written), "server"), x.To)
	for _, server := range x.Servers {
		if server.Becomes == "added" || server.Becomes == "replaced" {
			reportPlainSecrets(server.definition, x.To, s)
			for _, n := range server.advice {
				s.Reportf("%s: %s", server.Server, command.JoinHint(n.Reason, n.Hint))
			}
		}
	}
	if project, err := mcpconfig.PathOf(mcpconfig.Project, dryOptions()); err == nil && command.SameFile(project, x.To) {
		s.Reportf("they wait for approval: indus mcp approve")
	}
	return nil
}

func reportNotes(notes []mcpconfig.Note, s show.Streams) {
	for _, n := range notes {
		s.Reportf("%s", n)
	}
}
