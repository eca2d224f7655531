package mcpconfig

import (
	"cmp"
	"io/fs"
	"slices"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
	"github.com/tailscale/hujson"
)

// configFile is a source that is being read.
type configFile struct {
	*source
	site         *site
	place        *readContext
	doc          *tree.Doc
	budget       int  // the rest of maxExpand
	rereadBudget int  // the same, for the rows that are read again
	policyMode   bool // the file has "policyMode"
}

// newConfigFile begins to read a source.
func newConfigFile(s *source, p *readContext) *configFile {
	at := &site{path: s.path, scope: s.scope, approved: s.approved, place: p}
	return &configFile{source: s, site: at, place: p, budget: maxExpand, rereadBudget: maxExpand}
}

// source is one file that exists.
type source struct {
	path     string
	info     fs.FileInfo
	scope    Scope
	approved bool
	group    int // index of the named path that led here; a later one wins an id
	entries  []entry
	notes    []Note
	views    []viewEntry
	changes  *hujson.Value // the policy for all its servers; nil: none
	Settings
}

// isUserFile reports whether the file is one of the user's own files at their conventional places.
func (s *source) isUserFile() bool { return s.scope != Explicit && s.scope != Project }

// entry is a row with the values that only the reading needs.
type entry struct {
	Row
	n, column  int
	file       *configFile
	v          *hujson.Value // in the file's tree
	typed      *typedRow     // nil: it cannot be read at all
	fetches    []fetch       // the fetches before it starts
	waitReason string        // why it must wait for approval; "" if it need not
	projectUse string        // see describeProjectUse
	pinned     []fetch       // the fetches that decide the command line or the address
}

// settle takes the server and the state from the values of the row.
func (e *entry) settle(r *valuedRow) {
	e.State, e.Reason, e.Hint, e.Server = Active, r.reason, r.hint, r.server
	if r.skipped {
		e.State = Skipped
	}
	if r.skipped || r.disabled {
		e.Server = config.Server{ID: r.id, Changes: r.server.Changes}
	}
}

// setState sets the state of a row, and notes the reason.
func (s *source) setState(e *entry, state State, reason, hint string) {
	e.State, e.Reason, e.Hint = state, reason, hint
	s.notes = append(s.notes, Note{
		File: s.path, Line: e.Line, Column: e.column,
		Server: e.Server.ID, Row: e.n, State: state, Reason: reason, Hint: hint,
	})
}

// sortedNotes returns the notes in the order of the file.
func (s *source) sortedNotes() []Note {
	slices.SortStableFunc(s.notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return s.notes
}

func (f *configFile) noteAt(offset int, reason, hint string) Note {
	line, column := f.doc.Position(offset)
	return Note{File: f.path, Line: line, Column: column, Reason: reason, Hint: hint}
}

func (f *configFile) errorAt(n *tree.Note) *fileError {
	return &fileError{note: f.noteAt(n.At, n.Reason, n.Hint)}
}

// note adds a note about the file.
func (f *configFile) note(offset int, reason, hint string) {
	f.notes = append(f.notes, f.noteAt(offset, reason, hint))
}

// report adds the notes about a part of the file. n is the row, or 0.
func (f *configFile) report(found *findings, n int) {
	for _, p := range found.list {
		note := f.noteAt(p.at, found.about+p.reason, p.hint)
		if found.about == "" {
			note.Server, note.Row = p.server, n
			if p.skips {
				note.State = Skipped
			}
		}
		f.notes = append(f.notes, note)
	}
}

// maxForeign bounds the files of other programs. Some programs keep their entire history in the same file.
const maxForeign = 16 << 20

// remarks adds the notes about another program's file and its rows.
func (f *configFile) remarks(mapped *foreign.File) {
	for _, m := range mapped.Notes {
		f.note(m.At, m.Reason, m.Hint)
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

// viewEntry is a view with the values that only the reading needs.
type viewEntry struct {
	View
	source     *source
	unreadable bool // it cannot be read; its name stays taken, or a wider view might get it
}
