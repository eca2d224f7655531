package servers

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

func newGet(s show.Streams) *cobra.Command {
	return newRowCommand(cobra.Command{
		Use: "get NAME", SuggestFor: []string{"show", "describe", "inspect"},
		Short: "Show a server as its file has it", Long: getHelp,
	}, anyRow, s, `print a JSON object: server, state, scope, file, line, approval ("approved", "waiting" or, of the
		user's own, none), reason, try, notes, row`, (*scopeFlags).get)
}

const getHelp = `Show the entry of a server, its file, and whether it may start. Nothing is started or
looked up: variables are shown as they are written. The values of environment and headers
are hidden, except for their variables. Other values that look like secrets are hidden
too.

A session:
  $ indus mcp get github
  github  active  /home/me/.config/indusvx/mcp.json:4 (user)
  {
    "command": "npx",
    "args": ["-y", "@modelcontextprotocol/server-github"],
    "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "LOG": "<secret>"}
  }

Exit codes:
  0    ok, whatever its state
  2    usage: flags, files, and no such NAME
  130  interrupted`

// shownRow is the output of get --json.
type shownRow struct {
	Server    string               `json:"server"`
	State     mcpconfig.State      `json:"state"`
	Transport config.TransportKind `json:"transport,omitempty"`
	Scope     mcpconfig.Scope      `json:"scope"`
	File      string               `json:"file"`
	Line      int                  `json:"line"`
	Approval  string               `json:"approval,omitempty"`
	Reason    string               `json:"reason,omitempty"`
	Try       string               `json:"try,omitempty"`
	Notes     []mcpconfig.Note     `json:"notes"`
	Row       json.RawMessage      `json:"row"` // null if the row is not an object
}

func (f *scopeFlags) get(ctx context.Context, name string, s show.Streams) error {
	c, err := f.read(ctx)
	if err != nil {
		return err
	}
	r, err := f.find(c, name)
	if err != nil {
		return err
	}
	row := json.RawMessage("null") // if the row is not an object
	if d, ok := c.Definition(r); ok {
		row = secret.Definition(d.JSON)
	}
	shown := shownRow{
		Server: name, State: r.State, Transport: r.Kind, Scope: r.Scope, File: r.File, Line: r.Line,
		Approval: approvalText(r), Reason: r.Reason, Try: r.Hint, Notes: []mcpconfig.Note{}, Row: row,
	}
	for _, n := range c.Notes {
		if n.Server == name && n.File == r.File && n.State == "" {
			shown.Notes = append(shown.Notes, n)
		}
	}
	if !f.asJSON {
		return s.WriteWrapped(shown.String() + "\n")
	}
	return s.WriteIndented(shown)
}

// approvalText returns "waiting" or "approved" for a row that needs approval, otherwise "".
func approvalText(r mcpconfig.Row) string {
	switch {
	case r.Scope != mcpconfig.Project && r.Project == "" || r.Approval == "":
		return ""
	case r.State == mcpconfig.Held:
		return "waiting"
	case r.State == mcpconfig.Active:
		return "approved"
	}
	return ""
}

func (r shownRow) String() string {
	var p show.Page
	about := string(r.Scope)
	if r.Approval == "approved" {
		about += ", approved"
	}
	p.Printf("%s  %s  %s:%d (%s)\n", r.Server, r.State, r.File, r.Line, about)
	if r.Reason != "" && r.Reason != string(r.State) {
		p.Printf("  %s\n", r.Reason)
	}
	if r.Try != "" {
		p.Printf("  try: %s\n", r.Try)
	}
	for _, n := range r.Notes {
		p.Printf("  line %d: %s\n", n.Line, command.JoinHint(n.Reason, n.Hint))
	}
	p.Write(show.EscapeHarmful([]byte(layoutJSON(r.Row, ""))))
	return p.String()
}

// layoutJSON formats JSON. A nested value is on one line if it fits.
func layoutJSON(raw json.RawMessage, indent string) string {
	var items []string
	brackets, deeper := "{}", indent+"  "
	if members, err := wire.Members(raw); err == nil {
		for _, m := range members {
			items = append(items, string(text.Quote(m.Key))+": "+layoutJSON(m.Value, deeper))
		}
	} else if elements, err := wire.Elements(raw); err == nil {
		brackets = "[]"
		for _, e := range elements {
			items = append(items, layoutJSON(e, deeper))
		}
	} else {
		return string(raw)
	}
	line := brackets[:1] + strings.Join(items, ", ") + brackets[1:]
	if len(items) == 0 || indent != "" && len(indent)+len(line) <= 80 && !strings.Contains(line, "\n") {
		return line
	}
	return brackets[:1] + "\n" + deeper + strings.Join(items, ",\n"+deeper) + "\n" + indent + brackets[1:]
}

// editJSONHelp is the usage of --json for commands that change a row.
const editJSONHelp = `print a JSON object: server, did (added, replaced, removed, enabled or disabled), changed, file,
	line, and rows, all that the name has now: [{state, scope, file, line, reason, try}]`

// editResult is the result of a change to a server in the output of --json.
type editResult struct {
	Server  string          `json:"server"`
	Did     string          `json:"did"`
	Changed bool            `json:"changed"` // false if the change was already made before
	File    string          `json:"file"`
	Line    int             `json:"line"`
	Rows    []editResultRow `json:"rows"`
}

type editResultRow struct {
	State  mcpconfig.State `json:"state"`
	Scope  mcpconfig.Scope `json:"scope"`
	File   string          `json:"file"`
	Line   int             `json:"line"`
	Reason string          `json:"reason,omitempty"`
	Try    string          `json:"try,omitempty"`
}

func (f *scopeFlags) addJSON(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&f.asJSON, "json", false, usage)
}

