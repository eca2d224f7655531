package servers

import (
	"context"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

func newEnable(s show.Streams) *cobra.Command {
	return newSwitch(true, cobra.Command{Use: "enable NAME", Short: "Switch a server on", Long: enableHelp}, s)
}

func newDisable(s show.Streams) *cobra.Command {
	return newSwitch(false, cobra.Command{Use: "disable NAME", Short: "Switch a server off", Long: disableHelp}, s)
}

func newSwitch(on bool, cmd cobra.Command, s show.Streams) *cobra.Command {
	other := func(r mcpconfig.Row) bool { return (r.State == mcpconfig.Disabled) == on }
	return newRowCommand(cmd, other, s, editedJSON, func(f *scopeFlags, ctx context.Context, name string, s show.Streams) error {
		return f.enable(ctx, name, on, s)
	})
}

const enableHelp = `Switch a server on that its file says is disabled.

A session:
  $ indus mcp enable github
  indus: enabled github at /home/me/.config/indusvx/mcp.json:4

Exit codes:
  0    ok, also if it was so already` + changeExitHelp

const disableHelp = `Switch a server off. Its row stays in the file, and hides others of that name in
files that come behind.

A session:
  $ indus mcp disable github
  indus: disabled github at /home/me/.config/indusvx/mcp.json:4

Exit codes:
  0    ok, also if it was so already` + changeExitHelp

// changeExitHelp is for commands that change a row, behind what 0 means.
const changeExitHelp = `
  1    the file changed at the same moment: try again
  2    usage: flags, files, and no such NAME; nothing was written
  130  interrupted`

func (f *scopeFlags) enable(ctx context.Context, name string, on bool, s show.Streams) error {
	changed := false
	row, err := f.change(ctx, name, func(e *mcpconfig.Edit) error {
		before := string(e.Text())
		err := e.Enable(name, on)
		changed = string(e.Text()) != before
		return err
	})
	if err != nil {
		return err
	}
	done := "disabled"
	if on {
		done = "enabled"
	}
	if !changed {
		s.Reportf("%s is %s already, at %s:%d", name, done, row.File, row.Line)
	} else {
		s.Reportf("%s %s at %s:%d", done, name, row.File, row.Line)
	}
	c, err := f.read(ctx)
	if err != nil {
		return err
	}
	r, ok := c.Find(name, func(r mcpconfig.Row) bool { return r.File == row.File })
	switch {
	case !on && ok && r.State == mcpconfig.Held:
		if err := mcpconfig.Approve(dry(), r); err != nil { // or it would switch no server of that name off
			return err
		}
	case on && ok && r.State != mcpconfig.Active:
		s.Reportf("%s is %s: %s", name, r.State, command.JoinHint(r.Reason, r.Hint))
	}
	return f.printEdited(ctx, edited{Server: name, Did: done, Changed: changed, File: row.File, Line: row.Line}, s)
}
