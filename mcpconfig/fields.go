package mcpconfig

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// member is a key that an object may have, and the function that reads its value.
type member struct {
	name string
	read func(field string, v *hujson.Value)
}

// storeIn returns the function that reads a value and stores it.
func storeIn[T any](target *T, read func(field string, v *hujson.Value) T) func(string, *hujson.Value) {
	return func(field string, v *hujson.Value) { *target = read(field, v) }
}

// take reads the fields of the row that are there, in the order of members.
func (r *reading) take(members ...member) {
	for _, m := range members {
		if v := r.fields[m.name]; v != nil {
			m.read(m.name, v)
		}
	}
}

// object reads the known members of an object; null is the same as absent. An unknown member, or a member that occurs
// twice, is noted. If strict is set, the row is skipped instead.
func (r *reading) object(field string, v *hujson.Value, strict bool, members ...member) {
	var known []string
	for _, m := range members {
		known = append(known, m.name)
	}
	all := `it has "` + strings.Join(known, `", "`) + `"`
	if v.Value.Kind() != '{' {
		r.skip(v.StartOffset, fmt.Sprintf("%q is %s where an object is expected", field, tree.KindOf(v.Value)), all)
		return
	}
	note, again, prefix := r.note, "; the last counts", field+"."
	if strict {
		note, again = r.skip, ""
	}
	if r.context != "" { // about names the object already
		prefix = ""
	}
	counts := tree.Fields(v)
	for name, m := range tree.Members(v) {
		switch i := slices.Index(known, name); {
		case tree.IsComment(name):
		case i < 0:
			note(m.Name.StartOffset, fmt.Sprintf("unknown key %s in %q", tree.Quote(name), field), choices(name, all, known))
		case counts[name] != &m.Value:
			note(m.Name.StartOffset, fmt.Sprintf("%q comes again in %q%s", name, field, again), "")
		case m.Value.Value.Kind() != 'n':
			members[i].read(prefix+name, &m.Value)
		}
	}
}

// choices returns a hint for an unknown name: the nearest known name, or else all.
func choices(name, all string, allowed []string) string {
	if near := text.Nearest(name, allowed, 1); len(near) == 1 {
		return fmt.Sprintf("did you mean %q?", near[0])
	}
	return all
}

// expect skips the row if a field is of another kind.
func (r *reading) expect(kind hujson.Kind, expected, field string, v *hujson.Value) bool {
	if v.Value.Kind() == kind {
		return true
	}
	r.skip(v.StartOffset, fmt.Sprintf("%q is %s where %s is expected", field, tree.KindOf(v.Value), expected), "")
	return false
}

// listOf reads the elements of a value that must be a list.
func listOf[T any](
	r *reading, expected, field string, v *hujson.Value, read func(field string, v *hujson.Value) T,
) (out []T) {
	if r.expect('[', expected, field, v) {
		for i, e := range tree.Elements(v) {
			out = append(out, read(fmt.Sprintf("%s[%d]", field, i), e))
		}
	}
	return out
}

// literal returns a field that must be a string, without replacing variables. If it is not a string, the row is
// skipped.
func (r *reading) literal(field string, v *hujson.Value) (string, bool) {
	return tree.Text(*v), r.expect('"', "a string", field, v)
}

// text returns a field that must be a string, with its variables replaced.
func (r *reading) text(field string, v *hujson.Value) string {
	s, _ := r.literal(field, v)
	return r.expand(s, v.StartOffset, field)
}

// nonEmpty returns a string that must not be empty. Otherwise the row is skipped.
func (r *reading) nonEmpty(field string, v *hujson.Value) string {
	switch s := tree.Text(*v); {
	case v.Value.Kind() != '"':
		r.skip(v.StartOffset, field+" is "+tree.KindOf(v.Value)+" where a string is expected", "")
	case s == "":
		r.skip(v.StartOffset, field+" is empty", "")
	default:
		return s
	}
	return ""
}

// value returns a string that must not be empty, with its variables replaced.
func (r *reading) value(field string, v *hujson.Value) string {
	return r.expand(r.nonEmpty(field, v), v.StartOffset, field)
}

// secret returns a value that is never shown.
func (r *reading) secret(field string, v *hujson.Value) config.Secret {
	return config.NewSecret(strings.TrimSpace(r.value(field, v)))
}

// strings reads a list of texts that are not empty, or a single text.
func (r *reading) strings(field string, v *hujson.Value) []string {
	if tree.Has(v, '"') {
		return []string{r.value(field, v)}
	}
	return listOf(r, "a list of strings", field, v, r.value)
}

