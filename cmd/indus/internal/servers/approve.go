package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

type approveFlags struct {
	all, revoke, tools, asJSON bool
	file                       string
}

func newApprove(s show.Streams) *cobra.Command {
	var f approveFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "approve [SERVER]...", SuggestFor: []string{"trust", "allow"},
		Short: "Approve servers of a project's file, so that they start", Long: approveHelp,
		ValidArgsFunction: command.Complete(math.MaxInt, f.offers),
	})
	cmd.Flags().BoolVar(&f.all, "all", false,
		"approve all servers that wait; with --revoke, revoke all approvals of the project")
	cmd.Flags().StringVar(&f.file, "mcp", "",
		`FILE  approve servers of FILE that use files or programs of the project in the
		working directory`)
	cmd.Flags().BoolVar(&f.revoke, "revoke", false, "revoke approvals")
	cmd.Flags().BoolVar(&f.tools, "tools", false,
		`list or revoke approvals of tools, which were given in sessions in this
		directory; a session asks again if the tool, its server or the command of bash and process changes`)
	cmd.Flags().BoolVar(&f.asJSON, "json", false,
		`print a JSON array with one object per server: server, file, line, reason, project,
		runs, hosts, cwd, env, envFile, inheritEnv, box,
		sandbox, headers, oauth, tls, forwards, tools, settings, files [{path, text,
		wrong}], approved; without SERVER nothing is approved then. With --tools: project, tool, call, fingerprint, at`)
	return cmd
}

func (f *approveFlags) run(ctx context.Context, args []string, s show.Streams) error {
	switch {
	case f.all && len(args) > 0:
		return command.Exclude("--all", strconv.Quote(args[0]))
	case f.tools:
		return f.approvedTools(args, s)
	case f.revoke:
		return f.revokeServers(args, s)
	}
	return f.approve(ctx, args, s)
}

const approveHelp = `Approve servers of the project's file, .indusvx/mcp.json of the working directory, so
that they start. Servers of the user's own files need approval too if they start in the
project or use its programs or files. A project may be a cloned repository, so nothing of
it runs before a person has seen it. An approval covers the shown entry and the text of
the project's files that it names. If any of it changes, indus asks again.

If a ${cmd:…} decides which program runs or which host is called, it runs after you
agree. Its output is shown, and approved with the rest.

Usage:
  indus mcp approve                        show the servers that wait, and ask about each
  indus mcp approve SERVER... | --all      approve them
  indus mcp approve --revoke SERVER... | --all
  indus mcp approve --tools                list the tools that run without asking
  indus mcp approve --tools --revoke TOOL... | --all

Nothing is asked unless stdin and stderr are a terminal.

A session:
  $ indus mcp approve
  fs  .indusvx/mcp.json:3: found in a project's file, and not approved yet
    runs     npx -y @modelcontextprotocol/server-filesystem .
    env      TOKEN=${TOKEN}
    envFile  .env
    box      strict +1 path
               read /home/me/clone
    file     /home/me/clone/.env
               LOG=debug
  approve fs? [y/N] y
  indus: approved fs

Exit codes:
  0    ok, also if nothing waits
  1    the approval cannot be remembered
  2    usage: flags, files, no such SERVER; and no terminal to ask on
  130  interrupted`

func (f *approveFlags) offers(ctx context.Context) []string {
	if f.tools {
		list, _ := toolsHere()
		return toolNames(list)
	}
	if f.revoke {
		list, _ := approvedHere()
		return approvedIDs(list)
	}
	c, err := mcpconfig.Read(ctx, nil, dryOptions())
	if err != nil {
		return nil
	}
	return show.Names(c.Held(), func(r mcpconfig.Row) string { return r.Server.ID })
}

func (f *approveFlags) approve(ctx context.Context, names []string, s show.Streams) error {
	config := configOf(f.file)
	c, err := config.ReadDry(ctx)
	// Its commands may give other results now than at the approval.
	if err == nil && slices.ContainsFunc(c.Rows, isPinned) {
		rows := c.Rows
		config.Only = func(id string) bool {
			return slices.ContainsFunc(rows, func(r mcpconfig.Row) bool { return r.Server.ID == id && isPinned(r) })
		}
		c, err = config.Read(ctx)
	}
	if err != nil {
		return err
	}
	// The server may be in such a file.
	reportNotes(show.Where(c.Notes, func(n mcpconfig.Note) bool { return n.Row == 0 }), s)
	var waiting []*heldServer
	for _, r := range c.Held() {
		waiting = append(waiting, newHeldServer(c, r))
	}
	if len(names) > 0 {
		if waiting, err = chooseHeld(c, waiting, names, s); err != nil {
			return err
		}
	}
	if len(names) > 0 || f.all {
		err = f.approveAll(ctx, waiting, s)
	} else if len(waiting) > 0 && !f.asJSON {
		return approveEach(ctx, waiting, s)
	}
	if err != nil {
		return err
	}
	if f.asJSON {
		return s.WriteIndented(append([]*heldServer{}, waiting...))
	}
	if len(waiting) == 0 && len(names) == 0 {
		s.Reportf("nothing waits for approval")
	}
	return nil
}

