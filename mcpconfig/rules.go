package mcpconfig

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
	"github.com/indusagi/indus/schema"
)

// rules reads "tools". If a value cannot be read, the row is skipped: a rule that is left out would admit tools against
// the intention of the author.
func (r *typedRow) rules(field string, v *hujson.Value) (t config.ToolRules) {
	r.object(field, v, true,
		member{"allow", func(field string, v *hujson.Value) {
			t.Allow = r.patterns(field, v)
			if tree.Has(v, '[') && len(t.Allow) == 0 {
				r.note(v.StartOffset, `"tools.allow" is empty, so no tool is mounted`, `remove it, or write ["*"]`)
			}
		}},
		member{"deny", storeIn(&t.Deny, r.patterns)},
		member{"rename", func(field string, v *hujson.Value) {
			t.Rename = r.nameMap(field, v)
			r.checkRenames(v, t.Rename)
		}},
		member{"describe", storeIn(&t.Describe, r.nameMap)},
	)
	return t
}

// checkRenames skips the row if two tools get one name.
func (r *typedRow) checkRenames(v *hujson.Value, names map[string]string) {
	from := map[string]string{}
	for tool, m := range tree.Members(v) {
		name := names[tool]
		if other, taken := from[name]; taken && other != tool && name != "" {
			r.skip(m.Value.StartOffset,
				fmt.Sprintf("tools.rename gives %s and %s one name, %s", tree.Quote(other), tree.Quote(tool), tree.Quote(name)), "")
		}
		from[name] = tool
	}
}

// era reads the era in which indus talks to the server. "" is auto. An unknown era is left out.
func (r *typedRow) era(field string, v *hujson.Value) protocol.Era {
	switch name := tree.Text(*v); {
	case r.isName(field, v) && (name == string(protocol.Legacy) || name == string(protocol.Modern)):
		return protocol.Era(name)
	case tree.Has(v, '"') && name != "auto":
		r.note(v.StartOffset, "unknown era "+tree.Quote(name)+", which is left out", "try legacy, modern or auto")
	}
	return ""
}

// profile reads the profile in which models see the server's tools. An unknown profile is left out.
func (r *typedRow) profile(field string, v *hujson.Value) *schema.Profile {
	name := tree.Text(*v)
	if !r.isName(field, v) {
		return nil
	}
	p := schema.ProfileNamed(name)
	if p == nil {
		names := profileNames()
		hint := choices(name, "there are "+strings.Join(names, ", "), names)
		r.note(v.StartOffset, "unknown profile "+tree.Quote(name)+", which is left out", hint)
	}
	return p
}

// isName reports whether a value is a string. If it is not, a note reports that it is left out.
func (r *typedRow) isName(field string, v *hujson.Value) bool {
	if !tree.Has(v, '"') {
		reason := fmt.Sprintf("%q is %s where a name is expected, and is left out", field, tree.KindOf(v.Value))
		r.note(v.StartOffset, reason, "")
	}
	return tree.Has(v, '"')
}

func profileNames() (names []string) {
	for _, p := range schema.Profiles() {
		names = append(names, p.Name())
	}
	return names
}

// policy returns the policy for the row's changed tools, from the row or else from its file. If the value is not a
// policy, the row is skipped, because the value may have been meant to deny tools.
func (r *typedRow) policy(ofFile *hujson.Value) config.ChangePolicy {
	v := r.fields["changes"]
	if v == nil {
		v = ofFile
	}
	p, ok := policyOf(v)
	if !ok {
		shown := tree.KindOf(v.Value)
		if tree.Has(v, '"') {
			shown = tree.Quote(tree.Text(*v))
		}
		r.skip(v.StartOffset, `"changes" is `+shown+", no policy", "write accept, hold or deny")
	}
	return p
}

func policyOf(v *hujson.Value) (p config.ChangePolicy, ok bool) {
	if v == nil {
		return "", true
	}
	p = config.ChangePolicy(tree.Text(*v))
	return p, p == config.AcceptChanges || p == config.HoldChanges || p == config.DenyChanges
}
