package connect

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/keys"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

// gatewayURL is the URL of indus serve if none is found.
const gatewayURL = "http://127.0.0.1:7332/mcp"

// probeTime bounds the request that shows whether the running indus serve needs a key.
const probeTime = 3 * time.Second

type connectFlags struct {
	command.ClusterFlags
	url, view                         string
	stdio, project, key, all          bool
	print, revert, yes, force, asJSON bool
	chosen                            func(flag string) bool // reports whether a flag is given
	keyViews                          []string               // the resolved --view
	keys                              *identity.Keys         // of the clients; nil: none is needed
	shared                            bool                   // the keys are in a cluster
	running                           Running
	found                             string // the URL of the indus serve of this user that runs
}

// Running returns the URLs of the user's processes of indus serve.
type Running func(context.Context) ([]string, error)

// New returns the command connect.
func New(s show.Streams, running Running) *cobra.Command {
	f := connectFlags{running: running}
	cmd := command.New(s, f.run, cobra.Command{
		Use: "connect [CLIENT]", Short: "Connect another MCP client to indus", Long: connectHelp,
		SuggestFor:        []string{"export", "install", "link"},
		Args:              command.AtMost(1, "CLIENT"),
		ValidArgsFunction: command.Complete(1, func(context.Context) []string { return command.ClientNames() }),
	})
	f.chosen = cmd.Flags().Changed
	cmd.Flags().StringVar(&f.view, "view", "", "NAME  a server, or a view in the configuration (default: all servers)")
	cmd.Flags().StringVar(&f.url, "url", "",
		"URL  the URL of indus serve (default: publicUrl of the configuration, the one that runs, or "+gatewayURL+")")
	cmd.Flags().BoolVar(&f.stdio, "stdio", false, "the client starts indus serve --stdio itself")
	cmd.Flags().BoolVar(&f.key, "key", false, `create a key for the client (default: if "auth" of the configuration
		has keys, and no authorization server)`)
	cmd.Flags().BoolVar(&f.project, "project", false, "write the client's file in this directory, not the user's own")
	cmd.Flags().BoolVar(&f.all, "all", false, `connect every client that has servers, and remove the servers from
		it that indus has`)
	cmd.Flags().BoolVar(&f.print, "print", false, "print the entry, the command line and the link, and write nothing")
	cmd.Flags().BoolVar(&f.revert, "revert", false, "undo the last connection of the client, or with --all of all")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "write without asking")
	cmd.Flags().BoolVar(&f.force, "force", false, `replace a server of the same name; with --revert, remove also an
		entry that has changed since`)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print a JSON array: the clients, the changes, or the ways of --print")
	f.Add(cmd)
	f.AddWait(cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc("view", command.Complete(math.MaxInt, func(ctx context.Context) []string {
		c, err := f.ReadDry(ctx)
		if err != nil {
			return nil
		}
		return append(viewNames(c), command.IDs(c.Servers())...)
	}))
	return cmd
}

const connectHelp = `Give another MCP client one entry: indus, with all servers or with a view. The entry is
the URL of the running "indus serve". It goes into the client's own file in the client's
format, and the rest of the file stays as it is, with its comments. The difference is
shown first, and is written after a yes. --revert restores the file, byte for byte. If the
client has written its file since, it removes the entry and puts the servers back.

Without CLIENT, it lists the clients on this machine and whether they are connected.
With --all, every client that has servers gets the entry, and loses the servers that indus
has. First import them: indus mcp import all --write.

If clients of "indus serve" authenticate by keys, the client gets a key of its own. The key
is in the client's file, which only the user can read then. In a project's file, and if
$INDUS_TOKEN is set, the entry names that variable instead. With a "cluster" in the
configuration, all its replicas have the key.

Usage:
  indus connect [FLAG]...
  indus connect CLIENT|--all [FLAG]...

Clients:
` + command.AllClients + `

Flags:
  --*

A session:
  $ indus connect cursor
  --- /home/me/.cursor/mcp.json
  +++ /home/me/.cursor/mcp.json
  +    "indus": {"url": "http://127.0.0.1:7332/mcp"}
  write it? [y/N] y
  indus: connected cursor: restart it; … --revert undoes it
  $ indus connect vscode --print --view dev
  $ indus connect --all
  $ indus connect --all --revert

Exit codes:
  0    ok
  1    the file changed at the same moment: try again; or the answer is no
  2    usage: flags, files, no such CLIENT or view, a file that changed since,
       and no terminal to ask on
  4    the cluster cannot be reached: nothing is changed
  130  interrupted`

