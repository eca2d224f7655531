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
	"github.com/indusagi/indus/interop"
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

const getHelp = `Show a server as its file has it, where that is, and whether it may start. Nothing is
started or looked up: variables are shown as they are written. The values of
environment and headers are hidden but for their variables, and so is what looks
like a secret elsewhere.

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

// shownRow is what get prints with --json.
type shownRow struct {
	Server    string                `json:"server"`
	State     mcpconfig.State       `json:"state"`
	Transport interop.TransportKind `json:"transport,omitempty"`
	Scope     mcpconfig.Scope       `json:"scope"`
	File      string                `json:"file"`
	Line      int                   `json:"line"`
	Approval  string                `json:"approval,omitempty"`
	Reason    string                `json:"reason,omitempty"`
	Try       string                `json:"try,omitempty"`
	Notes     []mcpconfig.Note      `json:"notes"`
	Row       json.RawMessage       `json:"row"` // null where it is no object
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
	row := json.RawMessage("null") // of what is no object
	if d, ok := c.Definition(r); ok {
		row = secret.Definition(d.JSON)
	}
	shown := shownRow{
		Server: name, State: r.State, Transport: r.Kind, Scope: r.Scope, File: r.File, Line: r.Line, Approval: approvalText(r),
		Reason: r.Reason, Try: r.Hint, Notes: []mcpconfig.Note{}, Row: row,
	}
	for _, n := range c.Notes {
		if n.Server == name && n.File == r.File && n.State == "" {
			shown.Notes = append(shown.Notes, n)
		}
	}
	if !f.asJSON {
		return s.WriteText(shown.String())
	}
	return s.WriteIndented(shown)
}

// approvalText is the word for how a row of a project's file is approved.
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

// layoutJSON is JSON with what fits on a line on one.
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
