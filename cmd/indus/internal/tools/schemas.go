package tools

import (
	"encoding/json"
	"fmt"
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
		shown[i] = schemaOf(d, descriptions[d.Name])
		if f.original {
			shown[i].Original = d.Schema
		}
	}
	if f.asJSON {
		return s.WriteIndented(shown)
	}
	var b strings.Builder
	for i, t := range shown {
		if i > 0 {
			b.WriteByte('\n')
		}
		t.write(&b, p)
	}
	if b.Len() == 0 {
		return nil
	}
	return s.WriteText(b.String())
}

// schemaOf is what becomes of a tool, with the description that models are shown.
func schemaOf(d toolbox.Descriptor, description string) shownTool {
	return shownTool{
		Name: d.Name, Server: d.Server, Description: description, Parameters: d.Parameters,
		Changes: append([]schema.Change{}, d.Changes...), Quarantined: Reason(d.Excluded),
	}
}

// write is a tool for a person. The schemas are JSON that cannot drive a terminal.
func (t shownTool) write(b *strings.Builder, p *schema.Profile) {
	fmt.Fprintln(b, show.Clean(t.Name))
	for line := range strings.Lines(strings.TrimSpace(show.CleanLines(t.Description))) {
		fmt.Fprintf(b, "    %s\n", strings.TrimRight(line, " \t\n"))
	}
	if t.Quarantined != "" {
		fmt.Fprintf(b, "  no model is shown it: %s\n", show.Clean(t.Quarantined))
	} else {
		fmt.Fprintf(b, "  parameters (%s)\n%s", p.Name(), block4(t.Parameters))
	}
	if t.Original == nil {
		return
	}
	fmt.Fprintf(b, "  original\n%s", block4(t.Original))
	for i, m := range changeRemarks(t.Changes) {
		if i == 0 {
			b.WriteString("  changes\n")
		}
		fmt.Fprintf(b, "    %s\n", show.Clean(m.String()))
	}
}

// block4 is JSON on lines of its own, four columns in.
func block4(raw json.RawMessage) string {
	return "    " + strings.ReplaceAll(show.IndentJSON(show.EscapeHarmful(raw)), "\n", "\n    ") + "\n"
}
