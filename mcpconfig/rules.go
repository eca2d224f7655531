package mcpconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
	"github.com/indusagi/indus/schema"
)

// rules are what "tools" says. What cannot be read gives the row up: a rule that
// is left out would let tools through that somebody meant to keep away.
func (r *reading) rules() interop.ToolRules {
	for _, twice := range r.twice {
		if tree.Text(*twice) == "tools" {
			r.skip(twice.StartOffset, `"tools" comes twice in this row`, "make one of the two")
		}
	}
	v := r.fields["tools"]
	if v == nil {
		return interop.ToolRules{}
	}
	if !r.expect('{', "an object", "tools", v) {
		return interop.ToolRules{}
	}
	var t interop.ToolRules
	r.members("tools", v, []string{"allow", "deny", "rename", "describe"}, true, func(name string, v *hujson.Value) {
		switch name {
		case "allow":
			t.Allow = r.patterns("tools.allow", v)
			if t.Allow != nil && len(t.Allow) == 0 {
				r.note(v.StartOffset, `"tools.allow" is empty, so no tool is mounted`, `remove it, or write ["*"]`)
			}
		case "deny":
			t.Deny = r.patterns("tools.deny", v)
		case "rename":
			t.Rename = r.words("tools.rename", v)
			r.checkRenames(v, t.Rename)
		case "describe":
			t.Describe = r.words("tools.describe", v)
		}
	})
	return t
}

// members calls each for the known members of an object that are not null. What is
// unknown is noted, and so is what comes again, where the last counts; if strict,
// either gives the row up.
func (r *reading) members(field string, object *hujson.Value, known []string, strict bool, each func(name string, v *hujson.Value)) {
	note, again := r.note, "; the last counts"
	if strict {
		note, again = r.skip, ""
	}
	counts := tree.Fields(object)
	for name, m := range tree.Members(object) {
		switch {
		case tree.IsComment(name):
		case !slices.Contains(known, name):
			note(m.Name.StartOffset, fmt.Sprintf("unknown key %s in %q", tree.Quote(name), field), choices(name, `it has "`+strings.Join(known, `", "`)+`"`, known))
		case counts[name] != &m.Value:
			note(m.Name.StartOffset, fmt.Sprintf("%q comes again in %q%s", name, field, again), "")
		case m.Value.Value.Kind() != 'n':
			each(name, &m.Value)
		}
	}
}

// choices is a hint for a name that is none of those that there are.
func choices(name, all string, known []string) string {
	if near := text.Nearest(name, known, 1); len(near) == 1 {
		return fmt.Sprintf("did you mean %q?", near[0])
	}
	return all
}

// patterns is a list of names in which "*" and "?" stand for others. It is not nil.
func (r *reading) patterns(field string, v *hujson.Value) []string {
	if !r.expect('[', "a list of patterns", field, v) {
		return nil
	}
	out := []string{}
	for i, e := range tree.Elements(v) {
		out = append(out, r.filled(e, fmt.Sprintf("%s[%d]", field, i)))
	}
	return out
}

// words is an object of strings that are not empty.
func (r *reading) words(field string, v *hujson.Value) map[string]string {
	if !r.expect('{', "an object", field, v) {
		return nil
	}
	out := map[string]string{}
	for name, m := range tree.Members(v) {
		where := field + " " + tree.Quote(name)
		if _, again := out[name]; again {
			r.skip(m.Name.StartOffset, where+" comes again", "make one of the two")
		}
		out[name] = r.filled(&m.Value, where)
	}
	return out
}

// filled is a string that must not be empty; if it is no such, the row is skipped.
func (r *reading) filled(v *hujson.Value, where string) string {
	switch s := tree.Text(*v); {
	case v.Value.Kind() != '"':
		r.skip(v.StartOffset, where+" is "+tree.KindOf(v.Value)+" where a string is expected", "")
	case s == "":
		r.skip(v.StartOffset, where+" is empty", "")
	default:
		return s
	}
	return ""
}

// checkRenames sees to it that no two tools get one name.
func (r *reading) checkRenames(v *hujson.Value, names map[string]string) {
	from := map[string]string{}
	for tool, m := range tree.Members(v) {
		name := names[tool]
		if other, taken := from[name]; taken && other != tool && name != "" {
			r.skip(m.Value.StartOffset, fmt.Sprintf("tools.rename gives %s and %s one name, %s", tree.Quote(other), tree.Quote(tool), tree.Quote(name)), "")
		}
		from[name] = tool
	}
}

// era is the one that the server is spoken to in; "" is auto, and what is unknown is left out.
func (r *reading) era() interop.Era {
	v := r.fields["era"]
	if v == nil {
		return ""
	}
	switch name := tree.Text(*v); {
	case v.Value.Kind() != '"':
		r.note(v.StartOffset, `"era" is `+tree.KindOf(v.Value)+" where a name is expected, and is left out", "")
	case name == string(interop.Legacy) || name == string(interop.Modern):
		return interop.Era(name)
	case name != "auto":
		r.note(v.StartOffset, "unknown era "+tree.Quote(name)+", which is left out", "try legacy, modern or auto")
	}
	return ""
}

// profile is how the server's tools are shown to models; one that is unknown is left out.
func (r *reading) profile() *schema.Profile {
	v := r.fields["profile"]
	if v == nil {
		return nil
	}
	name := tree.Text(*v)
	if p := schema.ProfileNamed(name); p != nil && v.Value.Kind() == '"' {
		return p
	}
	if v.Value.Kind() != '"' {
		r.note(v.StartOffset, `"profile" is `+tree.KindOf(v.Value)+" where a name is expected, and is left out", "")
		return nil
	}
	names := profileNames()
	r.note(v.StartOffset, "unknown profile "+tree.Quote(name)+", which is left out", choices(name, "there are "+strings.Join(names, ", "), names))
	return nil
}
