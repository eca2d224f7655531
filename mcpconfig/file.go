package mcpconfig

import (
	"context"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// read reads the rows of a source. If a whole file cannot be used, that is an error for a named file, and otherwise a
// note.
func (p *readContext) read(ctx context.Context, s *source) error {
	f := newConfigFile(s, p)
	failed := f.parse(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	if failed == nil {
		return nil
	}
	if s.scope == Explicit {
		return failed
	}
	s.notes = append(s.notes, failed.note)
	if s.isUserFile() { // its rules for clients are unknown
		s.breakSettings(max(failed.note.Line, 1))
	}
	return nil
}

func (f *configFile) parse(ctx context.Context) *fileError {
	text, err := f.text(ctx)
	if err != nil {
		return &fileError{note: Note{File: f.path, Reason: edit.Reason(err)}, err: err}
	}
	syntax := tree.JSON // for a file that was only discovered
	if f.scope == Explicit {
		syntax = foreign.SyntaxFor(f.path, text)
	}
	if err := f.decode(text, syntax); err != nil {
		return err
	}
	if !tree.Has(&f.doc.Root, '{') {
		return &fileError{note: f.noteAt(f.doc.Root.StartOffset,
			"holds "+tree.KindOf(f.doc.Root.Value)+" where an object is expected", exampleHint)}
	}
	client := foreign.Detect(f.doc, f.place.foreign(f.path))
	if f.scope == Explicit && client != "" && client != foreign.Native {
		return f.foreign(client)
	}
	if len(text) > maxFile { // only a file of another program may be larger
		return f.large()
	}
	f.rows()
	return nil
}

// decode parses a text.
func (f *configFile) decode(text []byte, syntax tree.Syntax) *fileError {
	if syntax != tree.JSON && len(text) > maxFile {
		return f.large()
	}
	doc, fault := tree.Parse(text, syntax)
	f.doc = doc
	if fault != nil {
		return f.errorAt(fault)
	}
	return nil
}

func (f *configFile) large() *fileError {
	err := atomicfile.TooLarge(maxFile)
	return &fileError{note: Note{File: f.path, Reason: err.Error()}, err: err}
}

const exampleHint = `begin with {"servers": {"name": {"command": "…"}}}`

// text returns the content of the source. A file that was only discovered may come from another person, and may be a
// link into /proc or the like.
func (f *configFile) text(ctx context.Context) ([]byte, error) {
	if f.scope == Explicit {
		return atomicfile.ReadNamed(ctx, f.path, nil, maxForeign)
	}
	return atomicfile.ReadPlain(f.path, maxFile)
}

// rows reads every member that holds servers. If two members have one name, both are read.
func (f *configFile) rows() {
	settings := map[string]func(name string, m *hujson.ObjectMember){
		"auth": func(name string, m *hujson.ObjectMember) {
			reason := `"auth" is ignored: a project's file cannot decide which clients may connect`
			readSetting(f, name, m, reason, &f.Auth, readAuth)
		},
		"audit": func(name string, m *hujson.ObjectMember) {
			reason := `"audit" is not heeded: a project's file does not say where indus writes`
			readSetting(f, name, m, reason, &f.Audit, readAudit)
		},
		"approvals": func(name string, m *hujson.ObjectMember) {
			reason := `"approvals" is not heeded: a project's file does not say how calls are approved`
			readSetting(f, name, m, reason, &f.Approvals, readApprovals)
		},
		"cluster": func(name string, m *hujson.ObjectMember) {
			reason := `"cluster" is not heeded: a project's file does not say where indus keeps its state`
			readSetting(f, name, m, reason, &f.Cluster, readCluster)
		},
		"registries": func(name string, m *hujson.ObjectMember) {
			reason := `"registries" is not heeded: a project's file does not choose where servers come from`
			readSetting(f, name, m, reason, &f.Registries, readRegistries)
		},
	}
	var servers, others []string
	misspelt := map[string]*hujson.ObjectMember{} // by the name that was meant
	for name, m := range tree.Members(&f.doc.Root) {
		switch {
		case name == "servers" || name == "mcpServers":
			servers = append(servers, name)
			continue
		case name == "changes" && !tree.Has(&m.Value, 'n'):
			f.changes = &m.Value
		case name == "views":
			f.views = nil // the last of two counts
			f.readViews(&m.Value)
		case name == "policy" || name == "policyMode":
			f.readPolicy(name, m)
		case isBoxMember(name):
			f.readBoxMember(name, m)
		case settings[name] != nil:
			settings[name](name, m)
		default:
			misspelt[f.noteMember(name, m)] = m
		}
		if len(others) < 1000 {
			others = append(others, name)
		}
	}
	f.breakMisspelt(misspelt)
	f.checkPolicy(misspelt["policy"])
	for name, m := range tree.Members(&f.doc.Root) { // after the file's policy is known
		if slices.Contains(servers, name) && !f.list(name, &m.Value) {
			break
		}
	}
	if servers != nil {
		return
	}
	hint := exampleHint
	for _, want := range []string{"mcpServers", "servers"} {
		if near := text.Nearest(want, others, 1); len(near) == 1 {
			hint = fmt.Sprintf("write %q instead of %s", want, tree.Quote(near[0]))
		}
	}
	f.note(0, `holds neither "servers" nor "mcpServers"`, hint)
}

// list reads the rows of one member. It returns false if the file has too many rows.
func (f *configFile) list(name string, v *hujson.Value) bool {
	if !tree.Has(v, '{', '[') {
		reason := fmt.Sprintf("%q is %s where a list or an object of servers is expected", name, tree.KindOf(v.Value))
		f.note(v.StartOffset, reason, "")
	}
	for key, row := range tree.Items(v) {
		if len(f.entries) == maxRows {
			f.note(tree.Start(key, row), fmt.Sprintf("more than %d rows; from here on they are not read", maxRows), "")
			return false
		}
		f.row(key, row)
	}
	return true
}

// row reads one row. key is its name in an object of rows, and nil in a list.
func (f *configFile) row(key, v *hujson.Value) {
	raw := newRawRow(len(f.entries)+1, key, v)
	typed := newTypedRow(raw, f.changes)
	r := newValuedRow(typed, f.site, nil, &f.budget)
	f.report(&r.findings, raw.n)
	if r.refused != "" {
		f.maySet(r.fields["single"].StartOffset, r.refused)
	}
	e := entry{n: raw.n, file: f, v: v, typed: typed, fetches: r.fetches, pinned: r.pinned}
	e.Row = Row{File: f.path, Scope: f.scope, Kind: r.kind, Target: r.target, Files: sortFiles(r.files)}
	e.Line, e.column = f.doc.Position(raw.at)
	e.settle(r)
	if r.disabled && !r.skipped {
		f.setState(&e, Disabled, "disabled", "")
	}
	r.files = e.Files
	e.projectUse = r.describeProjectUse()
	if e.projectUse != "" || !r.skipped && (f.scope == Project || f.scope == Explicit) {
		e.Approval = fingerprint(r, e.Files, e.projectUse)
	}
	if e.projectUse != "" {
		e.Project = atomicfile.Real(f.site.workspace())
	}
	f.entries = append(f.entries, e)
}

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
		e := entry{n: len(f.entries) + 1, file: f, v: &row.Value}
		e.Row = Row{File: f.path, Scope: f.scope, State: Skipped, Reason: row.Bad.Reason, Hint: row.Bad.Hint}
		e.Server.ID = row.ID
		e.Line, e.column = f.doc.Position(row.At)
		f.entries = append(f.entries, e)
	}
	f.remarks(mapped)
	return nil
}

// newValuedRow replaces the variables of a row.
func newValuedRow(t *typedRow, at *site, fetched func(fetch) fetchResult, budget *int) *valuedRow {
	r := &valuedRow{typedRow: *t, site: at, fetched: fetched, budget: budget}
	r.list = slices.Clip(r.list)
	switch r.reached {
	case "":
	case config.KindStdio:
		r.stdio()
	default:
		r.remote()
	}
	r.server.Single = !r.disabled && r.kind == config.KindStdio && r.single()
	return r
}
