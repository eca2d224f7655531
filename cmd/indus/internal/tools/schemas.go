package tools

import (
	"encoding/json"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// shownTool is a tool as a model sees it, as --json prints it.
type shownTool struct {
	Name        string          `json:"name"`
	Server      string          `json:"server"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // null where no model is shown it
	Original    json.RawMessage `json:"original,omitempty"`
	Changes     []schema.Change `json:"changes"`
	Quarantined string          `json:"quarantined,omitempty"`
}

// printSchemas prints tools of a box as models see them.
func (f *toolsFlags) printSchemas(s show.Streams, box *toolbox.Box, p *schema.Profile, all []toolbox.Descriptor) error {
	descriptions := ForModels(box)
	shown := make([]shownTool, len(all))
	for i, d := range all {
		shown[i] = shownTool{
			Name: d.Name, Server: d.Server, Description: descriptions[d.Name], Parameters: d.Parameters,
			Changes: append([]schema.Change{}, d.Changes...), Quarantined: Reason(d.Excluded),
		}
		if f.original {
			shown[i].Original = d.Schema
		}
	}
	if f.asJSON {
		return s.WriteIndented(shown)
	}
	var out show.Page
	for i, t := range shown {
		if i > 0 {
			out.Printf("\n")
		}
		t.write(&out, p)
	}
	return s.Print(&out)
}

// write is a tool for a person.
func (t shownTool) write(out *show.Page, p *schema.Profile) {
	out.Printf("%s\n", t.Name)
	for line := range strings.Lines(strings.TrimSpace(show.CleanLines(t.Description))) {
		out.Printf("    %s\n", strings.TrimRight(line, " \t\n"))
	}
	block := func(raw json.RawMessage) { // on lines of its own, and harmless to a terminal
		out.WriteString("    " + strings.ReplaceAll(show.IndentJSON(show.EscapeHarmful(raw)), "\n", "\n    ") + "\n")
	}
	if t.Quarantined != "" {
		out.Printf("  no model is shown it: %s\n", t.Quarantined)
	} else {
		out.Printf("  parameters (%s)\n", p.Name())
		block(t.Parameters)
	}
	if t.Original == nil {
		return
	}
	out.Printf("  original\n")
	block(t.Original)
	var done remarks
	for _, c := range t.Changes {
		done.addChange(c)
	}
	for i, m := range done {
		if i == 0 {
			out.Printf("  changes\n")
		}
		out.Printf("    %s\n", m)
	}
}