func (f *connectFlags) run(ctx context.Context, args []string, s show.Streams) error {
	clients := mcpconfig.Clients()
	if len(args) > 0 {
		clients = show.Where(clients, func(c mcpconfig.Client) bool { return c.Name == args[0] })
		if len(clients) == 0 {
			return command.Usagef("no client %q%s; known are %s", args[0], command.DidYouMean(args[0], command.ClientNames()),
				strings.Join(command.ClientNames(), ", "))
		}
		f.print = f.print || len(clients[0].Files(nil)) == 0 && !f.revert
	}
	if err := f.check(args); err != nil {
		return err
	}
	if len(args) == 0 && !f.all {
		return f.list(s)
	}
	if f.revert {
		return f.undo(ctx, clients, s)
	}
	e, err := f.entry(ctx, clients, s)
	switch {
	case err != nil:
		return err
	case f.print:
		return f.printWay(wayOf(clients[0], e), s)
	}
	return f.write(ctx, clients, e, s)
}

// openKeys opens the keys of the configuration, which end with close.
func (f *connectFlags) openKeys(ctx context.Context, s show.Streams) (close func(), err error) {
	k, shared, err := keys.Open(ctx, &f.ClusterFlags, s)
	f.keys, f.shared = k, shared != nil
	return shared.Close, err
}

// check refuses flags that exclude each other.
func (f *connectFlags) check(args []string) error {
	named := len(args) > 0
	if !named && !f.all {
		for _, flag := range []string{
			"view", "url", "stdio", "key", "project", "print", "revert", "yes", "force", "mcp",
			"wait",
		} {
			if f.chosen(flag) {
				return command.Usagef("--%s needs a CLIENT, or --all", flag)
			}
		}
	}
	switch {
	case named && f.all:
		return command.Usagef("--all connects all clients: leave out %q", args[0])
	case f.all && (f.print || f.project || f.view != "" || f.stdio):
		return command.Usagef("--all writes the users' own files for all servers: leave out --print, --project, --view and " +
			"--stdio, or name a CLIENT")
	case f.revert && f.print:
		return command.Exclude("--revert", "--print")
	case f.stdio && (f.url != "" || f.view != "" || f.key):
		return command.Usagef("--stdio has no URL: leave out --url, --view and --key")
	case f.key && (f.project || f.print):
		return command.Usagef("--key is for the user's own file: create the key with indus key add, and set $%s to it",
			TokenVariable)
	case f.Trust:
		return command.Usagef("--trust is not for connect: approve the servers with indus mcp approve")
	}
	return nil
}

// entry returns the entry for the flags. If it needs a key that is created later, its Bearer is newKey.
func (f *connectFlags) entry(
	ctx context.Context, clients []mcpconfig.Client, s show.Streams,
) (e mcpconfig.Entry, err error) {
	_, _, err = mcpconfig.Export(clients[0].Name, mcpconfig.Entry{ID: "indus", URL: gatewayURL}, nil)
	if f.stdio || err != nil && !f.chosen("url") && f.view == "" && !f.all {
		if !f.stdio {
			s.Reportf("the file of %s has commands and no URLs: it starts indus serve --stdio itself", clients[0].Title)
		}
		return f.commandEntry()
	}
	c, err := f.ReadDry(ctx)
	if err != nil {
		return e, err
	}
	address, err := f.address(ctx, c, s)
	if err != nil {
		return e, err
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return e, command.Usagef("--url %q: write the URL that indus serve reports, such as %s", address, gatewayURL)
	}
	view := ""
	if f.view != "" {
		if view, err = f.viewPath(c); err != nil {
			return e, err
		}
		f.keyViews = []string{view}
	}
	if e, err = NewEntry(u.String(), view); err != nil {
		return e, command.AsUsage(err)
	}
	e.Replace = f.force
	needsKey := f.key || f.refused(ctx, address) ||
		c.Auth != nil && slices.Contains(c.Auth.Methods, "keys") && len(c.Auth.Issuers) == 0 &&
			c.Auth.Introspection == nil
	switch {
	case f.key, needsKey && !f.print && !f.project && os.Getenv(TokenVariable) == "":
		e.Bearer = newKey
	case needsKey || os.Getenv(TokenVariable) != "":
		e.Token = TokenVariable
	}
	if needsKey && e.Token != "" && os.Getenv(TokenVariable) == "" {
		s.Reportf("the client takes its key from $%s: indus key add%s creates a key", TokenVariable, f.RepeatPaths())
	}
	return e, nil
}

