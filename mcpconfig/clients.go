package mcpconfig

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Client is a program whose configuration of MCP servers [Import] reads, and to
// which [Export] adds indus.
type Client struct {
	// Name is what [Import] and [Export] take, such as "claude-code".
	Name string `json:"name"`
	// Title is what its maker calls it.
	Title string `json:"title"`
	// Writes reports whether [Export] has a form for it.
	Writes bool `json:"writes"`
}

// Clients are all that are known, in alphabetical order.
func Clients() []Client {
	var out []Client
	for _, k := range foreign.All() {
		out = append(out, Client(k))
	}
	return out
}

// Files is where the client keeps its servers on this system, in the order in which
// it prefers them: those of the project in Options.Dir, then the user's. Whether one
// is there is not asked; only of a directory with a file for each server they are
// those that are in it.
func (c Client) Files(o *Options) []string { return newPlace(o).filesOf(c.Name) }

// maxBlocks bounds what a directory of a hostile project can make of a list of files.
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

// foreign is this place for the package that knows the other clients.
func (p *readContext) foreign(path string) *foreign.Place {
	absolute := func(path string) string {
		if abs, err := filepath.Abs(path); err == nil {
			return abs
		}
		return path
	}
	out := &foreign.Place{OS: runtime.GOOS, Dir: absolute(p.Dir), Home: p.Home, Config: p.XDG, Env: p.Env}
	if path != "" {
		out.Path = absolute(path)
	}
	return out
}

// maxForeign bounds the files of other programs, some of which keep their entire
// history in the same file.
const maxForeign = 16 << 20

// foreign reads the rows of another program's file.
func (f *configFile) foreign(client string) *fileError {
	mapped, wrong := foreign.Read(f.doc, client, f.place.foreign(f.path))
	if wrong != nil {
		return f.errorAt(wrong)
	}
	for i := range mapped.Rows {
		row := &mapped.Rows[i]
		key := &hujson.Value{StartOffset: row.At, Value: hujson.String(row.ID)}
		if row.Bad == nil {
			f.row(key, &row.Value)
			continue
		}
		e := entry{n: len(f.entries) + 1, from: f, key: key, v: &row.Value}
		e.Row = Row{File: f.path, Scope: f.scope, State: Skipped, Reason: row.Bad.Reason, Hint: row.Bad.Hint}
		e.Server.ID = row.ID
		e.Line, e.column = f.doc.Position(row.At)
		f.entries = append(f.entries, e)
	}
	f.remarks(mapped)
	return nil
}

// remarks adds the notes about another program's file and its rows.
func (f *configFile) remarks(mapped *foreign.File) {
	for _, m := range mapped.Notes {
		f.notes = append(f.notes, f.noteAt(m.At, m.Reason, m.Hint))
	}
	for i, row := range mapped.Rows {
		for _, m := range row.Notes {
			f.notes = append(f.notes, f.rowNote(m, row.ID, i+1, ""))
		}
		if row.Bad != nil {
			f.notes = append(f.notes, f.rowNote(*row.Bad, row.ID, i+1, Skipped))
		}
	}
}

func (f *configFile) rowNote(m tree.Note, id string, n int, state State) Note {
	note := f.noteAt(m.At, m.Reason, m.Hint)
	note.Server, note.Row, note.State = id, n, state
	return note
}

// project is the directory that a file in dir is for: the one around it where dir
// is where a program keeps its settings in a project.
func project(dir string) string {
	for _, settings := range append(foreign.SettingsDirs(), ".indusvx") {
		up := dir
		for settings != "." && filepath.Base(up) == path.Base(settings) {
			up, settings = filepath.Dir(up), path.Dir(settings)
		}
		if settings == "." {
			return up
		}
	}
	return dir
}

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
