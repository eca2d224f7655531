package interop

import (
	"slices"
	"strings"

	"github.com/indusagi/indus/toolbox"
)

// view is the published state of a fleet at one moment. It is immutable.
type view struct {
	snapshot *toolbox.Snapshot
	owners   map[string]owner
	down     []*member    // in order
	rejected []Quarantine // names that two servers claim
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
			if l.owner != (toolbox.Owner{}) {
				out.Owners = append(out.Owners, l.owner)
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
func (v *view) add(out *toolbox.Snapshot, m *member, l *listing, lacks func(tool string) bool) {
	hold := m.holdsTools()
	for i := range l.tools {
		t := &l.tools[i]
		first, taken := v.owners[t.Name]
		switch {
		case taken && lacks == nil:
			v.rejected = append(v.rejected, Quarantine{Server: m.server.ID, Tool: t.Tool,
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

// equal reports whether two lists publish the same tools. A nil list publishes none.
func (l *listing) equal(o *listing) bool {
	if l == o || l == nil || o == nil {
		return l == o
	}
	return l.owner == o.owner && slices.EqualFunc(l.tools, o.tools, func(a, b listedTool) bool {
		return a.Equal(b.Descriptor)
	})
}

// MayOwn reports whether a tool of the server could be mounted under name. A tool that s.Tools denies could not. If
// server ids are long or need a hash, several servers may own one name.
func (s Server) MayOwn(name string) bool {
	tool, plain := strings.CutPrefix(name, s.ID+Qualifier)
	if plain && QualifiedName(s.ID, tool) == name && s.Tools.canMountAs(tool) {
		return true
	}
	return mayBeHashed(name) && slices.ContainsFunc(s.Prefixes(), func(p string) bool {
		return strings.HasPrefix(name, p)
	})
}

// mayBeHashed reports whether a name may be a shortened one.
func mayBeHashed(name string) bool {
	at := strings.LastIndexByte(name, '_')
	if at < 0 || len(name)-at-1 != hashChars {
		return false
	}
	return strings.Trim(name[at+1:], "0123456789abcdef") == ""
}

// Prefixes returns the prefixes of the names under which the server's tools are mounted: the usual one, and the one
// of shortened names.
func (s Server) Prefixes() (out []string) {
	for _, tool := range []string{"x", strings.Repeat("x", maxName)} {
		name := QualifiedName(s.ID, tool)
		out = append(out, name[:strings.LastIndex(name, Qualifier+"x")+len(Qualifier)])
	}
	return slices.Compact(out)
}