func isPinned(r mcpconfig.Row) bool { return r.State == mcpconfig.Active && r.Pinned() }

// chooseHeld returns the waiting servers with the given names.
func chooseHeld(c *mcpconfig.Config, waiting []*heldServer, names []string, s show.Streams) ([]*heldServer, error) {
	var out []*heldServer
	for _, name := range names {
		found := show.Where(waiting, func(w *heldServer) bool { return w.Server == name })
		switch {
		case len(found) > 1:
			return nil, command.Usagef(
				"%q waits at %s:%d and at %s:%d: run indus mcp approve in a terminal, which asks about each", name,
				found[0].File, found[0].Line, found[1].File, found[1].Line)
		case len(found) == 1:
			if !slices.Contains(out, found[0]) {
				out = append(out, found[0])
			}
			continue
		}
		row, err := (&scopeFlags{}).find(c, name)
		switch {
		case err != nil:
			return nil, err
		case row.State == mcpconfig.Active && (row.Scope == mcpconfig.Project || row.Project != ""):
			s.Reportf("%s is approved already", name)
		case row.State == mcpconfig.Active:
			s.Reportf("%s needs no approval: %s is not a project's file", name, row.File)
		default:
			return nil, command.NotStarted(row)
		}
	}
	return out, nil
}

// approveAll shows the waiting servers and approves them.
func (f *approveFlags) approveAll(ctx context.Context, waiting []*heldServer, s show.Streams) error {
	var rows []mcpconfig.Row
	for _, w := range waiting {
		if _, err := w.resolve(ctx); err != nil {
			return err
		}
		if !f.asJSON {
			if err := s.WriteWrapped(w.String()); err != nil {
				return err
			}
		}
		rows = append(rows, w.row)
	}
	if err := mcpconfig.Approve(dryOptions(), rows...); err != nil {
		return err
	}
	for _, w := range waiting {
		w.Approved, w.Reason = true, ""
		s.Reportf("approved %s: %s", w.Server, w.Runs)
	}
	return nil
}

// resolve runs the commands with results that the approval covers. It reports whether there were any.
func (w *heldServer) resolve(ctx context.Context) (bool, error) {
	row, err := w.config.Resolve(ctx, w.row)
	if err != nil || row.Approval == w.row.Approval {
		return false, err
	}
	reason := w.Reason
	*w = *newHeldServer(w.config, w.row)
	w.row, w.Reason, w.Files = row, reason, row.Files
	w.Hosts = hostsOf(row, w.Runs)
	return true, nil
}

// approveEach shows each waiting server and asks for its approval. Without a terminal it only lists them, and returns
// an error. If the approval covers the results of commands, they run after the first yes, and it asks again.
func approveEach(ctx context.Context, waiting []*heldServer, s show.Streams) error {
	if !s.IsAttended() {
		for _, w := range waiting {
			if err := s.WriteWrapped(w.String()); err != nil {
				return err
			}
		}
		names := show.Names(waiting, func(w *heldServer) string { return show.ShellWord(w.Server) })
		return command.Usagef("stdin or stderr is no terminal: approve them with indus mcp approve %s, or --all",
			strings.Join(names, " "))
	}
	answers := s.Lines()
	for i, w := range waiting {
		name, resolved := show.ShellWord(show.Clean(w.Server)), false
		yes, err := s.Confirm(ctx, fmt.Sprintf("%sapprove %s?", w, name), answers)
		if err == nil && yes {
			if resolved, err = w.resolve(ctx); resolved {
				yes, err = s.Confirm(ctx, fmt.Sprintf("%sapprove %s as it is now?", w, name), answers)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			left := show.Names(waiting[i:], func(w *heldServer) string { return w.Server })
			s.Reportf("not approved: %s", strings.Join(left, ", "))
			return nil
		case err != nil:
			return err
		case !yes:
			s.Reportf("not approved: %s", w.Server)
			continue
		}
		if err := mcpconfig.Approve(dryOptions(), w.row); err != nil {
			return err
		}
		s.Reportf("approved %s", w.Server)
	}
	return nil
}

// revokeServers revokes approvals of the project, regardless of the present content of its file.
func (f *approveFlags) revokeServers(names []string, s show.Streams) error {
	list, err := approvedHere()
	if err == nil {
		err = f.checkNames("servers", "no server %q is approved here%s", names, approvedIDs(list))
	}
	if err != nil {
		return err
	}
	var rows []mcpconfig.Row
	var revoked []heldServer
	for _, a := range list {
		if f.all || slices.Contains(names, a.ID) {
			rows = append(rows, mcpconfig.Row{File: a.File, Project: a.Project, Server: config.Server{ID: a.ID}})
			revoked = append(revoked, heldServer{Server: a.ID, File: a.File})
		}
	}
	if err := mcpconfig.Revoke(dryOptions(), rows...); err != nil {
		return err
	}
	if f.asJSON {
		return s.WriteIndented(append([]heldServer{}, revoked...))
	}
	for _, w := range revoked {
		s.Reportf("no longer approved: %s", w.Server)
	}
	if len(revoked) == 0 {
		s.Reportf("nothing is approved here")
	}
	return nil
}

// checkNames returns an error if one of the names is not approved. missing is the format of that error.
func (f *approveFlags) checkNames(noun, missing string, names, known []string) error {
	if len(names) == 0 && !f.all {
		return command.Usagef("--revoke needs the names of %s, or --all", noun)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return command.Usagef(missing, name, command.DidYouMean(name, known))
		}
	}
	return nil
}

