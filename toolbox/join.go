package toolbox

import (
	"context"
	"errors"
	"slices"
	"sync"
)

const (
	// maxPrincipals bounds the principals whose last view is kept; beyond it all are dropped,
	// which costs each of them one merge.
	maxPrincipals = 4096
	// maxRecent is how many views are kept to be shared by principals with the same snapshots.
	maxRecent = 8
)

// Join merges sources, in order of precedence and none of them nil, into one: of two tools with one name the first source's
// is listed and called. It is live, and passes descriptors, calls and results on as they are; a [Box]
// does the same and prepares the tools for models.
//
// A call of a name that its snapshot lacks goes to the sources that hold it back, or that have servers
// pending or down, in order, because one of those may own it; each may wait for its servers, within ctx.
func Join(sources ...Source) Source { return &joined{sources: slices.Clone(sources)} }

// joined is several sources as one.
type joined struct {
	sources []Source
	// prepare makes a tool ready for models; before is what it made of the tool of that name in an
	// earlier view, or nil. nil: tools stay as they are.
	prepare func(d *Descriptor, before *modelTool) *modelTool

	views sync.Map // Principal → *view: the last that each was given

	mu      sync.Mutex // one merge at a time
	kept    int        // entries of views
	recent  []*view    // the newest first
	highest uint64     // version of all snapshots
	newest  *Snapshot  // the one with that version; nil where there are several
}

// view is the merge of one snapshot of each source. It never changes.
type view struct {
	snapshots []*Snapshot // in the order of the sources
	all       *Snapshot
	tools     map[string]owned
}

// owned is a tool of a view and the source to call.
type owned struct {
	source Source
	model  *modelTool // nil without joined.prepare
}

// Snapshot implements [Source].
func (j *joined) Snapshot(p Principal) *Snapshot { return j.view(p).all }

// Watch implements [Source]. It reports each source's changes, even where they change nothing that is
// shown: then the snapshot stays the same.
func (j *joined) Watch(changed func()) (stop func()) {
	stops := make([]func(), len(j.sources))
	for i, s := range j.sources {
		stops[i] = s.Watch(changed)
	}
	return sync.OnceFunc(func() {
		for _, stop := range stops {
			stop()
		}
	})
}

// Do implements [Source].
func (j *joined) Do(ctx context.Context, c Call) (*Result, error) {
	v := j.view(c.Caller)
	if t, ok := v.tools[c.Name]; ok {
		return t.source.Do(ctx, c)
	}
	for i, s := range j.sources {
		if !v.snapshots[i].MayOwn(c.Name) {
			continue
		}
		if r, err := s.Do(ctx, c); !isUnknown(err, c.Name) {
			return r, err
		}
	}
	return nil, &UnknownTool{Name: c.Name}
}

// MayOwn reports whether a source with this snapshot may have a tool of a name that it does not list: such a call goes to the
// source, which knows. nil owns nothing.
func (s *Snapshot) MayOwn(name string) bool {
	return s != nil && (len(s.Pending) > 0 || slices.Contains(s.Held, name) || s.DownOwner(name) != "")
}

// isUnknown reports whether err says that the source has no tool of that name.
func isUnknown(err error, name string) bool {
	unknown, ok := errors.AsType[*UnknownTool](err)
	return ok && unknown.Name == name
}

// view is what p sees now. While the sources give the same snapshots, it costs no more than asking
// for them.
func (j *joined) view(p Principal) *view {
	var last *view
	if v, ok := j.views.Load(p); ok {
		if last = v.(*view); last.isCurrent(j.sources, p) {
			return last
		}
	}
	snapshots := make([]*Snapshot, len(j.sources))
	for i, s := range j.sources {
		snapshots[i] = s.Snapshot(p)
	}
	if v := j.keep(p, last, snapshots); v != nil {
		return v
	}
	return j.view(p)
}

// keep is the view of snapshots that were read after last, now the last of p; nil where a call that ran meanwhile has read
// a newer one of some source: to give both would be to give two with one version, or one that goes back.
func (j *joined) keep(p Principal, last *view, snapshots []*Snapshot) *view {
	j.mu.Lock()
	defer j.mu.Unlock()
	if now, ok := j.views.Load(p); ok && now != last {
		switch now := now.(*view); {
		case slices.Equal(now.snapshots, snapshots):
			return now
		case now.hasNewer(snapshots):
			return nil
		}
	}
	v := j.merged(snapshots)
	if last == nil {
		j.kept++
	}
	if j.kept > maxPrincipals {
		j.views.Clear()
		j.kept = 1
	}
	j.views.Store(p, v)
	return v
}

func (v *view) hasNewer(than []*Snapshot) bool {
	for i, s := range v.snapshots {
		if s != nil && than[i] != nil && s.Version > than[i].Version {
			return true
		}
	}
	return false
}

func (v *view) isCurrent(sources []Source, p Principal) bool {
	for i, s := range sources {
		if s.Snapshot(p) != v.snapshots[i] {
			return false
		}
	}
	return true
}

// merged is the view of snapshots: a recent one, or a new one.
func (j *joined) merged(snapshots []*Snapshot) *view {
	for _, v := range j.recent {
		if slices.Equal(v.snapshots, snapshots) {
			return v
		}
	}
	var before *view
	if len(j.recent) > 0 {
		before = j.recent[0]
	}
	v := j.merge(snapshots, before)
	switch {
	case j.newest != nil && v.all.Equal(j.newest):
		v.all = j.newest // it shows the same, and nobody was given a newer one
	case v.all.Version > j.highest:
		j.newest, j.highest = v.all, v.all.Version
	case v.all.Version == j.highest:
		j.newest = nil // there are two
	}
	j.recent = append([]*view{v}, j.recent[:min(len(j.recent), maxRecent-1)]...)
	return v
}

// merge makes a view. Its version is the sum of the sources' versions, because each of those grows
// for every principal, and so does their sum.
func (j *joined) merge(snapshots []*Snapshot, before *view) *view {
	size := before.size()
	v := &view{
		snapshots: snapshots,
		all:       &Snapshot{Tools: make([]Descriptor, 0, size)},
		tools:     make(map[string]owned, size),
	}
	for i, s := range snapshots {
		if s == nil {
			continue
		}
		for _, d := range s.Tools {
			if _, taken := v.tools[d.Name]; taken {
				continue
			}
			tool := owned{source: j.sources[i]}
			if j.prepare != nil {
				tool.model = j.prepare(&d, before.find(d.Name))
				tool.model.fill(&d)
			}
			v.tools[d.Name] = tool
			v.all.Tools = append(v.all.Tools, d)
		}
		v.all.add(s)
	}
	return v
}

// add appends all of o but its tools.
func (s *Snapshot) add(o *Snapshot) {
	s.Version += o.Version
	s.Pending = appendNew(s.Pending, o.Pending)
	s.Held = appendNew(s.Held, o.Held)
	s.Down = append(s.Down, o.Down...)
	for _, owner := range o.Owners {
		if !slices.ContainsFunc(s.Owners, func(other Owner) bool { return other.Server == owner.Server }) {
			s.Owners = append(s.Owners, owner)
		}
	}
}

func appendNew(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// find is what was made of the tool of that name for models; nil: nothing.
func (v *view) find(name string) *modelTool {
	if v == nil {
		return nil
	}
	return v.tools[name].model
}

// size is about how many tools the next view has.
func (v *view) size() int {
	if v == nil {
		return 0
	}
	return len(v.all.Tools)
}
