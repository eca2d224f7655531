package servers

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
)

// approvedTools shows the tools that sessions let run unasked in the working directory, or takes that back.
func (f *approveFlags) approvedTools(names []string, s show.Streams) error {
	list, err := toolsHere()
	if err != nil {
		return err
	}
	if !f.revoke && (f.all || len(names) > 0) {
		return command.Usagef("--tools shows what runs unasked, or with --revoke takes it back; a session itself asks for more")
	}
	if !f.revoke {
		return f.printTools(list, s)
	}
	known := slices.Compact(show.Names(list, func(t mcpconfig.ApprovedTool) string { return t.Tool }))
	if err := f.knows("tools", "no tool %q runs unasked here%s", names, known); err != nil {
		return err
	}
	taken := slices.DeleteFunc(list, func(t mcpconfig.ApprovedTool) bool { return !f.all && !slices.Contains(names, t.Tool) })
	if err := mcpconfig.RevokeTools(dry(), taken...); err != nil {
		return err
	}
	if f.asJSON {
		return s.WriteIndented(append([]mcpconfig.ApprovedTool{}, taken...))
	}
	for _, t := range taken {
		s.Reportf("no longer runs unasked: %s", toolLine(t))
	}
	return nil
}

func (f *approveFlags) printTools(list []mcpconfig.ApprovedTool, s show.Streams) error {
	if f.asJSON {
		return s.WriteIndented(append([]mcpconfig.ApprovedTool{}, list...))
	}
	if len(list) == 0 {
		s.Reportf("no tool runs unasked here, but those that only look at files")
	}
	var p show.Page
	for _, t := range list {
		p.Printf("%s  %s\n", t.At.Local().Format(show.TimeFormat), toolLine(t))
	}
	return s.Print(&p)
}

// toolLine is a tool, and the one call of it that is approved.
func toolLine(t mcpconfig.ApprovedTool) string {
	if t.Call == "" {
		return t.Tool
	}
	return t.Tool + ": " + t.Call
}

// toolsHere are those of the working directory.
func toolsHere() ([]mcpconfig.ApprovedTool, error) {
	list, err := mcpconfig.ApprovedTools(dry())
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(t mcpconfig.ApprovedTool) bool { return t.Project != dir }), nil
}