func approvedIDs(list []mcpconfig.Approved) []string {
	return show.Names(list, func(a mcpconfig.Approved) string { return a.ID })
}

// approvedHere returns the approvals for the project in the working directory.
func approvedHere() ([]mcpconfig.Approved, error) {
	list, err := mcpconfig.Approvals(dryOptions())
	if err != nil {
		return nil, err
	}
	path, err := mcpconfig.PathOf(mcpconfig.Project, dryOptions())
	if err != nil {
		return nil, err
	}
	path, here := atomicfile.Real(path), atomicfile.Real(".") // approvals hold real paths
	return slices.DeleteFunc(list, func(a mcpconfig.Approved) bool {
		return a.Project != here && (a.Project != "" || a.File != path)
	}), nil
}

// approvedTools shows the tools that sessions in the working directory run unasked. With --revoke it revokes them.
func (f *approveFlags) approvedTools(names []string, s show.Streams) error {
	list, err := toolsHere()
	if err != nil {
		return err
	}
	if !f.revoke && (f.all || len(names) > 0) {
		return command.Usagef(
			"--tools lists approved tools, or with --revoke revokes them; sessions ask for new approvals")
	}
	if !f.revoke {
		return f.printTools(list, s)
	}
	if err := f.checkNames("tools", "no tool %q runs unasked here%s", names, toolNames(list)); err != nil {
		return err
	}
	revoked := slices.DeleteFunc(list, func(t mcpconfig.ApprovedTool) bool {
		return !f.all && !slices.Contains(names, t.Tool)
	})
	if err := mcpconfig.RevokeTools(dryOptions(), revoked...); err != nil {
		return err
	}
	if f.asJSON {
		return s.WriteIndented(append([]mcpconfig.ApprovedTool{}, revoked...))
	}
	for _, t := range revoked {
		s.Reportf("approval revoked: %s", toolLine(t))
	}
	return nil
}

func (f *approveFlags) printTools(list []mcpconfig.ApprovedTool, s show.Streams) error {
	if f.asJSON {
		return s.WriteIndented(append([]mcpconfig.ApprovedTool{}, list...))
	}
	if len(list) == 0 {
		s.Reportf("no tool is approved here; only tools that read files run without asking")
	}
	var p show.Page
	for _, t := range list {
		p.Printf("%s  %s\n", show.Time(t.At), toolLine(t))
	}
	return s.Print(&p)
}

// toolLine returns the name of a tool, and the call if only that call is approved.
func toolLine(t mcpconfig.ApprovedTool) string {
	if t.Call == "" {
		return t.Tool
	}
	return t.Tool + ": " + t.Call
}

func toolNames(list []mcpconfig.ApprovedTool) []string {
	return slices.Compact(show.Names(list, func(t mcpconfig.ApprovedTool) string { return t.Tool }))
}

// toolsHere returns the approved tools of the working directory.
func toolsHere() ([]mcpconfig.ApprovedTool, error) {
	list, err := mcpconfig.ApprovedTools(dryOptions())
	if err != nil {
		return nil, err
	}
	dir, err := command.WorkingDirectory()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(t mcpconfig.ApprovedTool) bool { return t.Project != dir }), nil
}
