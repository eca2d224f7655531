package mcpconfig

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Definition is a server in the format of indus's own files: an id, and a row with its variables not replaced. It is
// used for importing, adding and writing servers. It may be invalid: only reading it as a [Row] checks it.
//
// Every format of package fmt prints only its id, because the row may hold secrets.
type Definition struct {
	ID string
	// JSON is the row: one object, without the id.
	JSON json.RawMessage
}

// String returns the id, quoted.
func (d Definition) String() string { return tree.Quote(d.ID) }

// Format prints [Definition.String] for every verb.
func (d Definition) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, d.String()) }

// Find returns the row that counts among the rows with an id for which in returns true. A row that may start comes
// first, then a disabled row. After them come held, shadowed and skipped rows. If in is nil, all rows are candidates.
// It returns false if there is no such row.
func (c *Config) Find(id string, matches func(Row) bool) (Row, bool) {
	ranks := []State{Active, Disabled, Held, Shadowed, Skipped}
	rows := slices.DeleteFunc(slices.Clone(c.Rows), func(r Row) bool {
		return r.Server.ID != id || matches != nil && !matches(r)
	})
	if len(rows) == 0 {
		return Row{}, false
	}
	rank := func(a, b Row) int { return slices.Index(ranks, a.State) - slices.Index(ranks, b.State) }
	return slices.MinFunc(rows, rank), true
}

// entry returns the entry of a row of Rows, or nil if the row is not in Rows.
func (c *Config) entry(r Row) *entry {
	i := slices.IndexFunc(c.Rows, func(o Row) bool {
		return o.Server.ID == r.Server.ID && o.File == r.File && o.Line == r.Line && o.State == r.State
	})
	if i < 0 || c.entries == nil {
		return nil
	}
	return c.entries()[i]
}

// Definition returns the definition of a row of Rows as its file has it, without comments. It returns false if the row
// is not an object.
func (c *Config) Definition(r Row) (Definition, bool) {
	e := c.entry(r)
	if e == nil {
		return Definition{}, false
	}
	row, ok := edit.Row(e.v)
	return Definition{ID: r.Server.ID, JSON: row}, ok
}

//go:embed schema.json
var fileSchema []byte

// FileSchema returns the JSON Schema (2020-12) of indus's own files, which editors use for completion: {"$schema": "…",
// "servers": …}. The caller owns the bytes.
func FileSchema() []byte { return slices.Clone(fileSchema) }
