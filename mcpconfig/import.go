package mcpconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Imported holds the servers of a client's files, in the format of indus.
type Imported struct {
	// Client is the [Client.Name] that belongs to the format of the file. It is "indus" for indus's own format.
	Client string `json:"client"`
	// File is the named file. It is "" if the client's own files were looked up.
	File string `json:"file,omitempty"`
	// Files are the files that were read, in order of precedence.
	Files []string `json:"files"`
	// Definitions are the servers, in the order of the files. Their ids are unique. They print and marshal as their
	// ids, because a row may hold secrets.
	Definitions []Definition `json:"-"`
	// From holds the file of each definition.
	From []string `json:"-"`
	// Notes are about parts that were changed or not taken over, with their position. If a server is not in
	// Definitions, a note with the State [Skipped] has the reason.
	Notes []Note `json:"notes,omitempty"`
}

// Import reads the file of another client. If client is not "", it names the client. Otherwise the content of the file
// decides which client it is, and its name if the content does not decide.
//
// If path is "", Import reads the client's own files ([Client.Files]) that exist. If two files have an id, the file
// that the client prefers has the whole row: nothing is merged.
//
// Import reads only these files, which must be regular files of at most 16 MiB. It runs nothing and replaces no
// variable. It returns an error if a file cannot be read or parsed, or has no servers of any client. The error is
// [ErrNoServer] if the file is valid but has no servers. A mistake in one server is a note. If one of a client's own
// files cannot be used but another one can, that is a note too.
func Import(path, client string, o *Options) (*Imported, error) {
	if client != "" && client != foreign.Native && foreign.SyntaxOf(client) == "" {
		return nil, unknownClient(client)
	}
	i := newImports(path, client, o)
	read := i.readOwn
	if path != "" {
		read = func(client string) error { return i.file(path, client) }
	}
	if err := read(client); err != nil {
		return nil, err
	}
	return i.out, nil
}

// Import is like the function [Import] for a file of the client with a text that may not be on disk.
func (c Client) Import(path string, text []byte) (*Imported, error) {
	i := newImports(path, c.Name, nil)
	if err := i.text(path, c.Name, text); err != nil {
		return nil, err
	}
	return i.out, nil
}

// imports is an import that is in progress.
type imports struct {
	*readContext
	out   *Imported
	owner map[string]idClaim
}

func newImports(path, client string, o *Options) *imports {
	return &imports{newPlace(o), &Imported{Client: client, File: path}, map[string]idClaim{}}
}

// idClaim is the server that has an id.
type idClaim struct {
	index int // index in Definitions
	first bool
	note  Note // has the position
}

// readOwn reads the client's own files that exist.
func (i *imports) readOwn(client string) error {
	files := i.filesOf(client)
	var last error
	for _, path := range files {
		err := i.file(path, client)
		var f *fileError
		switch {
		case !errors.As(err, &f) || errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, ErrNoServer): // the file has other settings
			last = cmp.Or(last, err)
		default:
			last = err
			i.out.Notes = append(i.out.Notes, f.note)
		}
	}
	switch {
	case len(i.out.Files) > 0:
		return nil
	case last != nil:
		return last
	case len(files) == 0:
		return errors.New("no file to import is named")
	}
	note := Note{Reason: "no file of " + client + " is there", Hint: "looked for " + strings.Join(files, ", ")}
	return &fileError{note: note, err: fs.ErrNotExist}
}

func (i *imports) file(path, client string) error {
	text, err := edit.ReadFilled(path, maxForeign)
	if err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = similarNames(path)
		}
		return &fileError{note: Note{File: path, Reason: edit.Reason(err), Hint: hint}, err: err}
	}
	return i.text(path, client, text)
}

// text reads the text of a file.
func (i *imports) text(path, client string, text []byte) error {
	f := newConfigFile(&source{path: path, scope: Explicit}, i.readContext)
	syntax := foreign.SyntaxFor(path, text)
	if named := foreign.SyntaxOf(client); named != "" &&
		!strings.Contains(path[strings.LastIndexAny(path, `/\`)+1:], ".") {
		syntax = named // the client is named, and the file's name does not show the syntax
	}
	if err := f.decode(text, syntax); err != nil {
		return err
	}
	place := i.foreign(path)
	place.Moving = true
	if client == "" {
		client = foreign.Detect(f.doc, place)
	}
	if client == "" {
		return &fileError{note: f.noteAt(0, "holds no servers of any client that is known", "looked for "+foreign.Names())}
	}
	i.out.Client = client
	mapped, fault := foreign.Read(f.doc, client, place)
	if fault != nil {
		err := f.errorAt(fault)
		if fault.Hint == "" { // otherwise there are servers, but not where the client looks for them
			err.err = ErrNoServer
		}
		return err
	}
	i.out.Files = append(i.out.Files, path)
	i.addServers(f, mapped)
	return nil
}

// addServers adds the servers of a file.
func (i *imports) addServers(f *configFile, mapped *foreign.File) {
	f.remarks(mapped)
	for n, row := range mapped.Rows {
		if row.Bad != nil {
			continue
		}
		packed, _ := edit.Row(&row.Value)
		d := Definition{ID: row.ID, JSON: packed}
		claimed := idClaim{index: len(i.out.Definitions), first: row.First,
			note: f.rowNote(tree.Note{At: row.At}, row.ID, n+1, Shadowed)}
		previous, taken := i.owner[row.ID]
		switch {
		case !taken:
			i.out.Definitions = append(i.out.Definitions, d)
			i.out.From = append(i.out.From, f.path)
			i.owner[row.ID] = claimed
		case row.First && !previous.first:
			claimed.index = previous.index
			i.out.Definitions[claimed.index], i.out.From[claimed.index] = d, f.path
			i.owner[row.ID] = claimed
			f.notes = append(f.notes, shadowedBy(previous.note, claimed.note))
		default:
			f.notes = append(f.notes, shadowedBy(claimed.note, previous.note))
		}
	}
	slices.SortStableFunc(f.notes, func(a, b Note) int { return a.Row - b.Row })
	i.out.Notes = append(i.out.Notes, f.notes...)
}

// shadowedBy returns a note that a row yields its id to another row.
func shadowedBy(shadowed, winning Note) Note {
	shadowed.Reason = fmt.Sprintf("is defined at %s:%d too, which goes first", winning.File, winning.Line)
	return shadowed
}
