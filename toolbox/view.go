package toolbox

import (
	"bytes"
	"encoding/json"
	"slices"
)

const (
	// maxPrincipals is of how many principals a Box keeps what they see; beyond, it
	// begins anew, which costs each of them one merge.
	maxPrincipals = 4096
	// maxRecent is how many views are kept for principals with the same sources to share.
	maxRecent = 8
)

// view is what a Box made of its sources' snapshots. It never changes.
type view struct {
	snapshots []*Snapshot // in the order of the sources
	all       *Snapshot
	fits      []*fit // of each of all's tools
	tools     map[string]shown
}

// shown is one tool of a view: whose it is, and where it stands in all.
type shown struct {
	source Source
	at     int
}

// view is what p sees now. If nothing has changed since p last looked, which the
// addresses of the sources' snapshots tell, it costs no more than asking for them.
func (b *Box) view(p Principal) *view {
	if v := b.seen(p); v != nil && v.isCurrent(b.sources, p) {
		return v
	}
	snapshots := make([]*Snapshot, len(b.sources))
	for i, s := range b.sources {
		snapshots[i] = s.Snapshot(p)
	}
	return b.merge(p, snapshots)
}

func (v *view) isCurrent(sources []Source, p Principal) bool {
	for i, s := range sources {
		if s.Snapshot(p) != v.snapshots[i] {
			return false
		}
	}
	return true
}

// seen is what p saw last, nil where p never looked.
func (b *Box) seen(p Principal) *view {
	if p == "" {
		return b.local.Load()
	}
	if v, ok := b.others.Load(p); ok {
		return v.(*view)
	}
	return nil
}

// merge makes p's view of snapshots, or finds that there is one.
func (b *Box) merge(p Principal, snapshots []*Snapshot) *view {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.seen(p)
	if last != nil {
		// Another goroutine may have asked later and come here sooner.
		keepNewer(snapshots, last.snapshots)
		if slices.Equal(snapshots, last.snapshots) {
			return last
		}
	}
	v := b.shared(snapshots, last)
	if v == nil {
		v = b.build(snapshots, last)
		b.recent = append([]*view{v}, b.recent[:min(len(b.recent), maxRecent-1)]...)
	}
	b.keep(p, v, last == nil)
	return v
}

// shared is a view that was made of the same snapshots for somebody else, unless
// its version is older than what a principal who saw last may have seen.
func (b *Box) shared(snapshots []*Snapshot, last *view) *view {
	seen := b.forgotten
	if last != nil {
		seen = last.all.Version
	}
	for _, v := range b.recent {
		if slices.Equal(v.snapshots, snapshots) && v.all.Version > seen {
			return v
		}
	}
	return nil
}

// keepNewer puts the snapshots of last in place of those that are older.
func keepNewer(snapshots, last []*Snapshot) {
	for i, s := range snapshots {
		if s != nil && last[i] != nil && s.Version < last[i].Version {
			snapshots[i] = last[i]
		}
	}
}

// keep notes what p sees, and forgets everybody else where they are too many.
func (b *Box) keep(p Principal, v *view, isNew bool) {
	if p == "" {
		b.local.Store(v)
		return
	}
	if isNew {
		b.kept++
	}
	if b.kept > maxPrincipals {
		b.others.Clear()
		b.forgotten = b.version
		b.kept = 1
	}
	b.others.Store(p, v)
}

// build merges snapshots. If that gives what last shows, it is last's snapshot, version
// and address and all.
func (b *Box) build(snapshots []*Snapshot, last *view) *view {
	reuse := last
	if reuse == nil && len(b.recent) > 0 {
		reuse = b.recent[0]
	}
	v := &view{snapshots: snapshots, all: &Snapshot{}, tools: make(map[string]shown, reuse.size())}
	v.all.Tools = make([]Descriptor, 0, reuse.size())
	v.fits = make([]*fit, 0, reuse.size())
	for i, s := range snapshots {
		if s != nil {
			v.add(b.sources[i], s, func(d Descriptor) *fit { return b.fit(d, reuse.find(d.Name)) })
		}
	}
	if last != nil && equal(v.all, last.all) {
		v.all = last.all
		return v
	}
	b.version++
	v.all.Version = b.version
	return v
}

// add appends what a source shows and nobody before it has claimed.
func (v *view) add(source Source, s *Snapshot, fitting func(Descriptor) *fit) {
	for _, d := range s.Tools {
		if _, claimed := v.tools[d.Name]; claimed {
			continue
		}
		v.tools[d.Name] = shown{source: source, at: len(v.all.Tools)}
		f := fitting(d)
		v.all.Tools = append(v.all.Tools, f.fill(d))
		v.fits = append(v.fits, f)
	}
	for _, server := range s.Pending {
		if !slices.Contains(v.all.Pending, server) {
			v.all.Pending = append(v.all.Pending, server)
		}
	}
	v.all.Down = append(v.all.Down, s.Down...)
	for _, o := range s.Owners {
		if !slices.ContainsFunc(v.all.Owners, func(other Owner) bool { return other.Server == o.Server }) {
			v.all.Owners = append(v.all.Owners, o)
		}
	}
	for _, name := range s.Withheld {
		if !slices.Contains(v.all.Withheld, name) {
			v.all.Withheld = append(v.all.Withheld, name)
		}
	}
}

// find is what was made of the tool of that name, nil where there was none.
func (v *view) find(name string) *fit {
	if v == nil {
		return nil
	}
	if t, ok := v.tools[name]; ok {
		return v.fits[t.at]
	}
	return nil
}

// size is about how many tools the next view has.
func (v *view) size() int {
	if v == nil {
		return 0
	}
	return len(v.all.Tools)
}

// equal compares all but the versions, and Changes, which follow from the rest.
func equal(a, b *Snapshot) bool {
	return slices.Equal(a.Pending, b.Pending) && slices.Equal(a.Owners, b.Owners) && slices.Equal(a.Withheld, b.Withheld) && sameServers(a.Down, b.Down) && slices.EqualFunc(a.Tools, b.Tools, func(x, y Descriptor) bool {
		return x.Name == y.Name && x.Description == y.Description &&
			x.Server == y.Server && x.Tool == y.Tool && x.Profile == y.Profile && x.Unfit == y.Unfit &&
			same(x.Schema, y.Schema) && same(x.Parameters, y.Parameters) &&
			x.Wire.Format == y.Wire.Format && same(x.Wire.JSON, y.Wire.JSON)
	})
}

func same(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
