package mcpconfig

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// expect gives the row up where a field is of another kind.
func (r *reading) expect(kind hujson.Kind, what, field string, v *hujson.Value) bool {
	if v.Value.Kind() == kind {
		return true
	}
	r.skip(v.StartOffset, fmt.Sprintf("%q is %s where %s is expected", field, tree.KindOf(v.Value), what), "")
	return false
}

// literal is a field that must be a string, as it stands; if not, the row is skipped.
func (r *reading) literal(v *hujson.Value, field string) (string, bool) {
	return tree.Text(*v), r.expect('"', "a string", field, v)
}

// text is a field that must be a string, with its variables replaced.
func (r *reading) text(field string) string {
	v := r.fields[field]
	if v == nil {
		return ""
	}
	s, _ := r.literal(v, field)
	return r.expand(s, v.StartOffset, field)
}

// expand replaces the variables in a value of the row; field says where, in notes.
// If it cannot, the row is skipped.
func (r *reading) expand(s string, at int, field string) string {
	x := expansion{
		env: r.variable, fixed: r.fixed, dir: r.base, root: r.rootOf, path: r.ownPath(), tilde: r.tilde, fetched: r.fetched, budget: &r.budget,
		given: func(value string) { r.Server.Secrets = append(r.Server.Secrets, interop.NewSecret(value)) },
	}
	out := x.run(s)
	if x.reason != "" {
		r.skip(at, field+": "+x.reason, x.hint)
	}
	slices.Sort(x.missing)
	for _, name := range slices.Compact(x.missing) {
		r.skip(at, field+": the variable "+name+" is not set", "set it, or give a default: ${"+name+":-…}")
	}
	if x.nul {
		r.skip(at, field+" holds a NUL character", "")
	}
	r.wants = append(r.wants, x.wants...)
	for _, w := range x.wants {
		r.hold(w)
		if w.root == "" && decides(field) {
			r.pinned = append(r.pinned, w)
		}
	}
	if strings.Contains(s, "workspaceFolder") {
		if r.placed == nil {
			r.placed = map[string]string{}
		}
		r.placed[out] = s
		if dir := realPath(r.workspace()); !r.inProject() && !r.place.isProject(dir) {
			r.skip(at, field+": ${workspaceFolder} is "+dir+" here, which is no project", "run indus in a project, or write the directory itself")
		}
	}
	if x.fetches {
		r.written = append(r.written, writtenPart{"fetched", field, s})
	}
	return out
}

// fixed are the variables that every file has.
func (f *configFile) fixed(name string) (string, bool) {
	switch name {
	case "userHome":
		return f.place.home, f.place.home != ""
	case "workspaceFolder":
		return f.workspace(), true
	case "workspaceFolderBasename":
		return filepath.Base(f.workspace()), true
	case "pathSeparator":
		return string(filepath.Separator), true
	}
	return "", false
}

// texts is a field that must be a list of strings.
func (r *reading) texts(field string) (out []string) {
	v := r.fields[field]
	if v == nil || !r.expect('[', "a list of strings", field, v) {
		return nil
	}
	for i, e := range tree.Elements(v) {
		if s, ok := r.scalar(e, fmt.Sprintf("%s[%d]", field, i)); ok {
			out = append(out, s)
		}
	}
	return out
}

// pairs is a field that must be an object of strings; valid says what is wrong
// with a name. Of two entries with one name the later counts, and one is all that
// comes out, so that their order means nothing.
func (r *reading) pairs(field string, valid func(name string) string) (out []interop.Pair) {
	v := r.fields[field]
	if v == nil || !r.expect('{', "an object", field, v) {
		return nil
	}
	counts := map[string]*hujson.ObjectMember{}
	for name, m := range tree.Members(v) {
		counts[folded(field, name)] = m
	}
	for name, m := range tree.Members(v) {
		wrong, shown := valid(name), name
		if i := strings.IndexAny(name, "=:"); i >= 0 && wrong != "" { // a value was written into the name
			shown = name[:i] + "…"
		}
		where := field + " " + tree.Quote(shown)
		if counts[folded(field, name)] != m {
			r.note(m.Name.StartOffset, where+" comes again; the last counts", "")
		} else if wrong != "" {
			r.note(m.Name.StartOffset, where+" is left out: "+wrong, "")
		} else if s, ok := r.scalar(&m.Value, where); ok {
			out = append(out, interop.Pair{Name: name, Value: interop.NewSecret(s)})
			r.written = append(r.written, writtenPart{field, name, m.Value.Value.(hujson.Literal).String()})
		}
	}
	return out
}

// folded is a name as those compare it who get it: headers have no case (RFC 9110,
// section 5.1), nor have the variables of Windows.
func folded(field, name string) string {
	if field == "headers" || runtime.GOOS == "windows" {
		return strings.ToLower(name)
	}
	return name
}

// scalar is an element that should be a string. A number or a boolean counts as
// its text, anything else is left out, and both are noted.
func (r *reading) scalar(v *hujson.Value, where string) (string, bool) {
	switch v.Value.Kind() {
	case '"':
		return r.expand(tree.Text(*v), v.StartOffset, where), true
	case '0', 't', 'f':
		r.note(v.StartOffset, where+" is "+tree.KindOf(v.Value)+" and is read as text", "put it in quotes")
		return v.Value.(hujson.Literal).String(), true
	}
	r.note(v.StartOffset, where+" is "+tree.KindOf(v.Value)+", no string, and is left out", "")
	return "", false
}

// flag is a field that must be true or false; anything else counts as absent.
func (r *reading) flag(field string, absent bool) bool {
	v := r.fields[field]
	if v == nil {
		return absent
	}
	switch kind := v.Value.Kind(); {
	case kind == 't' || kind == 'f':
		return kind == 't'
	case tree.Text(*v) == "true" || tree.Text(*v) == "false":
		r.note(v.StartOffset, fmt.Sprintf("%q is a string and is read as %s", field, tree.Text(*v)), "remove the quotes")
		return tree.Text(*v) == "true"
	}
	r.note(v.StartOffset, fmt.Sprintf("%q is %s where true or false is expected, and is left out", field, tree.KindOf(v.Value)), "")
	return absent
}
