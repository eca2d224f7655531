package mcpconfig

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// textValue is a text of the file with its variables replaced, and where its parts come from.
type textValue struct {
	text    string
	raw     string  // the text of the file
	fetches []fetch // the ${file:…} and ${cmd:…} in it
	pending bool    // these stay as they are
	derived bool    // a part is not written in the row: see isWrittenOut
	placed  bool    // the text is from the file's ${workspaceFolder}, and has its form since then
}

// as returns the value with another form of its text.
func (v textValue) as(text string) textValue {
	v.placed = v.placed && text == v.text
	v.text = text
	return v
}

// valuedRow is a row, or another part of the file, of which all variables are replaced. The values that have to be
// fetched stay as they are unless fetched returns them.
type valuedRow struct {
	typedRow // a copy, to which the findings about values are added
	*site
	fetched func(fetch) fetchResult // nil: values to fetch stay as they are
	budget  *int                    // the rest of maxExpand

	command, dir textValue
	args         []textValue
	usedNames    []string // names of the variables and headers that are used
	fetches      []fetch  // the fetches before it starts
	pinned       []fetch  // the fetches that decide the command line or the address
	files        []RowFile
	refused      string // why the file may not have "single"
}

// pair is an entry of "env" or "headers".
type pair struct {
	name  string
	value textValue
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

// newPart begins to read a part of the file that is not a row. about names it in notes.
func newPart(about string, offset int, at *site, budget *int) *valuedRow {
	raw := &rawRow{at: offset, fields: map[string]*hujson.Value{}}
	return &valuedRow{typedRow: typedRow{rawRow: raw, findings: findings{about: about}}, site: at, budget: budget}
}

// text reads a field that must be a string.
func (r *valuedRow) text(field string, v *hujson.Value) textValue {
	s, _ := r.literal(field, v)
	return r.expand(s, v.StartOffset, field)
}

// filled reads a string that must not be empty.
func (r *valuedRow) filled(field string, v *hujson.Value) textValue {
	return r.expand(r.nonEmpty(field, v), v.StartOffset, field)
}

// value is like filled, for texts of which only the result counts.
func (r *valuedRow) value(field string, v *hujson.Value) string { return r.filled(field, v).text }

// secret returns a value that is never shown.
func (r *valuedRow) secret(field string, v *hujson.Value) config.Secret {
	return config.NewSecret(strings.TrimSpace(r.value(field, v)))
}

// file reads the path of a file, which may be relative to this file.
func (r *valuedRow) file(field string, v *hujson.Value) string {
	return r.absolute(r.value(field, v))
}

// strings reads a list of texts that are not empty, or a single text.
func (r *valuedRow) strings(field string, v *hujson.Value) []string {
	if tree.Has(v, '"') {
		return []string{r.value(field, v)}
	}
	return listOf(&r.findings, "a list of strings", field, v, r.value)
}

// texts reads a field that must be a list of strings.
func (r *valuedRow) texts(field string, v *hujson.Value) (out []textValue) {
	listOf(&r.findings, "a list of strings", field, v, func(where string, e *hujson.Value) textValue {
		s, ok := r.scalar(where, e)
		if ok {
			out = append(out, s)
		}
		return s
	})
	return out
}

// pairs returns a function that reads an object of strings. valid returns why a name is wrong, or "". If two entries
// have one name, only the later one is returned. So the order of entries with one name means nothing.
func (r *valuedRow) pairs(valid func(name string) string) func(field string, v *hujson.Value) []pair {
	return func(field string, v *hujson.Value) (out []pair) {
		if !r.expect('{', "an object", field, v) {
			return nil
		}
		counts := map[string]*hujson.ObjectMember{}
		for name, m := range tree.Members(v) {
			counts[foldKey(field, name)] = m
		}
		for name, m := range tree.Members(v) {
			wrong, shown := valid(name), name
			if i := strings.IndexAny(name, "=:"); i >= 0 && wrong != "" { // a value was written into the name
				shown = name[:i] + "…"
			}
			where := field + " " + tree.Quote(shown)
			if counts[foldKey(field, name)] != m {
				r.note(m.Name.StartOffset, where+" comes again; the last counts", "")
			} else if wrong != "" {
				r.note(m.Name.StartOffset, where+" is left out: "+wrong, "")
			} else if s, ok := r.scalar(where, &m.Value); ok {
				out, r.usedNames = append(out, pair{name, s}), append(r.usedNames, name)
			}
		}
		return out
	}
}

// foldKey returns a name in the form in which receivers compare names. Headers are not case-sensitive (RFC 9110,
// section 5.1), and neither are the variables of Windows.
func foldKey(field, name string) string {
	if field == "headers" || runtime.GOOS == "windows" {
		return strings.ToLower(name)
	}
	return name
}

// scalar reads an element that should be a string. A number or a boolean counts as its text. Any other value is left
// out. Both are noted.
func (r *valuedRow) scalar(where string, v *hujson.Value) (textValue, bool) {
	switch v.Value.Kind() {
	case '"':
		return r.expand(tree.Text(*v), v.StartOffset, where), true
	case '0', 't', 'f':
		r.note(v.StartOffset, where+" is "+tree.KindOf(v.Value)+" and is read as text", "write it in quotes")
		return textValue{text: v.Value.(hujson.Literal).String()}, true
	}
	r.note(v.StartOffset, where+" is "+tree.KindOf(v.Value)+", no string, and is left out", "")
	return textValue{}, false
}

// expand replaces the variables in a value of the row. Notes name the field. If a variable cannot be replaced, the row
// is skipped.
func (r *valuedRow) expand(s string, offset int, field string) textValue {
	r.noteControls(s, offset, field)
	name, _, _ := strings.Cut(field, "[")
	x := expansion{valuedRow: r, ownEnv: slices.Contains([]string{"command", "args", "cwd"}, name)}
	text := x.run(s)
	out := textValue{text: text, raw: s, fetches: x.fetches, derived: x.derived}
	if x.reason != "" {
		r.skip(offset, field+": "+x.reason, x.hint)
	}
	slices.Sort(x.missing)
	for _, name := range slices.Compact(x.missing) {
		hint := "set it, or give a default: ${" + name + ":-…}"
		if !x.ownEnv && !strings.HasPrefix(field, "env ") && r.ownVariable(name) != nil {
			hint = `it is in "env", which this value does not use: write the value itself`
		}
		r.skip(offset, field+": the variable "+name+" is not set", hint)
	}
	if x.nul {
		r.skip(offset, field+" holds a NUL character", "")
	}
	r.fetches = append(r.fetches, x.fetches...)
	for _, w := range x.fetches {
		r.coverFile(w)
		if w.root == "" && decidesStart(field) {
			r.pinned = append(r.pinned, w)
		}
	}
	out.pending = len(x.fetches) > 0 && r.fetched == nil
	if out.placed = strings.Contains(s, "workspaceFolder"); out.placed {
		if dir := atomicfile.Real(r.workspace()); !r.inProject() && !r.place.isProject(dir) {
			r.skip(offset, field+": ${workspaceFolder} is "+dir+" here, which is no project",
				"run indus in a project, or write the directory itself")
		}
	}
	return out
}

// projectOf returns the project from which a path takes a file. It is "" if the user wrote the path out.
func (s *site) projectOf(path textValue) string {
	if s.isWrittenOut(path) {
		return ""
	}
	return s.rootOf(path.text)
}

// isWrittenOut reports whether the user wrote a path out: it is absolute, and no part of it depends on the working
// directory, the environment or another file.
func (s *site) isWrittenOut(path textValue) bool {
	return !s.inProject() && filepath.IsAbs(path.text) && !path.derived
}

// fullPath returns the absolute path for a value of the row.
func (s *site) fullPath(v textValue) textValue {
	written := s.tilde(v.text)
	path := v.as(s.absolute(written))
	path.derived = v.derived || written != path.text
	return path
}

// coverFile adds a file of the project to the files that an approval covers by their content.
func (r *valuedRow) coverFile(f fetch) {
	if f.root == "" || f.kind == "cmd" {
		return
	}
	result := r.place.projectFile(f)
	r.files = append(r.files, RowFile{Path: f.target, Text: result.value, Wrong: result.reason})
}
