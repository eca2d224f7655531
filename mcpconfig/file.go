package mcpconfig

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/fields"
	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

const (
	maxFile   = 1 << 20 // bytes of one file; a thousand servers take a tenth of it
	maxRows   = 1000    // of one file, because half a million fit into 1 MiB
	maxNotes  = 100     // on one row, for the same reason
	maxExpand = 4 << 20 // bytes that the variables of one file may add, because a short ${PATH} can occur often
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

func (f *configFile) errorAt(n *tree.Note) *fileError {
	return &fileError{note: f.noteAt(n.At, n.Reason, n.Hint)}
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

// note adds a note about the file.
func (f *configFile) note(offset int, reason, hint string) {
	f.notes = append(f.notes, f.noteAt(offset, reason, hint))
}

// noteMember notes a member with a misspelt name, and returns the name that was meant. Other unknown names belong to
// other programs.
func (f *configFile) noteMember(name string, m *hujson.ObjectMember) (intended string) {
	known := fields.Names(fields.File())
	if slices.Contains(known, name) {
		return ""
	}
	if intended = intendedMember(name, known); intended != "" {
		f.note(m.Name.StartOffset, "unknown key "+tree.Quote(name), fmt.Sprintf("did you mean %q?", intended))
	}
	return intended
}

// intendedMember returns the known name that an unknown one probably means, or "".
func intendedMember(name string, known []string) string {
	plain := strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(name))
	if meant := similarMembers[plain]; meant != "" {
		return meant
	}
	for _, near := range text.Nearest(name, known, 1) {
		if d := len(near) - len(name); d*d <= 1 || strings.EqualFold(near, name) {
			return near
		}
	}
	for begins, meant := range map[string]string{"audit": "audit", "polic": "policy", "approv": "approvals"} {
		if strings.HasPrefix(plain, begins) {
			return meant
		}
	}
	for _, near := range text.Nearest(plain, slices.Sorted(maps.Keys(similarMembers)), 1) {
		if d := len(near) - len(plain); d*d <= 1 && len(plain) > 8 {
			return similarMembers[near]
		}
	}
	return ""
}

// similarMembers are names in lower case that people write for a member that protects requests.
var similarMembers = map[string]string{
	"authentication": "auth", "authorization": "auth", "authn": "auth", "authz": "auth", "auths": "auth",
	"policies": "policy", "policyfile": "policy", "policyfiles": "policy", "policypath": "policy", "policydir": "policy",
	"auditlog": "audit", "auditfile": "audit", "auditpath": "audit", "audits": "audit", "auditing": "audit",
	"approval": "approvals", "callapprovals": "approvals", "approve": "approvals",
}

// breakMisspelt marks a setting as broken if its name is misspelt. Without it, requests would go on without it: any
// client would be admitted, or nothing recorded.
func (f *configFile) breakMisspelt(misspelt map[string]*hujson.ObjectMember) {
	if f.scope == Project || !f.approved {
		return
	}
	if m := misspelt["auth"]; m != nil && f.Auth == nil {
		f.Auth = &Auth{Setting: f.misspeltSetting("auth", m)}
	}
	if m := misspelt["audit"]; m != nil && f.Audit == nil {
		f.Audit = &Audit{Setting: f.misspeltSetting("audit", m)}
	}
	if m := misspelt["approvals"]; m != nil && f.Approvals == nil {
		f.Approvals = &CallApprovals{Setting: f.misspeltSetting("approvals", m)}
	}
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
