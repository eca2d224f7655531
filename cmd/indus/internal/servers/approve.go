package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

type approveFlags struct {
	all, revoke, tools, asJSON bool
}

func newApprove(s show.Streams) *cobra.Command {
	var f approveFlags
	cmd := &cobra.Command{
		Use: "approve [SERVER]...", SuggestFor: []string{"trust", "allow"},
		Short: "Let servers of a project's file start",
		Long:  approveHelp,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.all && len(args) > 0 {
				return command.Usagef("--all and %q exclude each other", args[0])
			}
			if f.tools {
				return f.approvedTools(args, s)
			}
			if f.revoke {
				return f.takeBack(args, s)
			}
			return f.approve(cmd.Context(), args, s)
		},
		ValidArgsFunction: f.complete,
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "approve all that wait")
	cmd.Flags().BoolVar(&f.revoke, "revoke", false, "take approvals back")
	cmd.Flags().BoolVar(&f.tools, "tools", false, "tools that run unasked")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print a JSON array")
	return cmd
}

const approveHelp = `Let servers of the project's file, .indusvx/mcp.json of the working directory, start.
Such a file may come from a cloned repository, so nothing in it runs before a person
has said that it may. Whoever changes what would run, asks again.

Usage:
  indus mcp approve                        show what waits, and ask about each
  indus mcp approve SERVER... | --all      approve them
  indus mcp approve --revoke SERVER... | --all
  indus mcp approve --tools                what sessions here run unasked
  indus mcp approve --tools --revoke TOOL... | --all

Nothing is asked unless stdin and stderr are a terminal.

Flags:
  --all        approve all that wait; with --revoke, take all of the project back
  --revoke     take approvals back
  --tools      of tools instead: those that somebody let run in this directory from
               then on, when a session asked; each is asked for again once it, its
               server or, of bash and process, the command is another
  --json       print a JSON array, an object a server: server, file, line, reason,
               runs, cwd, env, envFile, headers, oauth, tls, forwards, tools,
               approved; without SERVER nothing is approved then. Of tools:
               project, tool, call, fingerprint, at

A session:
  $ indus mcp approve
  fs  .indusvx/mcp.json:3: found in a project's file, and not approved yet
    runs  npx -y @modelcontextprotocol/server-filesystem .
    env   TOKEN=${TOKEN}, LOG=debug
  approve fs? [y/N] y
  indus: approved fs

Exit codes:
  0    ok, also if nothing waits
  1    the approval cannot be remembered
  2    usage: flags, files, no such SERVER; and no terminal to ask on
  130  interrupted`

// heldServer is what approve says of a server.
type heldServer struct {
	Server   string   `json:"server"`
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Reason   string   `json:"reason,omitempty"`
	Runs     string   `json:"runs"` // the command line, or the URL
	Cwd      string   `json:"cwd,omitempty"`
	Env      []string `json:"env,omitempty"`
	Headers  []string `json:"headers,omitempty"`
	SignIn   []string `json:"oauth,omitempty"`
	TLS      []string `json:"tls,omitempty"`
	Forwards []string `json:"forwards,omitempty"` // of callers' headers
	EnvFile  string   `json:"envFile,omitempty"`
	Inherits bool     `json:"inheritEnv,omitempty"`
	// Tools are the rules, which may put words before a model.
	Tools    json.RawMessage `json:"tools,omitempty"`
	Approved bool            `json:"approved"`

	row mcpconfig.Row
}

func (f *approveFlags) complete(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var offers []string
	if f.tools {
		list, _ := toolsHere()
		offers = slices.Compact(show.Names(list, func(t mcpconfig.ApprovedTool) string { return t.Tool }))
	} else if f.revoke {
		list, _ := approvedHere()
		offers = approvedIDs(list)
	} else if c, err := mcpconfig.Read(cmd.Context(), nil, dry()); err == nil {
		offers = show.Names(c.Held(), func(r mcpconfig.Row) string { return r.Server.ID })
	}
	return command.WithPrefix(typed, offers, args...), cobra.ShellCompDirectiveNoFileComp
}

