package mcpconfig

import (
	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// policy is what becomes of the row's changed tools: what it says itself, else its file. What
// is neither gives the row up: it may have been meant to keep something away.
func (r *reading) policy() interop.ChangePolicy {
	v := r.fields["changes"]
	if v == nil {
		v = r.changes
	}
	p, ok := policyOf(v)
	if !ok {
		r.skip(v.StartOffset, `"changes" is `+describePolicy(v)+", no policy", "write accept, hold or deny")
	}
	return p
}

func describePolicy(v *hujson.Value) string {
	if v.Value.Kind() == '"' {
		return tree.Quote(tree.Text(*v))
	}
	return tree.KindOf(v.Value)
}

func policyOf(v *hujson.Value) (p interop.ChangePolicy, ok bool) {
	if v == nil {
		return "", true
	}
	p = interop.ChangePolicy(tree.Text(*v))
	return p, v.Value.Kind() == '"' && (p == interop.AcceptChanges || p == interop.HoldChanges || p == interop.DenyChanges)
}

// raise gives each row at least the policy that the user's own files have for its id, or for
// all: a project's file cannot lower it.
func raise(sources []*source) {
	least, all := map[string]interop.ChangePolicy{}, interop.ChangePolicy("")
	for _, s := range sources {
		if !s.own() {
			continue
		}
		if p, ok := policyOf(s.changes); s.changes != nil && ok {
			all = all.Strictest(p)
		}
		for _, e := range s.entries {
			least[e.Server.ID] = least[e.Server.ID].Strictest(e.Server.Changes)
		}
	}
	for _, s := range sources {
		for i := range s.entries {
			e := &s.entries[i].Server
			if p := least[e.ID].Strictest(all); !s.own() && p.Guards() {
				e.Changes = e.Changes.Strictest(p)
			}
		}
	}
}
