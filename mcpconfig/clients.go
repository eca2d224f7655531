package mcpconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Client is a program with a configuration of MCP servers. [Import] reads that configuration, and [Export] adds indus
// to it.
type Client struct {
	// Name is the name that [Import] and [Export] take, such as "claude-code".
	Name string `json:"name"`
	// Title is the product name.
	Title string `json:"title"`
}

// Clients returns all known clients, in alphabetical order.
func Clients() []Client {
	var out []Client
	for _, k := range foreign.All() {
		out = append(out, Client(k))
	}
	return out
}

// Files returns the files in which the client keeps its servers on this system, in the client's order of preference.
// Files of the project in Options.Dir come first, then the user's files. The files need not exist. Only for a directory
// with a file for each server, the list has the existing files.
func (c Client) Files(o *Options) []string { return newPlace(o).filesOf(c.Name) }

// SplitFiles returns the same files, those of a project and those of the user apart.
func (c Client) SplitFiles(o *Options) (project, user []string) {
	var elsewhere Options
	if o != nil {
		elsewhere = *o
	}
	elsewhere.Dir = "elsewhere" // files of a project have other paths there
	other := c.Files(&elsewhere)
	for _, file := range c.Files(o) {
		if slices.Contains(other, file) {
			user = append(user, file)
		} else {
			project = append(project, file)
		}
	}
	return project, user
}

// maxBlocks bounds the list of files that a directory of a hostile project can cause.
const maxBlocks = 100

func (p *readContext) filesOf(client string) []string {
	var files []string
	for _, path := range foreign.Files(client, p.foreign("")) {
		dir, name := filepath.Split(path)
		end, many := strings.CutPrefix(name, "*")
		if !many {
			files = append(files, path)
			continue
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries[:min(len(entries), maxBlocks)] {
			if strings.HasSuffix(e.Name(), end) {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	return files
}

// Entry is indus as a server in the file of another client. It is a command that the client starts, or the URL of a
// running indus serve.
type Entry struct {
	// ID is the name of the server.
	ID string
	// Command and Args start indus, such as "indus" and "serve", "--stdio". They are literal and have no variables.
	Command string
	Args    []string
	// URL is used if Command is "".
	URL string
	// Token is the environment variable that holds the bearer token for URL. If it is "", no token is sent.
	Token string
	// Bearer is the bearer token for URL itself, for the user's own files. If it is set, Token is not used.
	Bearer string
	// Replace allows the entry to replace a different server with the same ID. Nothing of that server stays.
	Replace bool
	// Remove holds IDs of other servers, which are removed. If Command and URL are both "", nothing is added.
	Remove []string
	// Restore holds servers that are added after that, by their IDs, in the form of [ClientRows].
	Restore map[string]json.RawMessage
}

// ClientRows returns the servers in the text of a client's file by their IDs, each as JSON in the format of that
// client. It is empty for a text without servers.
func ClientRows(client string, text []byte) (map[string]json.RawMessage, error) {
	written, err := clientFormat(client, Entry{}, text)
	if err != nil {
		return nil, err
	}
	return edit.Rows(written, text)
}

// Export writes an entry in the format of another client, which must be one of [Clients]. If existing is not nil, it is
// the text of the client's file, and Export returns it with the entry added. If existing is nil, Export returns a new
// file with only the entry. Export writes nothing to disk and looks up no variable.
//
// Everything else in the file stays as it is, with its comments, except the servers in Entry.Remove. If another server
// has the ID, the error is [fs.ErrExist].
//
// A note names a part of the entry that the client would read in another way. The notes have no File.
func Export(client string, e Entry, existing []byte) (out []byte, notes []Note, err error) {
	written, err := clientFormat(client, e, existing)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range written.Notes {
		notes = append(notes, Note{Server: e.ID, Reason: n.Reason, Hint: n.Hint})
	}
	out = existing
	if e.Command != "" || e.URL != "" {
		out, err = edit.Merge(written, existing, e.Replace)
	}
	if err == nil {
		out, err = edit.Remove(written, out, e.Remove)
	}
	if err == nil {
		out, err = edit.Restore(written, out, e.Restore)
	}
	return out, notes, err
}

// clientFormat returns an entry in the format of a client, for the text of its file.
func clientFormat(client string, e Entry, existing []byte) (*foreign.Written, error) {
	syntax := foreign.SyntaxOf(client)
	if syntax == "" || client == foreign.Native {
		return nil, unknownClient(client)
	}
	limit := maxFile
	if syntax == tree.JSON {
		limit = maxForeign
	}
	if syntax == tree.YAML && len(bytes.TrimSpace(existing)) > 0 {
		syntax = foreign.SyntaxFor("", existing) // such a file may hold JSON
	}
	if len(existing) > limit {
		return nil, fmt.Errorf("the file is %w", atomicfile.TooLarge(int64(limit)))
	}
	var there *hujson.Value
	if doc, wrong := tree.Parse(existing, syntax); wrong == nil { // if the text is wrong, Merge returns the error
		there = &doc.Root
	}
	written, err := foreign.Write(client, foreign.Entry{
		ID: e.ID, Command: e.Command, Args: e.Args, URL: e.URL, Token: e.Token, Bearer: e.Bearer,
	}, there)
	if err != nil {
		return nil, err
	}
	written.Syntax = syntax
	return written, nil
}

func unknownClient(client string) error {
	var names []string
	for _, c := range foreign.All() {
		names = append(names, c.Name)
	}
	return fmt.Errorf("unknown client %s; %s", tree.Quote(client),
		choices(client, "one of "+strings.Join(names, ", "), names))
}
