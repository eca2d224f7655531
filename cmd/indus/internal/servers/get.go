package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

func newGet(s show.Streams) *cobra.Command {
	var f scopeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "get NAME",
		SuggestFor:        []string{"show", "describe", "inspect"},
		Short:             "Show a server as its file has it",
		Long:              getHelp,
		Args:              oneServer,
		ValidArgsFunction: f.complete(1, anyRow),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.get(cmd.Context(), args[0], asJSON, s)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

const getHelp = `Show a server as its file has it, where that is, and whether it may start. Nothing is
started or looked up: variables are shown as they are written. The values of
environment and headers are hidden but for their variables, and so is what looks
like a secret elsewhere.

Usage:
  indus mcp get NAME [FLAG]...

Flags:
  --json       print a JSON object: server, state, scope, file, line, approval
               ("approved", "waiting" or, of the user's own, none), reason, try,
               notes, row` + narrowFlagsHelp + `

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

func (f *scopeFlags) get(ctx context.Context, name string, asJSON bool, s show.Streams) error {
	c, err := f.read(ctx)
	if err != nil {
		return err
	}
	r, err := f.find(c, name)
	if err != nil {
		return err
	}
	shown := shownRow{
		Server: name, State: r.State, Transport: r.Kind, Scope: r.Scope, File: r.File, Line: r.Line, Approval: approvalText(r),
		Reason: r.Reason, Try: r.Hint, Notes: []mcpconfig.Note{}, Row: rowOf(c, r),
	}
	for _, n := range c.Notes {
		if n.Server == name && n.File == r.File && n.State == "" {
			shown.Notes = append(shown.Notes, n)
		}
	}
	if !asJSON {
		return s.WriteText(shown.String())
	}
	return s.WriteIndented(shown)
}

// rowOf is a row as its file has it, with its secrets hidden; null where it is no object.
func rowOf(c *mcpconfig.Config, r mcpconfig.Row) json.RawMessage {
	d, ok := c.Definition(r)
	if !ok {
		return json.RawMessage("null")
	}
	return secret.Definition(d.JSON)
}

// approvalText is the word for how a row of a project's file stands.
func approvalText(r mcpconfig.Row) string {
	switch {
	case r.Scope != mcpconfig.Project || r.Approval == "":
		return ""
	case r.State == mcpconfig.Held:
		return "waiting"
	case r.State == mcpconfig.Active:
		return "approved"
	}
	return ""
}

func (r shownRow) String() string {
	var b strings.Builder
	about := string(r.Scope)
	if r.Approval == "approved" {
		about += ", approved"
	}
	fmt.Fprintf(&b, "%s  %s  %s:%d (%s)\n", show.Clean(r.Server), r.State, show.Clean(r.File), r.Line, about)
	if r.Reason != "" && r.Reason != string(r.State) {
		fmt.Fprintf(&b, "  %s\n", show.Clean(r.Reason))
	}
	if r.Try != "" {
		fmt.Fprintf(&b, "  try: %s\n", show.Clean(r.Try))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "  line %d: %s\n", n.Line, show.Clean(command.JoinHint(n.Reason, n.Hint)))
	}
	b.Write(show.EscapeHarmful([]byte(layoutJSON(r.Row, ""))))
	return b.String()
}

// layoutJSON is JSON with what fits on a line on one.
func layoutJSON(raw json.RawMessage, indent string) string {
	if one := spaceJSON(raw); len(indent)+len(one) <= 80 && (indent != "" || len(raw) < 3) {
		return one
	}
	var items []string
	brackets := "{}"
	deeper := indent + "  "
	if members, ok := show.Members(raw); ok {
		for _, m := range members {
			items = append(items, show.QuoteJSON(m.Key)+": "+layoutJSON(m.Value, deeper))
		}
	} else if elements, ok := show.Elements(raw); ok {
		brackets = "[]"
		for _, e := range elements {
			items = append(items, layoutJSON(e, deeper))
		}
	} else {
		return string(raw)
	}
	return brackets[:1] + "\n" + deeper + strings.Join(items, ",\n"+deeper) + "\n" + indent + brackets[1:]
}

// spaceJSON is JSON on one line, with a space where a person writes one.
func spaceJSON(raw json.RawMessage) string {
	var items []string
	if members, ok := show.Members(raw); ok {
		for _, m := range members {
			items = append(items, show.QuoteJSON(m.Key)+": "+spaceJSON(m.Value))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	if elements, ok := show.Elements(raw); ok {
		for _, e := range elements {
			items = append(items, spaceJSON(e))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return string(raw)
}
