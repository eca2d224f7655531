package ledger

import (
	"slices"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// maxDeclared bounds the snapshots that are kept for clients that declare something.
const maxDeclared = 64

// declaredView is what was let through last for clients that declare something.
type declaredView struct {
	of, all *toolbox.Snapshot // what the fleet shows them, and what everybody is shown
	shown   *toolbox.Snapshot
}

// SnapshotFor is [Attachment.Snapshot] for clients that declare d; nil: it is the same. See [interop.Fleet.SnapshotFor]. Where
// a server lists a tool otherwise to them, and only what was approved of it is shown, that is.
func (a *Attachment) SnapshotFor(d interop.Declared) *toolbox.Snapshot {
	if d == (interop.Declared{}) {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current()
	s := a.Fleet.SnapshotFor(d)
	if s == nil || a.closed || a.pending {
		return nil
	}
	last := a.view.declared[d]
	if last.of == s && last.all == a.view.shown {
		return last.shown
	}
	shown := &toolbox.Snapshot{Version: a.view.shown.Version + 1, Pending: s.Pending, Down: s.Down, Owners: s.Owners, Held: a.view.shown.Held}
	if last.shown != nil {
		shown.Version = max(shown.Version, last.shown.Version+1)
	}
	for i := range s.Tools {
		if d := a.letThrough(&s.Tools[i]); d != nil {
			shown.Tools = append(shown.Tools, *d)
		}
	}
	if len(a.view.declared) >= maxDeclared {
		clear(a.view.declared)
	}
	a.view.declared[d] = declaredView{s, a.view.shown, shown}
	return shown
}

// letThrough is what is shown of a tool that is listed to some clients; nil: nothing. Call it with mu held, after current.
func (a *Attachment) letThrough(d *toolbox.Descriptor) *toolbox.Descriptor {
	if _, kept := a.guard.kept[d.Name]; kept {
		return nil
	}
	server := a.view.servers[d.Server]
	t := Entry{Config: server.config, Server: d.Server, Tool: d.Tool}.toolID()
	if !server.policy.Guards() || !a.guard.approved.isChanged(t, a.guard.sumOf(d)) {
		return d
	}
	if i := slices.IndexFunc(a.view.shown.Tools, func(o toolbox.Descriptor) bool { return o.Name == d.Name }); i >= 0 {
		return &a.view.shown.Tools[i]
	}
	return nil
}
