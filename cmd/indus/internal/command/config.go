package command

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

// FilesFound returns the files of a configuration that were searched and exist.
func FilesFound(c *mcpconfig.Config) []string {
	return slices.DeleteFunc(slices.Clone(c.Searched), func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil
	})
}

// LockFiles waits until no other process changes configuration files, and shows that it waits. unlock ends the lock.
func LockFiles(ctx context.Context, s show.Streams) (unlock func(), err error) {
	defer s.Waiting("waiting for another indus that changes the configuration")()
	return mcpconfig.Lock(ctx, &mcpconfig.Options{Dry: true})
}

// CompleteServers completes the ids of servers that may start, for a command that takes up to most servers.
func (f *ConfigFlags) CompleteServers(most int) cobra.CompletionFunc {
	return Complete(most, func(ctx context.Context) []string { return IDs(f.dryServers(ctx)) })
}

// dryServers returns the servers that may start. It runs no command and sends no request.
func (f *ConfigFlags) dryServers(ctx context.Context) []config.Server {
	c, err := f.ReadDry(ctx)
	if err != nil {
		return nil
	}
	return c.Servers()
}

// Complete returns a completion of up to most words. The offers come from files only: completion starts no server.
func Complete(most int, offers func(context.Context) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return WithPrefix(typed, offers(cmd.Context()), args...), cobra.ShellCompDirectiveNoFileComp
	}
}

// WithPrefix returns the offers that begin with the typed text and are not in given. The word of an offer ends at a
// tab.
func WithPrefix(typed string, offers []string, given ...string) []string {
	return slices.DeleteFunc(offers, func(o string) bool {
		word, _, _ := strings.Cut(o, "\t")
		return !strings.HasPrefix(word, typed) || show.Clean(word) != word || slices.Contains(given, word)
	})
}

// ConfigFlags holds the flags of every command that reads the configuration.
type ConfigFlags struct {
	Paths []string
	Trust bool
	Only  func(id string) bool // selects the servers that the command needs; nil selects all
	Dry   bool                 // start no server and run no ${cmd:…}
	// Clustered states that the process shares state, whatever the configuration has.
	Clustered bool

	hasCluster bool // of the configuration that Read read last
}

// Add adds the flags.
func (f *ConfigFlags) Add(cmd *cobra.Command) {
	cmd.Flags().Var(Listed(&f.Paths), "mcp",
		`PATH  a configuration file, which is thereby approved, or a directory to search for one; may be
		repeated, and the last has precedence (default: the working directory, then the user's own files)`)
	cmd.Flags().BoolVar(&f.Trust, "trust", false, "start the servers of a project's file without approval")
}

// RepeatPaths returns the flags --mcp for a command that a message suggests.
func (f *ConfigFlags) RepeatPaths() string {
	repeat := ""
	for _, path := range f.Paths {
		repeat += " --mcp " + show.ShellWord(path)
	}
	return repeat
}

// Read reads the configuration. An error of reading is a usage error.
func (f *ConfigFlags) Read(ctx context.Context) (*mcpconfig.Config, error) {
	c, err := mcpconfig.Read(ctx, f.Paths, &mcpconfig.Options{
		Trust: f.Trust, Only: f.Only, Dry: f.Dry, Clustered: f.Clustered,
	})
	f.hasCluster = err == nil && c.Cluster != nil
	if err != nil && ctx.Err() == nil {
		err = AsUsage(err)
	}
	return c, err
}

// ReportLocal reports that a command does not use the cluster of the configuration, if there is one.
func (f *ConfigFlags) ReportLocal(s show.Streams) (hasCluster bool) {
	if f.hasCluster {
		s.Reportf(`this uses the sign-ins and approved tools of this machine, not those of the "cluster"`)
	}
	return f.hasCluster
}

// ReadDry is like Read for all servers, but runs no ${cmd:…} and reads no ${file:…} outside the project.
func (f *ConfigFlags) ReadDry(ctx context.Context) (*mcpconfig.Config, error) {
	dry := *f
	dry.Only, dry.Dry = nil, true
	return dry.Read(ctx)
}

