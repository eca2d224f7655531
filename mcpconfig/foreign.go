package mcpconfig

import (
	"path"
	"path/filepath"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// maxForeign bounds the files of other programs, some of which keep their entire
// history in the same file.
const maxForeign = 16 << 20

// foreign reads the rows of another program's file.
func (f *configFile) foreign(client string) *fileError {
	mapped, wrong := foreign.Read(f.doc, client, f.place.foreign(f.path))
	if wrong != nil {
		return f.errorAt(wrong)
	}
	for _, m := range mapped.Notes {
		f.notes = append(f.notes, f.noteAt(m.At, m.Reason, m.Hint))
	}
	for i := range mapped.Rows {
		row := &mapped.Rows[i]
		key := &hujson.Value{StartOffset: row.At, Value: hujson.String(row.ID)}
		if row.Bad == nil {
			f.row(key, &row.Value)
		} else {
			f.bad(key, row)
		}
		for _, m := range row.Notes {
			f.notes = append(f.notes, f.rowNote(m, row.ID, len(f.entries), ""))
		}
	}
	return nil
}

// bad adds a row of another program that cannot be used.
func (f *configFile) bad(key *hujson.Value, row *foreign.Row) {
	e := entry{n: len(f.entries) + 1, from: f, key: key, v: &row.Value}
	line, column := f.doc.Position(row.At)
	e.Row = Row{File: f.path, Line: line, Scope: f.scope, State: Skipped, Reason: row.Bad.Reason, Hint: row.Bad.Hint}
	e.Server.ID, e.column = row.ID, column
	f.notes = append(f.notes, f.rowNote(*row.Bad, row.ID, e.n, Skipped))
	f.entries = append(f.entries, e)
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
