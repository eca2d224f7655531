package mcpconfig

import (
	"fmt"
	"strings"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Note says what was skipped, changed or questionable in a configuration, where, and
// what to do. It holds names (of servers, keys, variables), never values.
type Note struct {
	// File as the caller would write it: relative where the path that was named is.
	File string `json:"file,omitempty"`
	// Line and Column count from 1, Column in bytes; 0 where the note is about the whole file.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Server is the id of the row; "" where the note is about the file, or the row has no id.
	Server string `json:"server,omitempty"`
	// Row counts the file's rows from 1; 0 where the note is about the file.
	Row int `json:"row,omitempty"`
	// State of the row, where this note is the reason for it; "" in advice about a
	// row that is read all the same, and in notes about a file.
	State State `json:"state,omitempty"`
	// Reason is what is wrong.
	Reason string `json:"reason"`
	// Hint is what to try; "" where there is nothing to say beyond the reason.
	Hint string `json:"hint,omitempty"`
}

// String is one line, with the position as editors and terminals find it:
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

// fileError is a Note that ends the reading, and the system's error.
type fileError struct {
	note Note
	err  error // may be nil
}

func (f *fileError) Error() string { return f.note.String() }
func (f *fileError) Unwrap() error { return f.err }

func (f *configFile) noteAt(at int, reason, hint string) Note {
	line, column := f.doc.Position(at)
	return Note{File: f.path, Line: line, Column: column, Reason: reason, Hint: hint}
}