// Load is like Read, and reports the notes for which cares returns true.
func (f *ConfigFlags) Load(
	ctx context.Context, s show.Streams, cares func(mcpconfig.Note) bool,
) (*mcpconfig.Config, error) {
	c, err := f.Read(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range c.Notes {
		if cares(n) {
			s.Reportf("%s", n)
		}
	}
	if len(c.Rows) == 0 && len(c.Notes) == 0 {
		s.Reportf(
			"no MCP servers are configured: indus mcp add adds one, indus mcp import copies the servers of a client")
	}
	return c, nil
}

// NotesOutsideRows selects the notes that a list of the rows does not show.
func NotesOutsideRows(n mcpconfig.Note) bool {
	return n.State == "" || n.State == mcpconfig.Shadowed
}

// UnexpectedNotes excludes the notes of disabled and of held rows. [ReportHeld] reports held rows in one line.
func UnexpectedNotes(n mcpconfig.Note) bool {
	return n.State != mcpconfig.Disabled && n.State != mcpconfig.Held
}

// NotesAbout returns a filter for notes on whole files, and for notes on active rows for which concerns returns true.
func NotesAbout(concerns func(config.Server) bool) func(mcpconfig.Note) bool {
	return func(n mcpconfig.Note) bool {
		return n.Row == 0 || n.State == "" && concerns(config.Server{ID: n.Server})
	}
}

// ReportHeld reports, on one line for each file and reason, which servers wait for approval and how to approve them.
func ReportHeld(c *mcpconfig.Config, s show.Streams) {
	type reason struct{ file, reason, hint string }
	for g, rows := range show.GroupBy(c.Held(), func(r mcpconfig.Row) reason { return reason{r.File, r.Reason, r.Hint} }) {
		ids := show.Names(rows, func(r mcpconfig.Row) string { return r.Server.ID })
		s.Reportf("%s", g.file+": not started: "+strings.Join(ids, ", ")+": "+JoinHint(g.reason, g.hint))
	}
}

// NotStarted returns the error for a server that is configured and may not start.
func NotStarted(r mcpconfig.Row) error {
	if r.State == mcpconfig.Disabled {
		return Usagef("server %q is disabled at %s:%d", r.Server.ID, r.File, r.Line)
	}
	return Usagef("server %q is %s at %s:%d: %s", r.Server.ID, r.State, r.File, r.Line, JoinHint(r.Reason, r.Hint))
}

// JoinHint joins a reason and the hint on a remedy, if there is one.
func JoinHint(reason, hint string) string {
	if hint == "" {
		return reason
	}
	return reason + "; " + hint
}

// IdleRow returns the first row that may not start, is not shadowed, and for which wanted returns true.
func IdleRow(c *mcpconfig.Config, wanted func(config.Server) bool) (mcpconfig.Row, bool) {
	i := slices.IndexFunc(c.Rows, func(r mcpconfig.Row) bool {
		return r.State != mcpconfig.Active && r.State != mcpconfig.Shadowed && wanted(r.Server)
	})
	if i < 0 {
		return mcpconfig.Row{}, false
	}
	return c.Rows[i], true
}

// matcher reports whether a word on the command line selects a server.
type matcher func(o config.Server, word string) bool

// IsServer matches words that are ids of servers.
func IsServer(o config.Server, word string) bool { return o.ID == word }

// OwnsTool matches words that are the id of a server or the name of a tool.
func OwnsTool(o config.Server, word string) bool { return o.ID == word || o.MayOwn(word) }

// Choose loads the configuration and returns the servers that words select. Without words, it returns all servers that
// may start. If a word is the id of a server, it selects only that server.
func (f *ConfigFlags) Choose(
	ctx context.Context, words []string, is matcher, s show.Streams,
) ([]config.Server, error) {
	cares := UnexpectedNotes
	if len(words) > 0 {
		concerns := func(o config.Server) bool {
			return slices.ContainsFunc(words, func(w string) bool { return is(o, w) })
		}
		cares, f.Only = NotesAbout(concerns), func(id string) bool { return concerns(config.Server{ID: id}) }
	}
	c, err := f.Load(ctx, s, cares)
	if err != nil {
		return nil, err
	}
	all := c.Servers()
	if len(words) == 0 {
		ReportHeld(c, s)
		return all, nil
	}
	var chosen []string
	for _, w := range words {
		matches := func(o config.Server) bool { return is(o, w) }
		if slices.Contains(IDs(all), w) {
			matches = func(o config.Server) bool { return IsServer(o, w) }
		}
		found := show.Where(all, func(o config.Server) bool { return matches(o) })
		if len(found) == 0 {
			return nil, NoServer(c, w, matches)
		}
		chosen = append(chosen, IDs(found)...)
	}
	return slices.DeleteFunc(all, func(o config.Server) bool { return !slices.Contains(chosen, o.ID) }), nil
}

// NoServer returns the error for a word that selects no server that may start.
func NoServer(c *mcpconfig.Config, id string, wanted func(config.Server) bool) error {
	if row, ok := IdleRow(c, wanted); ok {
		return NotStarted(row)
	}
	active := show.Names(c.Rows, func(r mcpconfig.Row) string { // c.Servers has only the servers that f.Only selects
		if r.State != mcpconfig.Active {
			return ""
		}
		return r.Server.ID
	})
	return Usagef("no server %q is configured%s", id, cmp.Or(DidYouMean(id, active), "; indus mcp ls shows them all"))
}

// WorkingDirectory returns the directory for tools and approvals. Links are resolved, so that a directory has one name.
func WorkingDirectory() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// ClientNames returns the names of the known clients, in alphabetical order.
func ClientNames() []string {
	return show.Names(mcpconfig.Clients(), func(c mcpconfig.Client) string { return c.Name })
}

// IDs returns the ids of servers.
func IDs(servers []config.Server) []string {
	return show.Names(servers, func(o config.Server) string { return o.ID })
}
