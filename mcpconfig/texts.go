package mcpconfig

import (
	"runtime"
	"strings"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
	"github.com/tailscale/hujson"
)

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