func (f *approveFlags) approve(ctx context.Context, names []string, s show.Streams) error {
	c, err := mcpconfig.Read(ctx, nil, dry())
	if err != nil {
		return err
	}
	for _, n := range c.Notes {
		if n.Row == 0 { // about a file, which may be the one
			s.Reportf("%s", n)
		}
	}
	var wait []*heldServer
	for _, r := range c.Held() {
		wait = append(wait, newHeldServer(c, r))
	}
	if len(names) > 0 {
		if wait, err = chooseHeld(c, wait, names, s); err != nil {
			return err
		}
	}
	if len(names) > 0 || f.all {
		err = approveAll(wait, s)
	} else if len(wait) > 0 && !f.asJSON {
		return approveEach(ctx, wait, s)
	}
	if err != nil {
		return err
	}
	if f.asJSON {
		return s.WriteIndented(append([]*heldServer{}, wait...))
	}
	if len(wait) == 0 && len(names) == 0 {
		s.Reportf("nothing waits for approval")
	}
	return nil
}

// chooseHeld are those that wait and have one of the names.
func chooseHeld(c *mcpconfig.Config, wait []*heldServer, names []string, s show.Streams) ([]*heldServer, error) {
	var out []*heldServer
	for _, name := range names {
		i := slices.IndexFunc(wait, func(w *heldServer) bool { return w.Server == name })
		if i >= 0 {
			if !slices.Contains(out, wait[i]) {
				out = append(out, wait[i])
			}
			continue
		}
		row, err := (&scopeFlags{}).find(c, name)
		switch {
		case err != nil:
			return nil, err
		case row.State == mcpconfig.Active && row.Scope == mcpconfig.Project:
			s.Reportf("%s is approved already", name)
		case row.State == mcpconfig.Active:
			s.Reportf("%s needs no approval: %s is not a project's file", name, row.File)
		default:
			return nil, command.NotStarted(row)
		}
	}
	return out, nil
}

// approveAll approves.
func approveAll(wait []*heldServer, s show.Streams) error {
	var rows []mcpconfig.Row
	for _, w := range wait {
		rows = append(rows, w.row)
	}
	if err := mcpconfig.Approve(dry(), rows...); err != nil {
		return err
	}
	for _, w := range wait {
		w.Approved, w.Reason = true, ""
		s.Reportf("approved %s: %s", w.Server, w.Runs)
	}
	return nil
}

// approveEach shows what waits, and asks about each where there is somebody to ask.
func approveEach(ctx context.Context, wait []*heldServer, s show.Streams) error {
	_, in := show.Terminal(s.In)
	_, out := show.Terminal(s.Err)
	if !in || !out {
		for _, w := range wait {
			fmt.Fprint(s.Out, w)
		}
		names := show.Names(wait, func(w *heldServer) string { return show.ShellWord(w.Server) })
		return command.Usagef("no terminal to ask on: approve them with indus mcp approve %s, or --all", strings.Join(names, " "))
	}
	answers := s.Lines()
	for _, w := range wait {
		fmt.Fprintf(s.Err, "%sapprove %s? [y/N] ", w, show.ShellWord(show.Clean(w.Server)))
		select {
		case <-ctx.Done():
			fmt.Fprintln(s.Err)
			return ctx.Err()
		case answer, ok := <-answers:
			if !ok { // the end of the input
				fmt.Fprintln(s.Err)
				return nil
			}
			switch strings.ToLower(strings.TrimSpace(answer)) {
			case "y", "yes":
				if err := mcpconfig.Approve(dry(), w.row); err != nil {
					return err
				}
				s.Reportf("approved %s", w.Server)
			default:
				s.Reportf("not approved: %s", w.Server)
			}
		}
	}
	return nil
}

// newHeldServer is all of a row that somebody wants to know before it may run.
func newHeldServer(c *mcpconfig.Config, r mcpconfig.Row) *heldServer {
	w := &heldServer{Server: r.Server.ID, File: r.File, Line: r.Line, Reason: r.Reason, Runs: r.Target, row: r}
	d, _ := c.Definition(r)
	field := func(name string) json.RawMessage {
		raw, _ := wire.Lookup(d.JSON, name)
		return raw
	}
	w.Tools = field("tools")
	if r.Kind != interop.KindStdio {
		w.Headers = namedValues(field("headers"), ": ")
		w.SignIn, w.TLS, w.Forwards = namedValues(field("oauth"), "="), namedValues(field("tls"), "="), r.Server.Forward.Names()
		return w
	}
	if whole := commandLine(field("command"), field("args")); len(whole) > maxRuns || strings.Contains(r.Target, secret.Mask) {
		w.Runs = whole
	}
	w.Cwd, _ = wire.Unquote(field("cwd"))
	w.Env = namedValues(field("env"), "=")
	w.EnvFile, _ = wire.Unquote(field("envFile"))
	if t, ok := r.Server.Transport.(interop.Stdio); ok {
		w.Inherits = t.InheritEnv
	}
	return w
}

