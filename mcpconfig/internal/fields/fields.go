package fields

import (
	"slices"

	"github.com/tailscale/hujson"
)

// Field is a key of an object in a file.
type Field struct {
	Name  string
	Kind  Kind
	Cover Cover
	Side  Side
	// Alias is set if the field is read, and rows are written with another one in its place.
	Alias bool
	// About is the meaning in Markdown, with the default.
	About string
	// Members are the keys of a value that is an object, in the order in which errors list them.
	Members []Field
}

// Kind is a kind of values.
type Kind struct {
	// Words name it for a person.
	Words string
	// JSON is the kind of JSON that a value must have, or 0 if it may have several, or if another value is left out.
	JSON hujson.Kind
	// Schema holds the members of its JSON Schema.
	Schema string
	// Def is the name of its schema below "$defs". If it is "", the schema stands at the field.
	Def string
}

// Cover is how an approval covers a field of a row.
type Cover int

// The ways. The zero value is for most fields.
const (
	// Written fields count as the file has them, with their variables not replaced.
	Written Cover = iota
	// Replaced fields count with their variables replaced, and decide how the server starts.
	Replaced
	// Decisive fields count as the file has them and with their variables replaced, because they decide where data goes.
	Decisive
	// Effective fields count by their effect: the transport, the policy for changed tools, the id, the state.
	Effective
	// Confining fields count if they allow more than the approved sandbox.
	Confining
	// Uncovered fields affect neither the command line nor the destination of data.
	Uncovered
)

// Side is the transport to which a field of a row belongs.
type Side int

// The sides.
const (
	Both Side = iota
	Process
	Remote
)

// Names returns the names of fields.
func Names(list []Field) (names []string) {
	for _, f := range list {
		names = append(names, f.Name)
	}
	return names
}

// RowNames returns the keys of a row for which keep returns true, in the order of the table.
func RowNames(keep func(Field) bool) []string {
	return Names(slices.DeleteFunc(slices.Clone(Row()), func(f Field) bool { return !keep(f) }))
}

// Find returns the field at a path: Find(Row(), "oauth", "issuer"). If there is none, it has no name.
func Find(list []Field, path ...string) (f Field) {
	for _, name := range path {
		i := slices.IndexFunc(list, func(f Field) bool { return f.Name == name })
		if i < 0 {
			return Field{}
		}
		f, list = list[i], list[i].Members
	}
	return f
}
