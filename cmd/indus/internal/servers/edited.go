package servers

import (
	"context"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

// editedJSON is the usage of --json of commands that change a row.
const editedJSON = `print a JSON object: server, did (added, replaced, removed, enabled or disabled), changed, file, line, and rows,
	all that the name has now: [{state, scope, file, line, reason, try}]`

// edited is what became of a server, as --json prints it.
type edited struct {
	Server  string      `json:"server"`
	Did     string      `json:"did"`
	Changed bool        `json:"changed"` // false: it was so already
	File    string      `json:"file"`
	Line    int         `json:"line"`
	Rows    []editedRow `json:"rows"`
}

type editedRow struct {
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

// printEdited prints what was done, with --json. For a person it is said on stderr.
func (f *scopeFlags) printEdited(ctx context.Context, e edited, s show.Streams) error {
	if !f.asJSON {
		return nil
	}
	c, err := f.read(ctx)
	if err != nil {
		return err
	}
	e.Rows = []editedRow{}
	for _, r := range c.Rows {
		if r.Server.ID == e.Server {
			e.Rows = append(e.Rows, editedRow{r.State, r.Scope, r.File, r.Line, r.Reason, r.Hint})
		}
	}
	return s.WriteIndented(e)
}

// change edits the file of a server that is there, and returns the row as it was.
func (f *scopeFlags) change(ctx context.Context, name string, change func(*mcpconfig.Edit) error) (row mcpconfig.Row, err error) {
	_, err = edit(ctx, true, func() (string, error) {
		c, err := f.read(ctx)
		if err == nil {
			row, err = f.find(c, name)
		}
		return row.File, err
	}, change)
	return row, err
}

// reportPlainSecrets warns of values that look like secrets in plain text, without showing
// them, and says how to keep them out of the file.
func reportPlainSecrets(d mcpconfig.Definition, path string, s show.Streams) {
	for _, p := range secret.InDefinition(d.JSON) {
		s.Reportf("%s: %s looks like a secret, and is in %s in plain text; write %s, which takes it from the environment, or ${cmd:pass show …} instead",
			d.ID, p.Where, path, p.Variable)
	}
}
