package interop

import (
	"slices"

	"github.com/indusagi/indus/interop/internal/listing"
	"github.com/indusagi/indus/toolbox"
)

// view is the published state of a fleet at one moment. It is immutable.
type view struct {
	snapshot *toolbox.Snapshot
	owners   map[string]owner
	down     []*member          // in order
	rejected []listing.Rejected // names that two servers claim
}

type owner struct {
	member *member
	tool   string // the server's own name
}

// currentView returns the current view. It is made on demand, so that a burst of changes needs only one.
func (f *Fleet) currentView() *view {
	if v := f.view.Load(); v != nil {
		return v
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.viewLocked()
}

// viewLocked is currentView with mu held.
func (f *Fleet) viewLocked() *view {
	if v := f.view.Load(); v != nil {
		return v
	}
	v := &view{owners: make(map[string]owner, len(f.lastView.owners))}
	v.snapshot = f.compose(v, Declared{})
	f.addVariants(v)
	if last := f.lastView.snapshot; slices.Equal(v.down, f.lastView.down) && v.snapshot.Equal(last) {
		v.snapshot = last
	} else {
		v.snapshot.Version = last.Version + 1
		for _, s := range v.snapshot.Kinds {
			s.Version = v.snapshot.Version
		}
	}
	f.lastView = v
	f.view.Store(v)
	return v
}

// compose returns the snapshot for clients that declare d. The zero d is for all clients, and comes first. Call it
// with mu held.
func (f *Fleet) compose(v *view, d Declared) *toolbox.Snapshot {
	out := &toolbox.Snapshot{}
	if d != (Declared{}) {
		out.Kind = d
	}
	for _, m := range f.members {
		s := m.state.Load()
		if !s.settled {
			out.Pending = append(out.Pending, m.server.ID)
		}
		l, known := s.list, s.variants[d]
		if known.list != nil {
			l = known.list
		}
		if l != nil {
			var lacks func(string) bool
			if d != (Declared{}) {
				lacks = func(tool string) bool { return s.lacksTool(known, tool) }
			}
			v.add(out, m, l, lacks)
			if l.Owner != (toolbox.Owner{}) {
				out.Owners = append(out.Owners, l.Owner)
			}
		}
		if s.isDown() {
			if d == (Declared{}) {
				v.down = append(v.down, m)
			}
			out.Down = append(out.Down, toolbox.Down{Server: m.server.ID, Owns: m.mayOwn})
		}
	}
	return out
}

// add adds a server's list to a snapshot. The owner of a name is the same for all clients. For a list for clients
// that declare something, lacks reports whether a tool is gone by now. If lacks is nil, the list is for all clients.
func (v *view) add(out *toolbox.Snapshot, m *member, l *listing.List, lacks func(tool string) bool) {
	hold := m.holdsTools()
	for i := range l.Tools {
		t := &l.Tools[i]
		first, taken := v.owners[t.Name]
		switch {
		case taken && lacks == nil:
			v.rejected = append(v.rejected, listing.Rejected{Server: m.server.ID, Tool: t.Tool,
				Reason: "a tool of " + first.member.server.ID + " is mounted as " + t.Name})
			continue
		case taken && first.member != m, !taken && lacks != nil && lacks(t.Tool):
			continue
		case !taken:
			v.owners[t.Name] = owner{m, t.Tool}
		}
		if hold {
			out.Held = append(out.Held, t.Name)
		} else {
			out.Tools = append(out.Tools, t.Descriptor)
		}
	}
}
