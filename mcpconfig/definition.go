package mcpconfig

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Definition is a server as indus's own files write it: an id, and a row with its
// variables not replaced. It is what is imported, exported, added and written; reading
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

// origin is where a row stands, for [Config.Definition].
type origin struct{ v *hujson.Value }

// Definition is the row that has an id, as its file has it, without comments. Where no
// row can be used it is the first that has the id. The false says that there is none.
func (c *Config) Definition(id string) (Definition, bool) {
	best := -1
	for i, r := range c.Rows {
		if r.Server.ID != id || r.State == Shadowed {
			continue
		}
		if best < 0 || r.State != Skipped {
			best = i
		}
	}
	if best < 0 || c.origins == nil || best >= len(*c.origins) {
		return Definition{}, false
	}
	object, ok := (*c.origins)[best].v.Value.(*hujson.Object)
	if !ok { // it is no row at all
		return Definition{}, false
	}
	row := hujson.Value{Value: object}
	row = row.Clone()
	object = row.Value.(*hujson.Object)
	object.Members = slices.DeleteFunc(object.Members, func(m hujson.ObjectMember) bool {
		name := tree.Text(m.Name)
		return name == "id" || name == "name"
	})
	row.Standardize()
	row.Minimize()
	return Definition{ID: id, JSON: row.Pack()}, true
}
