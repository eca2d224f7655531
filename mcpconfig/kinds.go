package mcpconfig

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

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

// object reads the known members of an object; null is the same as absent. An unknown member, or a member that occurs
// twice, is noted. If strict is set, the row is skipped instead.
func (r *findings) object(field string, v *hujson.Value, strict bool, members ...member) {
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
	if r.about != "" { // it names the object already
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
func (r *findings) expect(kind hujson.Kind, expected, field string, v *hujson.Value) bool {
	if v.Value.Kind() == kind {
		return true
	}
	r.skip(v.StartOffset, fmt.Sprintf("%q is %s where %s is expected", field, tree.KindOf(v.Value), expected), "")
	return false
}

// listOf reads the elements of a value that must be a list.
func listOf[T any](
	r *findings, expected, field string, v *hujson.Value, read func(field string, v *hujson.Value) T,
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
func (r *findings) literal(field string, v *hujson.Value) (string, bool) {
	return tree.Text(*v), r.expect('"', "a string", field, v)
}

// nonEmpty returns a string that must not be empty. Otherwise the row is skipped.
func (r *findings) nonEmpty(field string, v *hujson.Value) string {
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

// oneOf returns a function that reads a text. The text must be one of the known words.
func (r *findings) oneOf(allowed ...string) func(field string, v *hujson.Value) string {
	return func(field string, v *hujson.Value) string {
		name := r.nonEmpty(field, v)
		if name != "" && !slices.Contains(allowed, name) {
			hint := choices(name, "there are "+strings.Join(allowed, ", "), allowed)
			r.skip(v.StartOffset, fmt.Sprintf("unknown %s %s", field, tree.Quote(name)), hint)
		}
		return name
	}
}

const maxSize = 1 << 40 // bytes of a file, or of the memory of a server

// size returns a function that reads a number of bytes, or a text such as "100MB". Any other value makes the part
// unusable. minimum is such a text.
func (r *findings) size(minimum, example string) func(field string, v *hujson.Value) int64 {
	return func(field string, v *hujson.Value) int64 {
		n, ok := tree.Size(v)
		if least, _ := tree.ParseSize(minimum); !ok || n < least || n > maxSize {
			r.skip(v.StartOffset, fmt.Sprintf("%q is no size from %s to 1024GiB", field, minimum), "write "+tree.Quote(example))
		}
		return n
	}
}

// age reads a duration of at least a minute, also in days.
func (r *findings) age(field string, v *hujson.Value) time.Duration {
	var d time.Duration
	var err error
	if days, ok := strings.CutSuffix(tree.Text(*v), "d"); ok {
		d, err = time.ParseDuration(days + "h")
		d *= 24
	} else {
		d, err = time.ParseDuration(tree.Text(*v))
	}
	if err != nil || !tree.Has(v, '"') || d < time.Minute || d > 100*365*24*time.Hour {
		r.skip(v.StartOffset, fmt.Sprintf("%q is no duration of a minute or more", field), `write "24h" or "7d"`)
	}
	return d
}

// whole returns a function that reads a whole number. Any other value makes the part unusable.
func (r *findings) whole(minimum, maximum int, hint string) func(field string, v *hujson.Value) int {
	return func(field string, v *hujson.Value) int {
		n, ok := tree.WholeNumber(v)
		if !ok || n < minimum || n > maximum {
			r.skip(v.StartOffset, fmt.Sprintf("%q is no whole number from %d to %d", field, minimum, maximum), hint)
		}
		return n
	}
}

func (r *findings) boolean(field string, v *hujson.Value) bool {
	if !tree.Has(v, 't', 'f') {
		r.skip(v.StartOffset, fmt.Sprintf("%q is %s where true or false is expected", field, tree.KindOf(v.Value)), "")
	}
	return tree.Has(v, 't')
}

const (
	maxTimeout   = 30 * 24 * time.Hour     // a longer time is a mistaken unit
	minTotal     = 10 * time.Minute        // the default of config.Timeouts.Total, which a longer call must raise
	minPlausible = 1000 * time.Millisecond // a shorter time was probably meant in seconds

	maxInstances = 64      // processes of one server
	maxPooled    = 100_000 // of all other counts; a larger number is a mistake
)

// bound reads a duration. It is 0 if the value cannot be read.
func (r *findings) bound(field string, v *hujson.Value) time.Duration {
	d, err := duration(v)
	if tree.Has(v, '0') && d > 0 && d < minPlausible {
		r.note(v.StartOffset, fmt.Sprintf("%q counts milliseconds, and this is less than a second", field),
			`write "30s" for seconds`)
	}
	switch {
	case err != nil:
		r.note(v.StartOffset, fmt.Sprintf("%q is neither a number of milliseconds nor a duration, and is left out", field),
			`write 90000 or "90s"`)
		return 0
	case d > maxTimeout:
		r.note(v.StartOffset, fmt.Sprintf("%q is longer than 30 days, and is left out", field), `write -1 for none`)
		return 0
	}
	return d
}

// duration reads a duration. If a number is too large, the result is above maxTimeout and does not overflow.
func duration(v *hujson.Value) (time.Duration, error) {
	if !tree.Has(v, '0') {
		return time.ParseDuration(tree.Text(*v))
	}
	ms := v.Value.(hujson.Literal).Float()
	ms = max(-1, min(ms, float64(maxTimeout.Milliseconds()+1)))
	return time.Duration(ms * float64(time.Millisecond)), nil
}

// patterns reads a list of names, in which "*" and "?" are wildcards. It is not nil.
func (r *findings) patterns(field string, v *hujson.Value) []string {
	return append([]string{}, listOf(r, "a list of patterns", field, v, r.nonEmpty)...)
}

// nameMap reads an object of strings that are not empty.
func (r *findings) nameMap(field string, v *hujson.Value) map[string]string {
	if !r.expect('{', "an object", field, v) {
		return nil
	}
	out := map[string]string{}
	for name, m := range tree.Members(v) {
		where := field + " " + tree.Quote(name)
		if _, again := out[name]; again {
			r.skip(m.Name.StartOffset, where+" comes again", "make one of the two")
		}
		out[name] = r.nonEmpty(where, &m.Value)
	}
	return out
}

// typedRow is a row of which all fields without variables have their types. The other fields still have their texts.
type typedRow struct {
	*rawRow
	findings
	id       string
	disabled bool                 // by its own keys
	server   config.Server        // the fields without variables
	kind     config.TransportKind // as the row is shown; "" if it has none
	target   string
	reached  config.TransportKind // "" if the row has no transport that can be used
}

func (r *typedRow) setID(id string) { r.id, r.server.ID, r.findings.server = id, id, id }

// take reads the fields of the row that are there, in the order of members.
func (r *typedRow) take(members ...member) {
	for _, m := range members {
		if v := r.fields[m.name]; v != nil {
			m.read(m.name, v)
		}
	}
}

// flag returns a field that must be true or false, and whether it is there. Any other value counts as absent.
func (r *typedRow) flag(field string) (on, present bool) {
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
func (r *typedRow) count(minimum, maximum int) func(field string, v *hujson.Value) int {
	return func(field string, v *hujson.Value) int {
		if n, ok := tree.WholeNumber(v); ok && n >= minimum && n <= maximum {
			return n
		}
		r.note(v.StartOffset,
			fmt.Sprintf("%q is no whole number from %d to %d, and is left out", field, minimum, maximum), "")
		delete(r.fields, field)
		return 0
	}
}

// remarkUnused notes the fields that have no effect, in one sentence that begins with reason.
func (r *typedRow) remarkUnused(reason string, fields ...string) {
	var there []string
	at := r.at
	for _, f := range fields {
		if v := r.fields[f]; v != nil {
			if there == nil {
				at = v.StartOffset
			}
			there = append(there, f)
		}
	}
	switch n := len(there); n {
	case 0:
	case 1:
		r.note(at, reason+" "+there[0]+" is not used", "")
	default:
		r.note(at, reason+" "+strings.Join(there[:n-1], ", ")+" and "+there[n-1]+" are not used", "")
	}
}