// maxRuns is from where on a [mcpconfig.Row.Target] may be cut. Who approves must see
// all that runs.
const maxRuns = 4000

func commandLine(command, args json.RawMessage) string {
	elements, _ := wire.Elements(args)
	var words []string
	for _, raw := range append([]json.RawMessage{command}, elements...) {
		word, ok := wire.Unquote(raw)
		switch {
		case !ok:
			word = string(raw)
		case strings.ContainsFunc(word, func(r rune) bool { return !strconv.IsPrint(r) }):
			word = strconv.Quote(word)
		default:
			word = show.ShellWord(word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// namedValues are the members of an object. What a repository writes down is no secret of
// the user's, and any variable may decide what a program runs: so a value is shown,
// unless it has a secret's name or form.
func namedValues(raw json.RawMessage, is string) []string {
	members, _ := wire.Members(raw)
	var out []string
	for _, m := range members {
		value, ok := wire.Unquote(m.Value)
		switch {
		case !ok:
			value = string(m.Value)
		case secret.Named(m.Key) || secret.Like(value):
			value = secret.Literal(value)
		default:
			value = secret.Text(value)
		}
		out = append(out, m.Key+is+value)
	}
	return out
}

// String is it for a person, on a terminal too.
func (w *heldServer) String() string {
	var p show.Page
	p.Printf("%s  %s:%d: %s\n", show.ShellWord(show.Clean(w.Server)), w.File, w.Line, w.Reason)
	runs, whole := "runs", ""
	if w.row.Kind != interop.KindStdio {
		runs = "calls"
	}
	if w.Inherits {
		whole = "the whole environment of indus"
	}
	for _, line := range [][2]string{
		{runs, w.Runs}, {"in", w.Cwd}, {"env", strings.Join(w.Env, ", ")}, {"envFile", w.EnvFile}, {"and", whole},
		{"headers", strings.Join(w.Headers, ", ")}, {"oauth", strings.Join(w.SignIn, ", ")}, {"tls", strings.Join(w.TLS, ", ")},
		{"passes", strings.Join(w.Forwards, ", ")}, {"tools", string(w.Tools)},
	} {
		if line[1] != "" {
			p.Printf("  %-7s  %s\n", line[0], line[1])
		}
	}
	return p.String()
}

// takeBack revokes approvals of the project's file, whatever is in it by now.
func (f *approveFlags) takeBack(names []string, s show.Streams) error {
	list, err := approvedHere()
	if err == nil {
		err = f.knows("servers", "no server %q is approved here%s", names, approvedIDs(list))
	}
	if err != nil {
		return err
	}
	var rows []mcpconfig.Row
	var taken []heldServer
	for _, a := range list {
		if f.all || slices.Contains(names, a.ID) {
			rows = append(rows, mcpconfig.Row{File: a.File, Server: interop.Server{ID: a.ID}})
			taken = append(taken, heldServer{Server: a.ID, File: a.File})
		}
	}
	if err := mcpconfig.Revoke(dry(), rows...); err != nil {
		return err
	}
	if f.asJSON {
		return s.WriteIndented(append([]heldServer{}, taken...))
	}
	for _, w := range taken {
		s.Reportf("no longer approved: %s", w.Server)
	}
	if len(taken) == 0 {
		s.Reportf("nothing is approved here")
	}
	return nil
}

// knows refuses to take back what is not approved. Missing is the error's format.
func (f *approveFlags) knows(what, missing string, names, known []string) error {
	if len(names) == 0 && !f.all {
		return command.Usagef("--revoke needs the names of %s, or --all", what)
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

// approvedHere is what is approved of the working directory's project.
func approvedHere() ([]mcpconfig.Approved, error) {
	list, err := mcpconfig.Approvals(dry())
	if err != nil {
		return nil, err
	}
	path, err := mcpconfig.PathOf(mcpconfig.Project, dry())
	if err != nil {
		return nil, err
	}
	path = atomicfile.Real(path) // as approvals have it
	return slices.DeleteFunc(list, func(a mcpconfig.Approved) bool { return a.File != path }), nil
}
