package servers

import (
	"context"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

func newRemove(s show.Streams) *cobra.Command {
	return newRowCommand(cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm", "delete"}, SuggestFor: []string{"uninstall", "del"},
		Short: "Take a server out of its configuration file", Long: removeHelp,
	}, anyRow, s, editedJSON, (*scopeFlags).remove)
}

const removeHelp = `Take a server out of the file where it is configured. Of several files it is the
one whose row counts. The rest of the file stays as it is, and so do comments that
are on lines of their own.

A session:
  $ indus mcp remove github
  indus: removed github from .indusvx/mcp.json:4
  indus: github is now the one at /home/me/.config/indusvx/mcp.json:3 (active)

Exit codes:
  0    ok` + changeExitHelp

func (f *scopeFlags) remove(ctx context.Context, name string, s show.Streams) error {
	row, err := f.change(ctx, name, func(e *mcpconfig.Edit) error { return e.Remove(name) })
	if err != nil {
		return err
	}
	s.Reportf("removed %s from %s:%d", name, row.File, row.Line)
	if f.file == "" {
		c, err := mcpconfig.Read(ctx, nil, dry())
		if err != nil {
			return err
		}
		for _, r := range c.Rows {
			if r.Server.ID == name && r.State != mcpconfig.Shadowed && r.State != mcpconfig.Skipped {
				s.Reportf("%s is now the one at %s:%d (%s)", name, r.File, r.Line, r.State)
			}
		}
	}
	return f.printEdited(ctx, edited{Server: name, Did: "removed", Changed: true, File: row.File, Line: row.Line}, s)
}
