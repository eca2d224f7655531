package mcpconfig

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// reading is a row in the course of being read.
type reading struct {
	*configFile
	entry
	at     int                      // where the row begins
	about  string                   // what it is where it is no row, for notes
	noted  int                      // notes on the row so far
	fields map[string]*hujson.Value // by name; null is the same as absent
	twice  []*hujson.Value          // names that come again later in the row
	extra  []*hujson.Value          // names that are not known

	fetched func(fetch) (value, wrong string) // nil: left as it is, marked
	written []writtenPart                     // what an approval covers as the file has it
	placed  map[string]string                 // texts that name the workspace, as the file has them
}

// row reads one row: key is its name in an object of rows, and nil in a list.
func (f *configFile) row(key, v *hujson.Value) {
	r := f.reading(entry{n: len(f.entries) + 1, key: key, v: v}, nil)
	r.Files = sortFiles(r.Files)
	r.taking = r.takes()
	if r.taking != "" || (r.State == Active || r.State == Disabled) && (f.scope == Project || f.scope == Explicit) {
		r.Approval = r.fingerprint()
	}
	if r.taking != "" {
		r.Project = realPath(r.workspace())
	}
	r.unmark()
	r.from = f
	f.entries = append(f.entries, r.entry)
}

// reading reads a row; fetched is what ${file:…} and ${cmd:…} stand for, and nil
// where that is to be left as it is.
func (f *configFile) reading(e entry, fetched func(fetch) (value, wrong string)) *reading {
	at := e.v.StartOffset
	if e.key != nil {
		at = e.key.StartOffset
	}
	var line int
	line, e.column = f.doc.Position(at)
	e.Row = Row{File: f.path, Line: line, Scope: f.scope, State: Active}
	r := &reading{configFile: f, at: at, fetched: fetched, fields: map[string]*hujson.Value{}, entry: e}
	r.read()
	if r.State != Active {
		r.Server = interop.Server{ID: r.Server.ID, Changes: r.Server.Changes}
	}
	return r
}

func (r *reading) read() {
	if r.key != nil {
		r.Server.ID = tree.Text(*r.key)
	}
	if !tree.Has(r.v, '{') {
		r.skip(r.v.StartOffset, "the row is "+tree.KindOf(r.v.Value)+" where an object is expected", "")
		return
	}
	r.collect()
	r.identify(r.key != nil)
	r.describe()
	if !r.enabled() {
		if r.State == Active {
			r.settle(&r.entry, Disabled, "disabled", "")
		}
		return
	}
	r.noteUnknown()
	r.Server.Era = r.era()
	r.Server.Timeouts = r.timeouts()
	r.Server.Lazy, r.Server.Idle = r.needed()
	r.Server.Pool = r.pool()
	r.Server.Tools = r.rules()
	r.Server.Changes = r.policy()
	r.Server.Profile = r.profile()
	r.transport()
}

// identify finds the row's id: the key, else id, else name.
func (r *reading) identify(keyed bool) {
	for _, field := range []string{"id", "name"} {
		v := r.fields[field]
		if v == nil {
			continue
		}
		id, ok := r.literal(v, field)
		switch {
		case !ok:
		case keyed && id != r.Server.ID:
			r.note(v.StartOffset, fmt.Sprintf("%q is not used, because the row's key is its id", field), "")
		case r.Server.ID == "":
			r.Server.ID = id
		case id != r.Server.ID:
			r.note(v.StartOffset, fmt.Sprintf("%q is not used, because the row has an \"id\"", field), "")
		}
	}
	if strings.TrimSpace(r.Server.ID) == "" && r.State == Active {
		hint := `add "name": "…"`
		if keyed {
			hint = fmt.Sprintf("write its name in the place of %q", r.Server.ID)
		}
		r.skip(r.at, "the row has no name", hint)
	}
}

func (r *reading) enabled() bool {
	enabled, disabled := r.flag("enabled", true), r.flag("disabled", false)
	if v := r.fields["enabled"]; v != nil && enabled && disabled {
		r.note(v.StartOffset, `the row is both "enabled" and "disabled"; it is disabled`, "remove one of the two")
	}
	return enabled && !disabled
}

// note is advice: the row is read all the same.
func (r *reading) note(at int, reason, hint string) { r.addOne(at, "", reason, hint) }

// skip gives the row up, and says why. What else is wrong with it is still noted.
func (r *reading) skip(at int, reason, hint string) {
	if r.State != Skipped {
		r.State, r.Reason, r.Hint = Skipped, reason, hint
		r.add(at, Skipped, reason, hint) // never left out
		return
	}
	r.addOne(at, Skipped, reason, hint)
}

// addOne adds a note unless the row has had enough of them.
func (r *reading) addOne(at int, state State, reason, hint string) {
	switch r.noted++; {
	case r.noted <= maxNotes:
		r.add(at, state, reason, hint)
	case r.noted == maxNotes+1:
		r.add(at, state, fmt.Sprintf("more than %d notes; from here on they are left out", maxNotes), "")
	}
}

func (r *reading) add(at int, state State, reason, hint string) {
	n := r.noteAt(at, r.about+reason, hint)
	if r.about != "" {
		r.notes = append(r.notes, n)
		return
	}
	n.Server, n.Row, n.State = r.Server.ID, r.n, state
	r.notes = append(r.notes, n)
}
