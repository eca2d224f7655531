package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configFlags are the flags of every command that reads the configuration.
type configFlags struct {
	paths []string
	trust bool
	mcp   *pflag.Flag          // whose value is paths
	only  func(id string) bool // the servers that a command is about; nil: all
	dry   bool                 // nothing is started, and no ${cmd:…} run
}

func (f *configFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.paths, "mcp", nil, "a configuration file, or a directory to search")
	f.mcp = cmd.Flags().Lookup("mcp")
	cmd.Flags().BoolVar(&f.trust, "trust", false, "start what a project's file configures")
}

// read reads the configuration; what cannot be read was mistyped.
func (f *configFlags) read(ctx context.Context) (*mcpconfig.Config, error) {
	return f.readAs(ctx, mcpconfig.Options{Trust: f.trust, Only: f.only, Dry: f.dry})
}

// look is read, and runs no ${cmd:…} and reads no ${file:…}.
func (f *configFlags) look(ctx context.Context) (*mcpconfig.Config, error) {
	return f.readAs(ctx, mcpconfig.Options{Trust: f.trust, Dry: true})
}

func (f *configFlags) readAs(ctx context.Context, o mcpconfig.Options) (*mcpconfig.Config, error) {
	if f.mcp.Changed && len(f.paths) == 0 {
		return nil, usage("--mcp is empty: name a file or a directory")
	}
	c, err := mcpconfig.Read(ctx, f.paths, &o)
	if err != nil && ctx.Err() == nil {
		err = usage("%w", err)
	}
	return c, err
}

// load is read, and tells the person what is odd: of the notes those that a
// command cares about.
func (f *configFlags) load(ctx context.Context, s streams, cares func(mcpconfig.Note) bool) (*mcpconfig.Config, error) {
	c, err := f.read(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range c.Notes {
		if cares(n) {
			s.tell("%s", clean(n.String()))
		}
	}
	if len(c.Rows) == 0 && len(c.Notes) == 0 {
		s.tell("no MCP servers are configured: indus mcp add configures one, indus mcp import takes over those of another client")
	}
	return c, nil
}

// unlessInRows cares for all that a list of the rows does not say.
func unlessInRows(n mcpconfig.Note) bool {
	return n.State == "" || n.State == mcpconfig.Shadowed
}

// unlessMeant cares for all that somebody may not know: who disabled a server
// knows, and of those that are held one line is enough (see [tellHeld]).
func unlessMeant(n mcpconfig.Note) bool {
	return n.State != mcpconfig.Disabled && n.State != mcpconfig.Held
}

// about cares for whole files, and for what is odd about rows that concern
// says yes to and that may start.
func about(concerns func(interop.Server) bool) func(mcpconfig.Note) bool {
	return func(n mcpconfig.Note) bool {
		return n.Row == 0 || n.State == "" && concerns(interop.Server{ID: n.Server})
	}
}

// tellHeld says in one line a file who waits for approval, and how to give it.
func tellHeld(c *mcpconfig.Config, s streams) {
	type group struct{ file, reason, hint string }
	var order []group
	held := map[group][]string{}
	for _, r := range c.Held() {
		g := group{r.File, r.Reason, r.Hint}
		if held[g] == nil {
			order = append(order, g)
		}
		held[g] = append(held[g], r.Server.ID)
	}
	for _, g := range order {
		s.tell("%s", clean(g.file+": not started: "+strings.Join(held[g], ", ")+": "+joinHint(g.reason, g.hint)))
	}
}

// notStarted is the error for a server that is configured and may not start.
func notStarted(r mcpconfig.Row) error {
	if r.State == mcpconfig.Disabled {
		return usage("server %q is disabled at %s:%d", r.Server.ID, r.File, r.Line)
	}
	return usage("server %q is %s at %s:%d: %s", r.Server.ID, r.State, r.File, r.Line, joinHint(r.Reason, r.Hint))
}

func joinHint(reason, hint string) string {
	if hint == "" {
		return reason
	}
	return reason + "; " + hint
}

// idle is a row that is configured, may not start, and is what wanted says.
func idle(c *mcpconfig.Config, wanted func(interop.Server) bool) (mcpconfig.Row, bool) {
	i := slices.IndexFunc(c.Rows, func(r mcpconfig.Row) bool {
		return r.State != mcpconfig.Active && r.State != mcpconfig.Shadowed && wanted(r.Server)
	})
	if i < 0 {
		return mcpconfig.Row{}, false
	}
	return c.Rows[i], true
}

// matcher reports whether a word that somebody typed is about a server.
type matcher func(o interop.Server, word string) bool

func isServer(o interop.Server, word string) bool { return o.ID == word }

// ownsTool is for words that may be a tool's name too.
func ownsTool(o interop.Server, word string) bool { return o.ID == word || o.MayOwn(word) }

// choose loads the configuration, and is the servers that words are about; all
// that may start where there is no word. A server that has a word for its name
// goes before those that the word is about otherwise.
func (f *configFlags) choose(ctx context.Context, words []string, is matcher, s streams) ([]interop.Server, error) {
	cares := unlessMeant
	if len(words) > 0 {
		concerns := func(o interop.Server) bool {
			return slices.ContainsFunc(words, func(w string) bool { return is(o, w) })
		}
		cares, f.only = about(concerns), func(id string) bool { return concerns(interop.Server{ID: id}) }
	}
	c, err := f.load(ctx, s, cares)
	if err != nil {
		return nil, err
	}
	all := c.Servers()
	if len(words) == 0 {
		tellHeld(c, s)
		return all, nil
	}
	var chosen []string
	for _, w := range words {
		meant := func(o interop.Server) bool { return is(o, w) }
		if slices.Contains(ids(all), w) {
			meant = func(o interop.Server) bool { return isServer(o, w) }
		}
		found := slices.DeleteFunc(slices.Clone(all), func(o interop.Server) bool { return !meant(o) })
		if len(found) == 0 {
			return nil, noServer(c, w, meant)
		}
		chosen = append(chosen, ids(found)...)
	}
	return slices.DeleteFunc(all, func(o interop.Server) bool { return !slices.Contains(chosen, o.ID) }), nil
}

// noServer is the error for a word that is about no server that may start.
func noServer(c *mcpconfig.Config, id string, wanted func(interop.Server) bool) error {
	if row, ok := idle(c, wanted); ok {
		return notStarted(row)
	}
	var active []string
	for _, r := range c.Rows {
		if r.State == mcpconfig.Active {
			active = append(active, r.Server.ID)
		}
	}
	near := didYouMean(id, active)
	if near == "" {
		near = "; indus mcp ls shows them all"
	}
	return usage("no server %q is configured%s", id, near)
}

func ids(servers []interop.Server) []string {
	out := make([]string, len(servers))
	for i, s := range servers {
		out[i] = s.ID
	}
	return out
}
