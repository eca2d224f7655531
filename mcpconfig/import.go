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

// Imported is what a client's files say, in the words of indus's own.
type Imported struct {
	// Client is the [Client.Name] whose format the file has; "indus" for indus's own.
	Client string `json:"client"`
	// File as it was named; "" where the client's own files were looked up.
	File string `json:"file,omitempty"`
	// Files are those that were read, in the order in which they win an id.
	Files []string `json:"files"`
	// Definitions are the servers, in the order of the files; their ids are unique.
	// They print and marshal as their ids, because a row may hold secrets.
	Definitions []Definition `json:"-"`
	// From is the file of each of Definitions.
	From []string `json:"-"`
	// Notes say what was changed or not taken over, and where. A note whose State is
	// [Skipped] is the reason why a server is not in Definitions.
	Notes []Note `json:"notes,omitempty"`
}

// Import reads another client's file. Which client's it is shows by its content, and
// by its name where that does not decide; client says so instead where it is not "".
//
// With path "" it reads the files where that client keeps its servers
// ([Client.Files]), those that are there. Of two files the one that the client
// prefers has an id, whole: nothing is merged.
//
// Only those files are read, and only plain ones of at most 16 MiB: nothing is run,
// and no variable is replaced. The error is that of a file which cannot be read or
// parsed, or which has no servers of any client; it is [ErrNoServer] where the client's
// own file is all right and only has none. What is wrong with one server is a note,
// and so is what is wrong with one of a client's own files while another can be read.
func Import(path, client string, o *Options) (*Imported, error) {
	if client != "" && client != foreign.Native && foreign.SyntaxOf(client) == "" {
		return nil, unknownClient(client)
	}
	i := &imports{readContext: newPlace(o), out: &Imported{Client: client, File: path}, owner: map[string]claim{}}
	read := i.own
	if path != "" {
		read = func(client string) error { return i.file(path, client) }
	}
	if err := read(client); err != nil {
		return nil, err
	}
	return i.out, nil
}

func unknownClient(client string) error {
	var names []string
	for _, c := range foreign.All() {
		names = append(names, c.Name)
	}
	return fmt.Errorf("unknown client %s; %s", tree.Quote(client), choices(client, "one of "+strings.Join(names, ", "), names))
}

// imports is an import in the course of being done.
type imports struct {
	*readContext
	out   *Imported
	owner map[string]claim
}

// claim is who has an id.
type claim struct {
	at    int // in Definitions
	first bool
	note  Note // where it stands
}

// own reads those of a client's own files that are there.
func (i *imports) own(client string) error {
	files := i.filesOf(client)
	var last error
	for _, path := range files {
		err := i.file(path, client)
		var f *fileError
		switch {
		case !errors.As(err, &f) || errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, ErrNoServer): // it is for other settings
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
	return &fileError{note: Note{Reason: "no file of " + client + " is there", Hint: "looked for " + strings.Join(files, ", ")}, err: fs.ErrNotExist}
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
	f := &configFile{source: &source{path: path, scope: Explicit}, place: i.readContext}
	syntax := foreign.SyntaxFor(path, text)
	if of := foreign.SyntaxOf(client); of != "" && !strings.Contains(path[strings.LastIndexAny(path, `/\`)+1:], ".") {
		syntax = of // the client is named, and the file's name says nothing
	}
	if err := f.decode(text, syntax); err != nil {
		return err
	}
	at := i.foreign(path)
	at.Moving = true
	if client == "" {
		client = foreign.Detect(f.doc, at)
	}
	if client == "" {
		return &fileError{note: f.noteAt(0, "holds no servers of any client that is known", "looked for "+foreign.Names())}
	}
	i.out.Client = client
	mapped, wrong := foreign.Read(f.doc, client, at)
	if wrong != nil {
		err := f.errorAt(wrong)
		if wrong.Hint == "" { // else there are some, where nobody finds them
			err.err = ErrNoServer
		}
		return err
	}
	i.out.Files = append(i.out.Files, path)
	i.take(f, mapped)
	return nil
}

// take adds what a file has.
func (i *imports) take(f *configFile, mapped *foreign.File) {
	f.remarks(mapped)
	for n, row := range mapped.Rows {
		if row.Bad != nil {
			continue
		}
		packed, _ := edit.Row(&row.Value)
		d := Definition{ID: row.ID, JSON: packed}
		mine := claim{at: len(i.out.Definitions), first: row.First, note: f.rowNote(tree.Note{At: row.At}, row.ID, n+1, Shadowed)}
		other, taken := i.owner[row.ID]
		switch {
		case !taken:
			i.out.Definitions = append(i.out.Definitions, d)
			i.out.From = append(i.out.From, f.path)
			i.owner[row.ID] = mine
		case row.First && !other.first:
			mine.at = other.at
			i.out.Definitions[mine.at], i.out.From[mine.at] = d, f.path
			i.owner[row.ID] = mine
			f.notes = append(f.notes, shadowedBy(other.note, mine.note))
		default:
			f.notes = append(f.notes, shadowedBy(mine.note, other.note))
		}
	}
	slices.SortStableFunc(f.notes, func(a, b Note) int { return a.Row - b.Row })
	i.out.Notes = append(i.out.Notes, f.notes...)
}

// shadowedBy says that a row yields its id to another's.
func shadowedBy(loser, winner Note) Note {
	loser.Reason = fmt.Sprintf("is defined at %s:%d too, which goes first", winner.File, winner.Line)
	return loser
}