// printEdited prints the result with --json. Otherwise the result is on stderr already.
func (f *scopeFlags) printEdited(ctx context.Context, e editResult, s show.Streams) error {
	if !f.asJSON {
		return nil
	}
	c, err := f.read(ctx)
	if err != nil {
		return err
	}
	e.Rows = []editResultRow{}
	for _, r := range c.Rows {
		if r.Server.ID == e.Server {
			e.Rows = append(e.Rows, editResultRow{r.State, r.Scope, r.File, r.Line, r.Reason, r.Hint})
		}
	}
	return s.WriteIndented(e)
}

// change edits the file of a configured server, and returns the row before the change.
func (f *scopeFlags) change(
	ctx context.Context, name string, s show.Streams, change func(*mcpconfig.Edit) error,
) (row mcpconfig.Row, err error) {
	_, err = editFile(ctx, s, true, func() (string, error) {
		c, err := f.read(ctx)
		if err == nil {
			row, err = f.find(c, name)
		}
		return row.File, err
	}, change)
	return row, err
}

// reportPlainSecrets warns of values that look like secrets in plain text. It hides them, and suggests a variable.
func reportPlainSecrets(d mcpconfig.Definition, path string, s show.Streams) {
	for _, p := range secret.FindInDefinition(d.JSON) {
		s.Reportf(
			"%s: %s looks like a secret, and is in %s in plain text; write %s, which takes it from the environment, or "+
				"${cmd:pass show …} instead",
			d.ID, p.Where, path, p.Variable)
	}
}

// newSwitch returns the command enable or disable.
func newSwitch(on bool, s show.Streams) *cobra.Command {
	verb, short, long := "enable", "Switch a server on", "Enable a server that is disabled in its file."
	if !on {
		verb, short = "disable", "Switch a server off"
		long = "Switch a server off. Its entry stays in the file, so that a server of this name in a " +
			"file of lower precedence stays hidden."
	}
	long += strings.ReplaceAll(`

A session:
  $ indus mcp VERB github
  indus: VERBd github at /home/me/.config/indusvx/mcp.json:4

Exit codes:
  0    ok, also if it was so already`, "VERB", verb) + changeExitHelp
	changes := func(r mcpconfig.Row) bool { return (r.State == mcpconfig.Disabled) == on }
	return newRowCommand(cobra.Command{Use: verb + " NAME", Short: short, Long: long}, changes, s, editJSONHelp,
		func(f *scopeFlags, ctx context.Context, name string, s show.Streams) error {
			return f.enable(ctx, name, on, verb+"d", s)
		})
}

// changeExitHelp lists the exit codes of commands that change a row, after the text for 0.
const changeExitHelp = `
  1    the file changed at the same moment: try again
  2    usage: flags, files, and no such NAME; nothing was written
  130  interrupted`

func (f *scopeFlags) enable(ctx context.Context, name string, on bool, verb string, s show.Streams) error {
	changed := false
	row, err := f.change(ctx, name, s, func(e *mcpconfig.Edit) error {
		before := string(e.Text())
		err := e.Enable(name, on)
		changed = string(e.Text()) != before
		return err
	})
	if err != nil {
		return err
	}
	if !changed {
		s.Reportf("%s is %s already, at %s:%d", name, verb, row.File, row.Line)
	} else {
		s.Reportf("%s %s at %s:%d", verb, name, row.File, row.Line)
	}
	c, err := f.read(ctx)
	if err != nil {
		return err
	}
	r, ok := c.Find(name, func(r mcpconfig.Row) bool { return r.File == row.File })
	switch {
	case !on && ok && r.State == mcpconfig.Held:
		if err := mcpconfig.Approve(dryOptions(), r); err != nil { // a held row disables no server
			return err
		}
	case on && ok && r.State != mcpconfig.Active:
		s.Reportf("%s is %s: %s", name, r.State, command.JoinHint(r.Reason, r.Hint))
	}
	return f.printEdited(ctx, editResult{Server: name, Did: verb, Changed: changed, File: row.File, Line: row.Line}, s)
}

func newRemove(s show.Streams) *cobra.Command {
	return newRowCommand(cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm", "delete"}, SuggestFor: []string{"uninstall", "del"},
		Short: "Take a server out of its configuration file", Long: removeHelp,
	}, anyRow, s, editJSONHelp, (*scopeFlags).remove)
}

const removeHelp = `Remove a server from the file where it is configured. If several files have it, it is
removed from the file that takes precedence. The rest of the file stays as it is, and so
do comments on lines of their own.

A session:
  $ indus mcp remove github
  indus: removed github from .indusvx/mcp.json:4
  indus: github is now the one at /home/me/.config/indusvx/mcp.json:3 (active)

Exit codes:
  0    ok` + changeExitHelp

func (f *scopeFlags) remove(ctx context.Context, name string, s show.Streams) error {
	row, err := f.change(ctx, name, s, func(e *mcpconfig.Edit) error { return e.Remove(name) })
	if err != nil {
		return err
	}
	s.Reportf("removed %s from %s:%d", name, row.File, row.Line)
	if err := forget(row); err != nil {
		return err
	}
	if f.file == "" {
		c, err := mcpconfig.Read(ctx, nil, dryOptions())
		if err != nil {
			return err
		}
		for _, r := range c.Rows {
			if r.Server.ID == name && r.State != mcpconfig.Shadowed && r.State != mcpconfig.Skipped {
				s.Reportf("%s is now the one at %s:%d (%s)", name, r.File, r.Line, r.State)
			}
		}
	}
	return f.printEdited(ctx, editResult{Server: name, Did: "removed", Changed: true, File: row.File, Line: row.Line}, s)
}
