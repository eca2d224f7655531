package mcpconfig

import (
	"fmt"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Entry is indus as a server in another client's file: a command that the client starts, or
// the URL of an indus serve that runs.
type Entry struct {
	// ID is the name of the server.
	ID string
	// Command and Args start indus, such as "indus" and "serve", "--stdio". Their texts are literal.
	Command string
	Args    []string
	// URL is used where Command is "".
	URL string
	// Token is the environment variable of the bearer token that the client sends to URL; "" sends none.
	Token string
	// Replace allows the entry to take the place of a different server with the same ID. Nothing of that server stays.
	Replace bool
}

// Export writes an entry in the words of another client, one of [Clients] whose Writes
// is set. It returns the text of the client's file: into, which is that file as it
// is, with the entry added, or, where into is nil, a new one with nothing else.
// Nothing is written to disk, and no variable is looked up.
//
// What is there already stays as it is, with its comments. The error is [fs.ErrExist] where
// another server has the ID.
//
// A note says what the client would not read as it is meant. The notes have no File.
func Export(client string, e Entry, into []byte) (out []byte, notes []Note, err error) {
	syntax := foreign.SyntaxOf(client)
	if syntax == "" || client == foreign.Native {
		return nil, nil, unknownClient(client)
	}
	limit := maxFile
	if syntax == tree.JSON {
		limit = maxForeign
	}
	if len(into) > limit {
		return nil, nil, fmt.Errorf("the file is %w", atomicfile.TooLarge(int64(limit)))
	}
	var there *hujson.Value
	if doc, wrong := tree.Parse(into, syntax); wrong == nil { // otherwise Merge returns the error
		there = &doc.Root
	}
	written, err := foreign.Write(client, foreign.Entry{
		ID: e.ID, Command: e.Command, Args: e.Args, URL: e.URL, Token: e.Token,
	}, there)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range written.Notes {
		notes = append(notes, Note{Server: e.ID, Reason: n.Reason, Hint: n.Hint})
	}
	out, err = edit.Merge(written, into, e.Replace)
	return out, notes, err
}
