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

// Definition is a server as indus's own files write it: an id, and a row with its
// variables not replaced. It is what is imported, added and written; reading
// it as a [Row] says whether it is any good.
//
// It prints as its id in every format of package fmt, because the row may hold secrets.
type Definition struct {
	ID string
	// JSON is the row, one object, without the id.
	JSON json.RawMessage
}

// String is the id, quoted.
func (d Definition) String() string { return tree.Quote(d.ID) }

// Format prints [Definition.String] whatever the verb.
func (d Definition) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, d.String()) }

// Find is the row that counts of those that have an id and that in says yes to: one that
// may start or is disabled, else one that waits, is shadowed, or cannot be used. in may be
// nil: all. The false says that there is none.
func (c *Config) Find(id string, in func(Row) bool) (Row, bool) {
	ranks := []State{Active, Disabled, Held, Shadowed, Skipped}
	best := -1
	for i, r := range c.Rows {
		if r.Server.ID != id || in != nil && !in(r) {
			continue
		}
		if best < 0 || slices.Index(ranks, r.State) < slices.Index(ranks, c.Rows[best].State) {
			best = i
		}
	}
	if best < 0 {
		return Row{}, false
	}
	return c.Rows[best], true
}

// entry finds a row of Rows; nil: it is none of them.
func (c *Config) entry(r Row) *entry {
	i := slices.IndexFunc(c.Rows, func(o Row) bool {
		return o.Server.ID == r.Server.ID && o.File == r.File && o.Line == r.Line && o.State == r.State
	})
	if i < 0 || c.entries == nil {
		return nil
	}
	return c.entries()[i]
}

// Definition is a row of Rows, as its file has it, without comments. The false says that
// it is no object.
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

// FileSchema is the JSON Schema (2020-12) of indus's own files, which editors complete
// by: {"$schema": "…", "servers": …}. The bytes are the caller's own.
func FileSchema() []byte { return slices.Clone(fileSchema) }
