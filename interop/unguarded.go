package interop

import (
	"context"
	"slices"

	"github.com/indusagi/indus/toolbox"
)

// unguarded is a fleet of which nobody knows what was approved. The tools of servers that
// keep changed ones back are not let through: each may be one.
type unguarded struct{ *Fleet }

var _ toolbox.Source = unguarded{}

// Snapshot implements [toolbox.Source].
func (u unguarded) Snapshot(p toolbox.Principal) *toolbox.Snapshot {
	all := u.Fleet.Snapshot(p)
	guarded := u.guarded()
	if guarded == nil {
		return all
	}
	out := *all
	out.Tools = nil
	for _, d := range all.Tools {
		if guarded[d.Server] {
			out.Held = append(slices.Clip(out.Held), d.Name)
		} else {
			out.Tools = append(out.Tools, d)
		}
	}
	return &out
}

// Do implements [toolbox.Source].
func (u unguarded) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	guarded := u.guarded()
	if guarded == nil {
		return u.Fleet.Do(ctx, c)
	}
	for _, s := range u.Servers() {
		if guarded[s.ID] && s.MayOwn(c.Name) {
			return toolbox.ErrorResult(c.Name + " is kept back: its server's changes are, and nothing here knows what was approved"), nil
		}
	}
	return u.Fleet.Do(ctx, c)
}

// guarded are the servers that keep changed tools back; nil: none.
func (u unguarded) guarded() map[string]bool {
	var out map[string]bool
	for _, s := range u.Servers() {
		if s.Changes.Guards() {
			if out == nil {
				out = map[string]bool{}
			}
			out[s.ID] = true
		}
	}
	return out
}
