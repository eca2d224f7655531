package servers

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

// Commands returns the commands about configured servers.
func Commands(s show.Streams) []*cobra.Command {
	return []*cobra.Command{
		newLs(s), newFind(s), newAdd(s), newLock(s), newOutdated(s), newRemove(s),
		newSwitch(true, s), newSwitch(false, s), newGet(s), newApprove(s), newImport(s), newSandbox(s), newLogin(s),
		newLogout(s),
	}
}

// scopeFlags holds the flags that select one of the configuration files.
type scopeFlags struct {
	user, project bool
	file          string
	asJSON        bool
	cmd           *cobra.Command
}

// addWriting adds the flags of commands that write to a file.
func (f *scopeFlags) addWriting(cmd *cobra.Command) {
	f.add(cmd, "write the user's own file, indusvx/mcp.json in the configuration directory (default)",
		"write .indusvx/mcp.json of the working directory", "FILE  write that file")
}

// addNarrowing adds the flags of commands that search for a server.
func (f *scopeFlags) addNarrowing(cmd *cobra.Command) {
	f.add(cmd, "look in the user's own files alone", "look in .indusvx/mcp.json of the working directory alone",
		"FILE  look in that file alone")
}

func (f *scopeFlags) add(cmd *cobra.Command, user, project, file string) {
	f.cmd = cmd
	cmd.Flags().BoolVar(&f.user, "user", false, user)
	cmd.Flags().BoolVar(&f.project, "project", false, project)
	cmd.Flags().StringVar(&f.file, "mcp", "", file)
}

func (f *scopeFlags) check() error {
	mcp := f.cmd.Flags().Changed("mcp")
	switch {
	case f.user && f.project, f.user && mcp, f.project && mcp:
		return command.Usagef("--user, --project and --mcp name one file each: give one of them")
	}
	if info, err := os.Stat(f.file); mcp && err == nil && info.IsDir() {
		return command.Usagef("--mcp %s is a directory: name a file", f.file)
	}
	return nil
}

// repeatFlags returns the flags that make another command use the same file.
func (f *scopeFlags) repeatFlags() string {
	if f.file != "" {
		return " --mcp " + show.ShellWord(f.file)
	}
	return ""
}

// dryOptions returns the options of commands that read a configuration and start nothing.
func dryOptions() *mcpconfig.Options { return &mcpconfig.Options{Dry: true} }

// editFile changes the file that path returns, under a lock. If save is false, it writes nothing and takes no lock.
func editFile(
	ctx context.Context, s show.Streams, save bool, path func() (string, error), change func(*mcpconfig.Edit) error,
) (*mcpconfig.Edit, error) {
	if save {
		unlock, err := command.LockFiles(ctx, s)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	file, err := path()
	if err != nil {
		return nil, err
	}
	e, err := mcpconfig.Open(file)
	if err == nil {
		err = change(e)
	}
	if err == nil && save {
		err = e.Save()
	}
	if own := (*command.ExitError)(nil); errors.Is(err, mcpconfig.ErrChanged) || errors.As(err, &own) {
		return e, err
	}
	return e, command.AsUsage(err)
}

// path returns the file that a command writes. The default is the user's own file.
func (f *scopeFlags) path() (string, error) {
	if err := f.check(); err != nil || f.file != "" {
		return f.file, err
	}
	scope := mcpconfig.User
	if f.project {
		scope = mcpconfig.Project
	}
	path, err := mcpconfig.PathOf(scope, dryOptions())
	return path, command.AsUsage(err)
}

// read reads the files that the flags select: all files, or one.
func (f *scopeFlags) read(ctx context.Context) (*mcpconfig.Config, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return configOf(f.file).ReadDry(ctx)
}

// configOf returns the flags that select a file. If file is "", they select all files.
func configOf(file string) *command.ConfigFlags {
	if file == "" {
		return &command.ConfigFlags{}
	}
	return &command.ConfigFlags{Paths: []string{file}}
}

// inScope reports whether a row is in the scope that the flags select.
func (f *scopeFlags) inScope(r mcpconfig.Row) bool {
	switch {
	case f.project:
		return r.Scope == mcpconfig.Project
	case f.user:
		return r.Scope == mcpconfig.User || r.Scope == mcpconfig.Legacy || r.Scope == mcpconfig.LegacyAlt
	}
	return true
}

// find returns the row of a server that takes effect, in the selected scope: see [mcpconfig.Config.Find].
func (f *scopeFlags) find(c *mcpconfig.Config, name string) (mcpconfig.Row, error) {
	if row, ok := c.Find(name, f.inScope); ok {
		return row, nil
	}
	if i := slices.IndexFunc(c.Rows, func(r mcpconfig.Row) bool { return r.Server.ID == name }); i >= 0 {
		return mcpconfig.Row{}, command.Usagef("no server %q there: it is at %s:%d", name, c.Rows[i].File, c.Rows[i].Line)
	}
	near := command.DidYouMean(name, f.ids(c, anyRow))
	return mcpconfig.Row{}, command.Usagef("no server %q is configured%s", name,
		cmp.Or(near, "; indus mcp ls shows them all"))
}

// newRowCommand returns a command on the row of one server.
func newRowCommand(
	cmd cobra.Command, wanted func(mcpconfig.Row) bool, s show.Streams, json string,
	run func(f *scopeFlags, ctx context.Context, name string, s show.Streams) error,
) *cobra.Command {
	var f scopeFlags
	cmd.Args = command.Needs(1, "the name of a server: indus mcp ls shows them all", "NAME")
	cmd.ValidArgsFunction = command.Complete(1, func(ctx context.Context) []string {
		c, err := f.read(ctx)
		if err != nil {
			return nil
		}
		return f.ids(c, wanted)
	})
	out := command.New(s,
		func(ctx context.Context, args []string, s show.Streams) error { return run(&f, ctx, args[0], s) }, cmd)
	f.addJSON(out, json)
	f.addNarrowing(out)
	return out
}

// ids returns the ids of the rows in the selected scope for which wanted returns true.
func (f *scopeFlags) ids(c *mcpconfig.Config, wanted func(mcpconfig.Row) bool) []string {
	ids := show.Names(c.Rows, func(r mcpconfig.Row) string {
		if !f.inScope(r) || !wanted(r) {
			return ""
		}
		return r.Server.ID
	})
	slices.Sort(ids)
	return slices.Compact(ids)
}

func anyRow(mcpconfig.Row) bool { return true }
