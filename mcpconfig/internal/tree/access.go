package tree

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Members yields the members of an object, in order. A value that is nil or no object has none.
func Members(v *hujson.Value) iter.Seq2[string, *hujson.ObjectMember] {
	return func(yield func(string, *hujson.ObjectMember) bool) {
		if v == nil {
			return
		}
		if o, ok := v.Value.(*hujson.Object); ok {
			for i := range o.Members {
				if !yield(Text(o.Members[i].Name), &o.Members[i]) {
					return
				}
			}
		}
	}
}

// Elements yields the elements of a list. A value that is nil or no list has none.
func Elements(v *hujson.Value) iter.Seq2[int, *hujson.Value] {
	return func(yield func(int, *hujson.Value) bool) {
		if v == nil {
			return
		}
		if list, ok := v.Value.(*hujson.Array); ok {
			for i := range list.Elements {
				if !yield(i, &list.Elements[i]) {
					return
				}
			}
		}
	}
}

// Items yields the values of an object's members, with their names, or of a list's elements, with nil.
func Items(v *hujson.Value) iter.Seq2[*hujson.Value, *hujson.Value] {
	return func(yield func(name, value *hujson.Value) bool) {
		for _, m := range Members(v) {
			if !yield(&m.Name, &m.Value) {
				return
			}
		}
		for _, e := range Elements(v) {
			if !yield(nil, e) {
				return
			}
		}
	}
}

// Start returns the offset at which an item begins: see [Items].
func Start(name, value *hujson.Value) int {
	if name != nil {
		return name.StartOffset
	}
	return value.StartOffset
}

// Fields returns the values of an object by name. If a name occurs several times, the last counts.
func Fields(v *hujson.Value) map[string]*hujson.Value {
	out := map[string]*hujson.Value{}
	for name, m := range Members(v) {
		out[name] = &m.Value
	}
	return out
}

// At returns the value at a path of names, or nil if there is none. If a name occurs several times, the last counts.
func At(v *hujson.Value, path ...string) *hujson.Value {
	for _, name := range path {
		in := v
		v = nil
		for n, m := range Members(in) {
			if n == name {
				v = &m.Value
			}
		}
	}
	return v
}

// Has reports whether a value is of one of the kinds, such as '{'. Nil is of no kind.
func Has(v *hujson.Value, kinds ...hujson.Kind) bool {
	for _, k := range kinds {
		if v != nil && v.Value.Kind() == k {
			return true
		}
	}
	return false
}

// TextAt returns the string at a path. It is "" if there is none.
func TextAt(v *hujson.Value, path ...string) string {
	if found := At(v, path...); found != nil {
		return Text(*found)
	}
	return ""
}

// String returns a string with an offset.
func String(offset int, s string) hujson.Value {
	return hujson.Value{StartOffset: offset, Value: hujson.String(s)}
}

// List returns a list with an offset.
func List(offset int, elements []hujson.Value) hujson.Value {
	return hujson.Value{StartOffset: offset, Value: &hujson.Array{Elements: elements}}
}

// Object returns an object with an offset.
func Object(offset int, members []hujson.ObjectMember) hujson.Value {
	return hujson.Value{StartOffset: offset, Value: &hujson.Object{Members: members}}
}

// Member returns a member. Its name has the offset of its value.
func Member(name string, v hujson.Value) hujson.ObjectMember {
	return hujson.ObjectMember{Name: String(v.StartOffset, name), Value: v}
}

// IsComment reports whether a key is a comment, without a meaning to programs.
func IsComment(name string) bool { return name != "" && strings.Contains("$_/#", name[:1]) }

// Cut is a part of a text, and its replacement.
type Cut struct {
	From, To int
	By       string
}

// Splice makes cuts that do not overlap. If two cuts are at one place, the first in the list comes first.
func Splice(text []byte, cuts []Cut) []byte {
	slices.SortStableFunc(cuts, func(a, b Cut) int { return cmp.Compare(a.From, b.From) })
	var out []byte
	at := 0
	for _, c := range cuts {
		out = append(append(out, text[at:c.From]...), c.By...)
		at = c.To
	}
	return append(out, text[at:]...)
}
