package mcpconfig

import (
	"fmt"
	"strings"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Note is about a part of a configuration that was skipped, changed or is questionable. It has the position and a
// remedy. It holds names (of servers, keys, variables), never values.
type Note struct {
	// File is the path in the caller's form. It is relative if the named path is relative.
	File string `json:"file,omitempty"`
	// Line and Column count from 1, Column in bytes. They are 0 if the note is about the whole file.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Server is the id of the row. It is "" if the note is about the file, or if the row has no id.
	Server string `json:"server,omitempty"`
	// Row counts the file's rows from 1. It is 0 if the note is about the file.
	Row int `json:"row,omitempty"`
	// State is the state of the row, if this note is the reason for it. It is "" in advice about a row that is still
	// used, and in notes about a file.
	State State `json:"state,omitempty"`
	// Reason describes the problem.
	Reason string `json:"reason"`
	// Hint is the suggested remedy. It is "" if the reason is enough.
	Hint string `json:"hint,omitempty"`
}

// String returns one line. The position has the form that editors and terminals recognize:
//
//	mcp.json:12:5: server "x": reason; what to try
func (n Note) String() string {
	var b strings.Builder
	b.WriteString(n.File)
	if n.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", n.Line, n.Column)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	switch {
	case n.Server != "":
		fmt.Fprintf(&b, "server %s: ", tree.Quote(n.Server))
	case n.Row > 0:
		fmt.Fprintf(&b, "row %d: ", n.Row)
	}
	b.WriteString(n.Reason)
	if n.Hint != "" {
		b.WriteString("; " + n.Hint)
	}
	return b.String()
}

// fileError is a Note that ends the reading, with the system's error.
type fileError struct {
	note Note
	err  error // may be nil
}

func (f *fileError) Error() string { return f.note.String() }
func (f *fileError) Unwrap() error { return f.err }