// address returns the URL of indus serve.
func (f *connectFlags) address(ctx context.Context, c *mcpconfig.Config, s show.Streams) (string, error) {
	switch {
	case f.url != "":
		return f.url, nil
	case c.Auth != nil && c.Auth.URL != "":
		return strings.TrimSuffix(c.Auth.URL, "/") + "/mcp", nil
	}
	urls, err := f.running(ctx)
	switch {
	case err != nil:
		return "", err
	case len(urls) > 1:
		return "", command.Usagef("several \"indus serve\" run, at %s: select one with --url", strings.Join(urls, ", "))
	case len(urls) == 1:
		s.Reportf("the client connects to the running \"indus serve\" at %s", urls[0])
		f.found = urls[0]
		return urls[0], nil
	}
	return gatewayURL, nil
}

// refused reports whether the user's running indus serve needs a key: it refuses a request without one, and names no
// authorization server at which a client could sign in.
func (f *connectFlags) refused(ctx context.Context, address string) bool {
	if f.found == "" || f.found != address {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusUnauthorized &&
		!strings.Contains(answer.Header.Get("WWW-Authenticate"), "resource_metadata")
}

// ownCommand returns the words that start this program also after an upgrade: its path on the PATH if it is the same
// file, because a package manager may keep each version in a directory of its own, or npx with the package.
func ownCommand() ([]string, error) {
	running, err := os.Executable()
	if err != nil {
		return nil, err
	}
	slashes := filepath.ToSlash(running)
	if strings.Contains(slashes, "/_npx/") {
		return []string{"npx", "-y", "indus-mcp"}, nil
	}
	if strings.Contains(slashes, "/go-build") && strings.Contains(slashes, "/exe/") {
		return nil, command.Usagef("go run removes its program when it ends: build indus, and connect with that program")
	}
	self, err := os.Stat(running)
	if err != nil {
		return nil, err
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, filepath.Base(running))
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && os.SameFile(self, info) {
			return []string{path}, nil
		}
	}
	return []string{running}, nil
}

// commandEntry returns the entry of indus as a command that the client starts.
func (f *connectFlags) commandEntry() (mcpconfig.Entry, error) {
	e := mcpconfig.Entry{ID: "indus", Command: "indus", Args: []string{"serve", "--stdio"}, Replace: f.force}
	if !f.project { // a graphical client may have a minimal PATH
		words, err := ownCommand()
		if err != nil {
			return e, err
		}
		e.Command, e.Args = words[0], append(words[1:], e.Args...)
	}
	for _, path := range f.Paths {
		full, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(full)
		}
		if err != nil {
			return e, command.AsUsage(err)
		}
		e.Args = append(e.Args, "--mcp", full)
	}
	return e, nil
}

// viewPath returns the path of the view below /mcp. A view wins over a server of the same name. "@NAME" means a view.
func (f *connectFlags) viewPath(c *mcpconfig.Config) (string, error) {
	views, ids := viewNames(c), command.IDs(c.Servers()) // each server is a view too
	name, isView := strings.CutPrefix(f.view, "@")
	switch {
	case slices.Contains(views, name):
		return "@" + name, nil
	case !isView && slices.Contains(ids, name):
		return name, nil
	}
	return "", command.Usagef("no view and no server %q is configured%s", f.view,
		command.DidYouMean(name, append(views, ids...)))
}

func viewNames(c *mcpconfig.Config) []string {
	return show.Names(c.Views, func(v mcpconfig.View) string { return v.Name })
}

// printWay prints the ways to connect a client. The entry is on stdout, and the other ways are messages.
func (f *connectFlags) printWay(w Way, s show.Streams) error {
	if f.asJSON {
		return s.WriteIndented([]Way{w})
	}
	if w.Text == "" {
		return command.Usagef("%s", strings.Join(w.Notes, "; "))
	}
	for _, n := range w.Notes {
		s.Reportf("%s", n)
	}
	if w.Line != "" {
		s.Reportf("or run: %s", w.Line)
	}
	if w.Link != "" {
		s.Reportf("or open: %s", w.Link)
	}
	if w.Bundle != "" {
		s.Reportf("or open the MCP bundle (.mcpb) of %s in %s", w.Bundle, w.Title)
	}
	return s.WriteText(w.Text)
}
