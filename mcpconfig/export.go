package mcpconfig

import (
	"fmt"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
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
		rows[i] = foreign.Definition{ID: d.ID, JSON: d.JSON}
	}
	var there *hujson.Value
	if len(into) <= maxForeign {
		if doc, wrong := tree.Parse(into, foreign.SyntaxOf(client)); wrong == nil { // else Merge says what is wrong
			there = &doc.Root
		}
	}
	written := foreign.Write(client, rows, there)
	if written == nil {
		return nil, nil, fmt.Errorf("indus reads the files of %s and does not write them", client)
	}
	for i, s := range written.Lost {
		n := Note{Server: s.Server, Reason: s.Reason, Hint: s.Hint}
		if s.Skipped {
			n.State = Skipped
		}
		if i == 0 || notes[len(notes)-1] != n {
			notes = append(notes, n)
		}
	}
	limit := maxFile
	if written.Syntax == tree.JSON {
		limit = maxForeign
	}
	if len(into) > limit {
		return nil, notes, fmt.Errorf("the file is %w", atomicfile.TooLarge(int64(limit)))
	}
	out, more, err := edit.Merge(written, into)
	for _, n := range more {
		notes = append(notes, Note{Reason: n.Reason, Hint: n.Hint})
	}
	return out, notes, err
}
