package mcpconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/fields"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// reading is a row, or another part of the file, that is being read.
type reading struct {
	*configFile
	entry
	offset     int                      // where the row begins
	context    string                   // the name of a part that is not a row, for notes
	noteCount  int                      // notes on the row so far
	fields     map[string]*hujson.Value // by name; null is the same as absent
	duplicates []*hujson.Value          // earlier names of keys that occur again in the row
	extra      []*hujson.Value          // unknown names

	fetched        func(fetch) fetchResult // nil: variables of this kind stay as they are
	pending        map[string]bool         // texts in which a variable stays as it is
	workspaceTexts map[string]string       // texts that name the workspace, mapped to their form in the file
	derived        map[string]bool         // texts of which a part is not written in the row: see isWrittenOut
	usedNames      []string                // names of the variables and headers that are used
}

// newReading begins to read a part of the file.
func (f *configFile) newReading(context string, offset int) *reading {
	return &reading{
		configFile: f, context: context, offset: offset,
		fields: map[string]*hujson.Value{}, pending: map[string]bool{}, workspaceTexts: map[string]string{},
		derived: map[string]bool{},
	}
}

// row reads one row. key is its name in an object of rows, and nil in a list.
func (f *configFile) row(key, v *hujson.Value) {
	r := f.reading(entry{n: len(f.entries) + 1, file: f, key: key, v: v}, nil)
	r.Files = sortFiles(r.Files)
	r.projectUse = r.describeProjectUse()
	if r.projectUse != "" || (r.State == Active || r.State == Disabled) && (f.scope == Project || f.scope == Explicit) {
		r.Approval = r.fingerprint()
	}
	if r.projectUse != "" {
		r.Project = atomicfile.Real(r.workspace())
	}
	f.entries = append(f.entries, r.entry)
}

// reading reads a row. fetched returns the values of ${file:…} and ${cmd:…}. If it is nil, these stay as they are.
func (f *configFile) reading(e entry, fetched func(fetch) fetchResult) *reading {
	r := f.newReading("", tree.Start(e.key, e.v))
	r.entry, r.fetched = e, fetched
	r.Row = Row{File: f.path, Scope: f.scope, State: Active}
	r.Line, r.column = f.doc.Position(r.offset)
	r.read()
	if r.State != Active {
		r.Server = config.Server{ID: r.Server.ID, Changes: r.Server.Changes}
	}
	return r
}

func (r *reading) read() {
	s := &r.Server
	if r.key != nil {
		s.ID = tree.Text(*r.key)
	}
	if !tree.Has(r.v, '{') {
		r.skip(r.v.StartOffset, "the row is "+tree.KindOf(r.v.Value)+" where an object is expected", "")
		return
	}
	r.collect()
	r.readID(r.key != nil)
	r.describe()
	if !r.enabled() {
		if r.State == Active {
			r.setState(&r.entry, Disabled, "disabled", "")
		}
		return
	}
	r.noteUnknown()
	if on, present := r.flag("lazy"); present { // otherwise the program that mounts the server decides
		s.Lazy = &on
	}
	s.Pool = r.pool()
	r.take(
		member{"era", storeIn(&s.Era, r.era)}, member{"timeout", storeIn(&s.Timeouts, r.timeouts)},
		member{"idle", storeIn(&s.Idle, r.bound)}, member{"tools", storeIn(&s.Tools, r.rules)},
		member{"profile", storeIn(&s.Profile, r.profile)},
	)
	s.Changes = r.policy()
	r.transport()
	s.Single = r.Kind == config.KindStdio && r.single()
}

// collect sorts the members of a row by name. If two have one name, the later one counts.
func (r *reading) collect() {
	known, seen := fields.Names(fields.Row()), map[string]*hujson.Value{}
	for name, m := range tree.Members(r.v) {
		if before := seen[name]; before != nil {
			r.duplicates = append(r.duplicates, before)
			delete(r.fields, name)
		}
		seen[name] = &m.Name
		switch {
		case slices.Contains(known, name):
			if m.Value.Value.Kind() != 'n' {
				r.fields[name] = &m.Value
			}
		case !tree.IsComment(name):
			r.extra = append(r.extra, &m.Name)
		}
	}
}

// noteUnknown notes the names that have no effect.
func (r *reading) noteUnknown() {
	for _, v := range r.duplicates {
		if tree.Text(*v) == "tools" { // leaving a rule out would admit tools
			r.skip(v.StartOffset, `"tools" comes twice in this row`, "make one of the two")
		} else {
			r.note(v.StartOffset, tree.Quote(tree.Text(*v))+" comes again in this row; the last counts", "")
		}
	}
	for _, v := range r.extra[:min(len(r.extra), maxNotes+1)] {
		name, hint := tree.Text(*v), ""
		if suggested := suggestKey(name); suggested != "" {
			hint = fmt.Sprintf("did you mean %q?", suggested)
		}
		r.note(v.StartOffset, "unknown key "+tree.Quote(name), hint)
	}
}

// foreignWords are the words of other programs for the keys of a row, in lower case.
var foreignWords = map[string]string{
	"url": "serverurl httpurl uri endpoint", "command": "cmd executable", "args": "arguments", "env": "environment envs",
	"envFile": "env_file dotenv", "headers": "http_headers", "cwd": "workdir workingdirectory working_directory",
	"tools": "includetools excludetools enabledtools disabledtools enabled_tools disabled_tools allowedtools",
}

// suggestKey returns the key that was probably meant by a wrong one: a misspelt key, or another program's word.
func suggestKey(name string) string {
	for key, words := range foreignWords {
		if slices.Contains(strings.Fields(words), strings.ToLower(name)) {
			return key
		}
	}
	if near := text.Nearest(name, fields.Names(fields.Row()), 1); len(near) == 1 {
		return near[0]
	}
	return ""
}

// readID finds the row's id: the key, else id, else name.
func (r *reading) readID(keyed bool) {
	for _, field := range []string{"id", "name"} {
		v := r.fields[field]
		if v == nil {
			continue
		}
		id, ok := r.literal(field, v)
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
		r.skip(r.offset, "the row has no name", hint)
	}
}

func (r *reading) enabled() bool {
	enabled, present := r.flag("enabled")
	disabled, _ := r.flag("disabled")
	if present && enabled && disabled {
		r.note(r.fields["enabled"].StartOffset, `the row is both "enabled" and "disabled"; it is disabled`,
			"remove one of the two")
	}
	return (enabled || !present) && !disabled
}

// note adds advice. The row is still used.
func (r *reading) note(offset int, reason, hint string) { r.addLimited(offset, "", reason, hint) }

// skip marks the row as skipped, with the reason. Further mistakes in it are still noted.
func (r *reading) skip(offset int, reason, hint string) {
	if r.State != Skipped {
		r.State, r.Reason, r.Hint = Skipped, reason, hint
		r.add(offset, Skipped, reason, hint) // never left out
		return
	}
	r.addLimited(offset, Skipped, reason, hint)
}

// addLimited adds a note, unless the row has too many of them.
func (r *reading) addLimited(offset int, state State, reason, hint string) {
	r.noteCount++
	switch {
	case r.noteCount <= maxNotes:
		r.add(offset, state, reason, hint)
	case r.noteCount == maxNotes+1:
		r.add(offset, state, fmt.Sprintf("more than %d notes; from here on they are left out", maxNotes), "")
	}
}

func (r *reading) add(offset int, state State, reason, hint string) {
	n := r.noteAt(offset, r.context+reason, hint)
	if r.context == "" {
		n.Server, n.Row, n.State = r.Server.ID, r.n, state
	}
	r.notes = append(r.notes, n)
}
