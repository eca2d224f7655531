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

// Commands are the commands about configured servers.
func Commands(s show.Streams) []*cobra.Command {
	return []*cobra.Command{
		newLs(s), newAdd(s), newRemove(s), newEnable(s), newDisable(s), newGet(s), newApprove(s), newImport(s), newExport(s), newLogin(s), newLogout(s),
	}
}

// scopeFlags say which of the configuration's files a command is about.
type scopeFlags struct {
	user, project bool
	file          string
	asJSON        bool
	cmd           *cobra.Command
}

// addWriting adds the flags of commands that add to a file.
func (f *scopeFlags) addWriting(cmd *cobra.Command) {
	f.add(cmd, "write the user's own file, indusvx/mcp.json in the configuration directory (default)",
		"write .indusvx/mcp.json of the working directory", "FILE  write that file")
}

// addNarrowing adds the flags of commands that look for a server.
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

// again are the flags with which another command is about the same file.
func (f *scopeFlags) again() string {
	if f.file != "" {
		return " --mcp " + show.ShellWord(f.file)
	}
	return ""
}

// dry is for commands that look at a configuration, and start nothing.
func dry() *mcpconfig.Options { return &mcpconfig.Options{Dry: true} }

// edit changes the file that path names, under a lock. Without save nothing is written.
func edit(ctx context.Context, save bool, path func() (string, error), change func(*mcpconfig.Edit) error) (*mcpconfig.Edit, error) {
	if save {
		unlock, err := mcpconfig.Lock(ctx, dry())
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

// path is the file that a command writes: where the flags name none, the user's own.
func (f *scopeFlags) path() (string, error) {
	if err := f.check(); err != nil || f.file != "" {
		return f.file, err
	}
	scope := mcpconfig.User
	if f.project {
		scope = mcpconfig.Project
	}
	path, err := mcpconfig.PathOf(scope, dry())
	return path, command.AsUsage(err)
}

// read is what is in the files that the flags are about: all, or one.
func (f *scopeFlags) read(ctx context.Context) (*mcpconfig.Config, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return configOf(f.file).ReadDry(ctx)
}

// configOf is the configuration of a file; "": of all of them.
func configOf(file string) *command.ConfigFlags {
	if file == "" {
		return &command.ConfigFlags{}
	}
	return &command.ConfigFlags{Paths: []string{file}}
}

// in reports whether a row is where the flags say.
func (f *scopeFlags) in(r mcpconfig.Row) bool {
	switch {
	case f.project:
		return r.Scope == mcpconfig.Project
	case f.user:
		return r.Scope == mcpconfig.User || r.Scope == mcpconfig.Legacy || r.Scope == mcpconfig.LegacyAlt
	}
	return true
}

// find is the row that a name means: the one that counts, or where the flags narrow
// it down the first there, or one that cannot be used.
func (f *scopeFlags) find(c *mcpconfig.Config, name string) (mcpconfig.Row, error) {
	if row, ok := c.Find(name, f.in); ok {
		return row, nil
	}
	if i := slices.IndexFunc(c.Rows, func(r mcpconfig.Row) bool { return r.Server.ID == name }); i >= 0 {
		return mcpconfig.Row{}, command.Usagef("no server %q there: it is at %s:%d", name, c.Rows[i].File, c.Rows[i].Line)
	}
	near := command.DidYouMean(name, f.ids(c, anyRow))
	return mcpconfig.Row{}, command.Usagef("no server %q is configured%s", name, cmp.Or(near, "; indus mcp ls shows them all"))
}

// newRowCommand finishes a command that is about one server's row.
func newRowCommand(cmd cobra.Command, wanted func(mcpconfig.Row) bool, s show.Streams, json string, run func(f *scopeFlags, ctx context.Context, name string, s show.Streams) error) *cobra.Command {
	var f scopeFlags
	cmd.Args = command.Needs(1, "the name of a server: indus mcp ls shows them all", "NAME")
	cmd.ValidArgsFunction = command.Complete(1, func(ctx context.Context) []string {
		c, err := f.read(ctx)
		if err != nil {
			return nil
		}
		return f.ids(c, wanted)
	})
	out := command.New(s, func(ctx context.Context, args []string, s show.Streams) error { return run(&f, ctx, args[0], s) }, cmd)
	f.addJSON(out, json)
	f.addNarrowing(out)
	return out
}

// ids are the servers that the flags are about and wanted says yes to.
func (f *scopeFlags) ids(c *mcpconfig.Config, wanted func(mcpconfig.Row) bool) []string {
	ids := show.Names(c.Rows, func(r mcpconfig.Row) string {
		if !f.in(r) || !wanted(r) {
			return ""
		}
		return r.Server.ID
	})
	slices.Sort(ids)
	return slices.Compact(ids)
}

func anyRow(mcpconfig.Row) bool { return true }