// oneOf returns a function that reads a text. The text must be one of the known words.
func (r *reading) oneOf(allowed ...string) func(field string, v *hujson.Value) string {
	return func(field string, v *hujson.Value) string {
		name := r.nonEmpty(field, v)
		if name != "" && !slices.Contains(allowed, name) {
			hint := choices(name, "there are "+strings.Join(allowed, ", "), allowed)
			r.skip(v.StartOffset, fmt.Sprintf("unknown %s %s", field, tree.Quote(name)), hint)
		}
		return name
	}
}

// texts reads a field that must be a list of strings.
func (r *reading) texts(field string, v *hujson.Value) (out []string) {
	listOf(r, "a list of strings", field, v, func(where string, e *hujson.Value) string {
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
func (r *reading) pairs(valid func(name string) string) func(field string, v *hujson.Value) []config.Pair {
	return func(field string, v *hujson.Value) (out []config.Pair) {
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
				out, r.usedNames = append(out, config.Pair{Name: name, Value: config.NewSecret(s)}), append(r.usedNames, name)
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
func (r *reading) scalar(where string, v *hujson.Value) (string, bool) {
	switch v.Value.Kind() {
	case '"':
		return r.expand(tree.Text(*v), v.StartOffset, where), true
	case '0', 't', 'f':
		r.note(v.StartOffset, where+" is "+tree.KindOf(v.Value)+" and is read as text", "write it in quotes")
		return v.Value.(hujson.Literal).String(), true
	}
	r.note(v.StartOffset, where+" is "+tree.KindOf(v.Value)+", no string, and is left out", "")
	return "", false
}

// flag returns a field that must be true or false, and whether it is there. Any other value counts as absent.
func (r *reading) flag(field string) (on, present bool) {
	v := r.fields[field]
	if v == nil {
		return false, false
	}
	switch kind, word := v.Value.Kind(), tree.Text(*v); {
	case kind == 't' || kind == 'f':
		return kind == 't', true
	case word == "true" || word == "false":
		r.note(v.StartOffset, fmt.Sprintf("%q is a string and is read as %s", field, word), "remove the quotes")
		return word == "true", true
	}
	r.note(v.StartOffset,
		fmt.Sprintf("%q is %s where true or false is expected, and is left out", field, tree.KindOf(v.Value)), "")
	return false, false
}

// count returns a function that reads a whole number. Any other value is noted, and the row is read as if the field
// were absent.
func (r *reading) count(minimum, maximum int) func(field string, v *hujson.Value) int {
	return func(field string, v *hujson.Value) int {
		if n, ok := wholeNumber(v); ok && n >= minimum && n <= maximum {
			return n
		}
		r.note(v.StartOffset,
			fmt.Sprintf("%q is no whole number from %d to %d, and is left out", field, minimum, maximum), "")
		delete(r.fields, field)
		return 0
	}
}

func wholeNumber(v *hujson.Value) (int, bool) {
	if !tree.Has(v, '0') {
		return 0, false
	}
	f := v.Value.(hujson.Literal).Float()
	return int(f), f == float64(int(f))
}

// expand replaces the variables in a value of the row. Notes name the field. If a variable cannot be replaced, the row
// is skipped.
func (r *reading) expand(s string, offset int, field string) string {
	r.noteControls(s, offset, field)
	name, _, _ := strings.Cut(field, "[")
	x := expansion{reading: r, ownEnv: slices.Contains([]string{"command", "args", "cwd"}, name)}
	out := x.run(s)
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
	if len(x.fetches) > 0 && r.fetched == nil {
		r.pending[out] = true
	}
	if x.derived {
		r.derived[out], r.derived[r.tilde(out)] = true, true
	}
	if strings.Contains(s, "workspaceFolder") {
		r.workspaceTexts[out] = s
		if dir := atomicfile.Real(r.workspace()); !r.inProject() && !r.place.isProject(dir) {
			r.skip(offset, field+": ${workspaceFolder} is "+dir+" here, which is no project",
				"run indus in a project, or write the directory itself")
		}
	}
	return out
}

// fixedVariable returns the value of a variable that every file has.
func (f *configFile) fixedVariable(name string) (string, bool) {
	switch name {
	case "userHome":
		return f.place.Home, f.place.Home != ""
	case "workspaceFolder":
		return f.workspace(), true
	case "workspaceFolderBasename":
		return filepath.Base(f.workspace()), true
	case "pathSeparator":
		return string(filepath.Separator), true
	}
	return "", false
}
