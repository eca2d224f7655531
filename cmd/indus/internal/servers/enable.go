package servers

import (
	"context"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

func newEnable(s show.Streams) *cobra.Command {
	return newSwitch(true, "enable NAME", "Switch a server on", enableHelp, s)
}

func newDisable(s show.Streams) *cobra.Command {
	return newSwitch(false, "disable NAME", "Switch a server off", disableHelp, s)
}

func newSwitch(on bool, use, short, long string, s show.Streams) *cobra.Command {
	var f scopeFlags
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long:  long,
		Args:  oneServer,
		ValidArgsFunction: f.complete(1, func(r mcpconfig.Row) bool {
			return (r.State == mcpconfig.Disabled) == on
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.enable(cmd.Context(), args[0], on, s)
		},
	}
	f.add(cmd)
	f.addJSON(cmd)
	return cmd
}

const enableHelp = `Switch a server on that its file says is disabled.

Usage:
  indus mcp enable NAME [FLAG]...

Flags:` + editedHelp + narrowFlagsHelp + `

A session:
  $ indus mcp enable github
  indus: enabled github at /home/me/.config/indusvx/mcp.json:4

` + switchExitHelp

const disableHelp = `Switch a server off. Its row stays in the file, and hides others of that name in
files that come behind.

Usage:
  indus mcp disable NAME [FLAG]...

Flags:` + editedHelp + narrowFlagsHelp + `

A session:
  $ indus mcp disable github
  indus: disabled github at /home/me/.config/indusvx/mcp.json:4

` + switchExitHelp

const switchExitHelp = `Exit codes:
  0    ok, also if it was so already
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
