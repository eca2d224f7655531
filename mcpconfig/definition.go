package mcpconfig

import (
	"encoding/json"
	"fmt"
	"io"

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
