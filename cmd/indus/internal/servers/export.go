package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

type exportFlags struct {
	command.ConfigFlags
	to, via, view                 string
	write, project, force, asJSON bool
}

func newExport(s show.Streams) *cobra.Command {
	var f exportFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "export --to CLIENT", Short: "Add indus to the configuration of another MCP client", Long: exportHelp,
		Args:              cobra.ArbitraryArgs, // check has a better error for them
		ValidArgsFunction: cobra.NoFileCompletions,
	})
	cmd.Flags().StringVar(&f.to, "to", "", "CLIENT  the client, one of "+strings.Join(writableNames(), ", "))
	cmd.Flags().BoolVar(&f.write, "write", false,
		"merge it into the client's own file: the user's, unless --project is given")
	cmd.Flags().BoolVar(&f.project, "project", false, "with --write, the client's file in this directory")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace a server of the same name in it")
	cmd.Flags().StringVar(&f.via, "via", "",
		`URL  the URL of a running indus serve; "gateway" is http://127.0.0.1:7332/mcp`)
	cmd.Flags().StringVar(&f.view, "view", "", "NAME  with --via, the name of a server or of a view in the configuration")
	cmd.Flags().BoolVar(&f.asJSON, "json", false,
		`print a JSON object: client, servers, notes, and with --write file and changed,
		else text, which is in the client's format`)
	f.Add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("via",
		cobra.FixedCompletions([]string{viaGateway}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("view", command.Complete(math.MaxInt, func(ctx context.Context) []string {
		views, ids, _ := f.views(ctx)
		return append(views, ids...)
	}))
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(writableNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// writableClients returns the clients that [mcpconfig.Export] can write for.
func writableClients() []mcpconfig.Client {
	return slices.DeleteFunc(mcpconfig.Clients(), func(c mcpconfig.Client) bool { return !c.Writes })
}

func writableNames() []string {
	return show.Names(writableClients(), func(c mcpconfig.Client) string { return c.Name })
}

const exportHelp = `Print an entry for another MCP client that runs indus serve --stdio. Through it,
the client has every configured server. It is in the client's format. With --write, the
entry is merged into the client's file, and its comments and other contents stay. So
servers are configured in one place for any number of clients.

With --via, the entry is the URL of a running gateway. With --view, it is the URL of
a view: one server, or a name in "views" of the configuration. If
$INDUS_TOKEN is set, the client sends it as that variable.

Usage:
  indus mcp export --to CLIENT [FLAG]...
  indus mcp export --to CLIENT --via gateway|URL [--view SERVER|NAME] [FLAG]...

A session:
  $ indus mcp export --to cursor >mcp.json
  $ indus mcp export --to vscode --via gateway --view dev
  $ indus mcp export --to cursor --write
  indus: wrote indus to /home/me/.cursor/mcp.json; start the client again

Exit codes:
  0    ok
  1    the file changed at the same moment: try again
  2    usage: flags, files, and no such CLIENT or view
  130  interrupted`

func (f *exportFlags) run(ctx context.Context, names []string, s show.Streams) error {
	client, err := f.client()
	if err != nil {
		return err
	}
	if err := f.check(names); err != nil {
		return err
	}
	var entry mcpconfig.Entry
	if f.via != "" {
		entry, err = f.urlEntry(ctx)
	} else {
		entry, err = f.commandEntry()
	}
	if err != nil {
		return err
	}
	entry.Replace = f.force
	out := exportResult{Client: client.Name, Servers: []string{entry.ID}}
	if f.write {
		err = f.merge(ctx, client, entry, &out, s)
	} else {
		err = f.print(client, entry, &out, s)
	}
	if err != nil || !f.asJSON {
		return err
	}
	return s.WriteIndented(out)
}

// check refuses flags and arguments that exclude each other.
func (f *exportFlags) check(names []string) error {
	switch {
	case f.via == "" && f.view != "":
		return command.Usagef("--view is part of a running gateway: add --via gateway, or --via URL")
	case f.via != "" && len(names) > 0:
		return command.Usagef("--via exports all servers as one entry: leave out %q, or write --view %[1]s", names[0])
	case len(names) > 0:
		return command.Usagef("export writes all servers as one entry: leave out %q, or write --via gateway --view %[1]s",
			names[0])
	case f.project && !f.write:
		return command.Usagef("--project needs --write: it selects the file to write")
	}
	return nil
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
	return mcpconfig.Client{}, command.Usagef("no client %q to write for%s; known are %s", f.to,
		command.DidYouMean(f.to, known), strings.Join(known, ", "))
}

// print writes the client's format to stdout. With --json it only adds the text to out.
func (f *exportFlags) print(client mcpconfig.Client, entry mcpconfig.Entry, out *exportResult, s show.Streams) error {
	raw, notes, err := mcpconfig.Export(client.Name, entry, nil)
	if err != nil {
		return command.AsUsage(err)
	}
	reportNotes(notes, s)
	text := string(raw)
	out.Notes, out.Text = notes, &text
	if f.asJSON {
		return nil
	}
	return s.WriteText(text)
}

// merge writes the entry into the client's own file.
func (f *exportFlags) merge(
	ctx context.Context, client mcpconfig.Client, entry mcpconfig.Entry, out *exportResult, s show.Streams,
) error {
	project, files := clientFiles(client)
	location := "of the user's"
	if f.project {
		files, location = project, "in a project"
	}
	if len(files) == 0 {
		return command.Usagef("%s has no file %s", client.Title, location)
	}
	path, changed := existingFile(files), false
	unlock, err := mcpconfig.Lock(ctx, dryOptions())
	if err != nil {
		return err
	}
	err = mcpconfig.Rewrite(path, func(text []byte) ([]byte, error) {
		merged, notes, err := mcpconfig.Export(client.Name, entry, text)
		out.Notes, changed = notes, !bytes.Equal(merged, text)
		switch {
		case errors.Is(err, fs.ErrExist):
			return nil, fmt.Errorf("%s has another server of that name: %q; --force replaces it", path, entry.ID)
		case err != nil && err.Error()[0] >= '0' && err.Error()[0] <= '9': // the message begins with a position
			return nil, fmt.Errorf("%s:%w", path, err)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return merged, nil
	})
	unlock() // before writing to stderr, which may block
	reportNotes(out.Notes, s)
	switch {
	case errors.Is(err, mcpconfig.ErrChanged):
		return err
	case err != nil:
		return command.AsUsage(err)
	case changed:
		s.Reportf("wrote %s to %s; restart the client", entry.ID, path)
	default:
		s.Reportf("%s has it already: nothing was written", path)
	}
	out.File, out.Changed = path, &changed
	return nil
}

// exportResult is the result of an export in the output of --json.
type exportResult struct {
	Client  string           `json:"client"`
	Servers []string         `json:"servers"`
	Notes   []mcpconfig.Note `json:"notes,omitempty"`
	Text    *string          `json:"text,omitempty"`
	File    string           `json:"file,omitempty"`    // with --write
	Changed *bool            `json:"changed,omitempty"` // with --write; false if the file has the entry already
}

func reportNotes(notes []mcpconfig.Note, s show.Streams) {
	for _, n := range notes {
		s.Reportf("%s", n)
	}
}

// commandEntry returns the entry of indus as a command that the client starts.
func (f *exportFlags) commandEntry() (mcpconfig.Entry, error) {
	entry := mcpconfig.Entry{ID: "indus", Command: "indus", Args: []string{"serve", "--stdio"}}
	if f.Trust {
		return entry, command.Usagef("--trust is not for export: approve the servers with indus mcp approve")
	}
	if !f.project { // a graphical client may have a minimal PATH
		program, err := os.Executable()
		if err != nil {
			return entry, err
		}
		entry.Command = program
	}
	for _, path := range f.Paths {
		full, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(full)
		}
		if err != nil {
			return entry, command.AsUsage(err)
		}
		entry.Args = append(entry.Args, "--mcp", full)
	}
	return entry, nil
}

const (
	viaGateway    = "gateway"
	gatewayURL    = "http://127.0.0.1:7332/mcp"
	tokenVariable = "INDUS_TOKEN"
)

// urlEntry returns the entry of a running indus serve, or of one of its views.
func (f *exportFlags) urlEntry(ctx context.Context) (mcpconfig.Entry, error) {
	entry := mcpconfig.Entry{ID: "indus"}
	at := f.via
	if at == viaGateway {
		at = gatewayURL
	}
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return entry, command.Usagef("--via %q: write %s, or the URL that indus serve reports, such as %s", f.via, viaGateway,
			gatewayURL)
	}
	if f.view != "" {
		part, err := f.viewPath(ctx)
		if err != nil {
			return entry, err
		}
		u = u.JoinPath(part)
		entry.ID += "-" + strings.TrimPrefix(f.view, "@")
	}
	entry.URL = u.String()
	if os.Getenv(tokenVariable) != "" {
		entry.Token = tokenVariable
	}
	return entry, nil
}

// viewPath returns the path of the view below /mcp. A view wins over a server of the same name. "@NAME" means a view.
func (f *exportFlags) viewPath(ctx context.Context) (string, error) {
	views, ids, err := f.views(ctx)
	if err != nil {
		return "", err
	}
	name, isView := strings.CutPrefix(f.view, "@")
	switch {
	case slices.Contains(views, name):
		return "@" + name, nil
	case !isView && slices.Contains(ids, name):
		return url.PathEscape(name), nil
	}
	return "", command.Usagef("no view and no server %q is configured%s", f.view,
		command.DidYouMean(name, append(views, ids...)))
}

// views returns the names of the configured views, and the ids of the servers. Each server is a view too.
func (f *exportFlags) views(ctx context.Context) (names, servers []string, err error) {
	c, err := f.ReadDry(ctx)
	if err != nil {
		return nil, nil, err
	}
	return show.Names(c.Views, func(v mcpconfig.View) string { return v.Name }), command.IDs(c.Servers()), nil
}
