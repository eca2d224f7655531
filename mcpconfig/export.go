package mcpconfig

import (
	"fmt"
	"strings"

	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Export writes servers in the words of another client, one of [Clients] whose Writes
// is set. It returns the text of the client's file: into, which is that file as it
// is, with the servers added, or, where into is nil, a new one with nothing else.
// Nothing is written to disk, nothing is run, and no variable is looked up.
//
// What is there already stays as it is, with its comments. A server of the same id is
// replaced, whole.
//
// Variables become the client's own. Where it has no form for one, it stays as it is
// and a note says so; so does a note for everything else that the client cannot say.
// A server that it could not even start is left out, and its note's State is
// [Skipped]. The notes have no File.
func Export(client string, defs []Definition, into []byte, _ *Options) (out []byte, notes []Note, err error) {
	if foreign.SyntaxOf(client) == "" || client == foreign.Native {
		return nil, nil, unknownClient(client)
	}
	rows := make([]foreign.Definition, len(defs))
	for i, d := range defs {
		rows[i] = foreign.Definition(d.foreign())
	}
	written := foreign.Write(client, rows)
	if written == nil {
		return nil, nil, fmt.Errorf("indus reads the files of %s and does not write them", client)
	}
	for i, s := range written.Said {
		n := Note{Server: s.Server, Reason: s.Reason, Hint: s.Hint}
		if s.Left {
			n.State = Skipped
		}
		if i == 0 || notes[len(notes)-1] != n {
			notes = append(notes, n)
		}
	}
	out, more, err := merge(written, into)
	return out, append(notes, more...), err
}

func (d Definition) foreign() foreign.Definition { return foreign.Definition{ID: d.ID, JSON: d.JSON} }

// merge adds what is written to a file's text.
func merge(w *foreign.Written, into []byte) (out []byte, notes []Note, err error) {
	limit := maxFile
	if w.Syntax == tree.JSON {
		limit = maxForeign
	}
	if len(into) > limit {
		return nil, nil, fmt.Errorf("the file is %w", tooLarge(int64(limit)))
	}
	fresh := len(strings.TrimSpace(strings.TrimPrefix(string(into), "\ufeff"))) == 0
	doc, fault := tree.Parse(into, w.Syntax)
	switch {
	case fresh:
		doc = nil
	case fault != nil:
		line, column := doc.Position(fault.At)
		return nil, nil, fmt.Errorf("%d:%d: %s", line, column, fault.Reason)
	}
	switch w.Syntax {
	case tree.TOML:
		out, err = w.TOML(doc)
	case tree.YAML:
		out, err = w.YAML(doc)
	default:
		out, notes, err = mergeJSON(w, doc)
	}
	if err == nil && strings.HasPrefix(string(into), "\ufeff") {
		out = append([]byte("\ufeff"), out...)
	}
	return out, notes, err
}
