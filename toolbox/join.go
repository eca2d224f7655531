package toolbox

import (
	"context"
	"errors"
	"slices"
	"sync"
)

const (
	// maxPrincipals bounds the number of principals with a cached view. Above it all views are dropped, which costs
	// each principal one merge.
	maxPrincipals = 4096
	// maxRecent is the number of recent views that principals with the same snapshots can share.
	maxRecent = 8
)

// Join merges sources into one, in order of precedence. No source may be nil. If two tools have the same name, the tool
// of the first source is listed and called. The joined source follows changes of its sources, and passes on
// descriptors, calls and results unchanged. A [Box] does the same and prepares the tools for models.
//
// If the snapshot lacks the name of a call, the call goes, in order, to each source that may own the name. Such a
// source holds the name back, or has servers that are pending or down. Each may wait for its servers, within ctx.
func Join(sources ...Source) Source { return &joined{sources: slices.Clone(sources)} }

// joined is several sources as one source.
type joined struct {
	sources []Source
	// prepare makes a tool ready for models. before is the result for the tool of that name in an earlier view, or nil.
	// If prepare is nil, tools stay unchanged.
	prepare func(d *Descriptor, before *modelTool) *modelTool

	views sync.Map // Principal → *view: the last view of each principal

	mu        sync.Mutex // one merge at a time
	viewCount int        // number of entries of views
	recent    []*view    // the newest first
	highest   uint64     // highest version of all snapshots
	newest    *Snapshot  // the snapshot with that version; nil if there are several
}

// view is the merge of one snapshot of each source. It never changes.
type view struct {
	snapshots []*Snapshot // in the order of the sources
	all       *Snapshot
	tools     map[string]viewTool
}

// viewTool is a tool of a view and the source to call.
type viewTool struct {
	source Source
	model  *modelTool // nil without joined.prepare
}

// Snapshot implements [Source].
func (j *joined) Snapshot(p Principal) *Snapshot { return j.view(p).all }

// Watch implements [Source]. It reports every change of a source, even if the shown tools stay the same. In that case
// the snapshot stays the same.
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

// MayOwn reports whether a source with this snapshot may have a tool with a name that it does not list. Such a call
// goes to the source, which decides. A nil snapshot owns nothing.
func (s *Snapshot) MayOwn(name string) bool {
	return s != nil && (len(s.Pending) > 0 || slices.Contains(s.Held, name) || s.DownOwner(name) != "")
}

// isUnknown reports whether err means that the source has no tool with that name.
func isUnknown(err error, name string) bool {
	unknown, ok := errors.AsType[*UnknownTool](err)
	return ok && unknown.Name == name
}

// view returns the tools that p sees now. While the sources return the same snapshots, the only cost is getting them.
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
	if v := j.store(p, last, snapshots); v != nil {
		return v
	}
	return j.view(p)
}

// store stores and returns the view of snapshots, which were read after last, as the last view of p. It returns nil if
// a concurrent call has read a newer snapshot of some source. Otherwise two views could have the same version, or the
// version could go back.
func (j *joined) store(p Principal, last *view, snapshots []*Snapshot) *view {
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
	v := j.sharedView(snapshots)
	if last == nil {
		j.viewCount++
	}
	if j.viewCount > maxPrincipals {
		j.views.Clear()
		j.viewCount = 1
	}
	j.views.Store(p, v)
	return v
}

func (v *view) hasNewer(snapshots []*Snapshot) bool {
	for i, s := range v.snapshots {
		if s != nil && snapshots[i] != nil && s.Version > snapshots[i].Version {
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

// sharedView returns the view of snapshots. It reuses a recent view or makes a new one.
func (j *joined) sharedView(snapshots []*Snapshot) *view {
	for _, v := range j.recent {
		if slices.Equal(v.snapshots, snapshots) {
			return v
		}
	}
	before := &view{all: &Snapshot{}}
	if len(j.recent) > 0 {
		before = j.recent[0]
	}
	v := j.merge(snapshots, before)
	switch {
	case j.newest != nil && v.all.Equal(j.newest):
		v.all = j.newest // it has the same content, and no newer one was returned
	case v.all.Version > j.highest:
		j.newest, j.highest = v.all, v.all.Version
	case v.all.Version == j.highest:
		j.newest = nil // two snapshots have this version
	}
	j.recent = append([]*view{v}, j.recent[:min(len(j.recent), maxRecent-1)]...)
	return v
}

// merge makes a view. Its version is the sum of the sources' versions. Each of these only grows for a principal, and so
// does the sum.
func (j *joined) merge(snapshots []*Snapshot, before *view) *view {
	size := len(before.all.Tools) // about as many as now
	v := &view{
		snapshots: snapshots,
		all:       &Snapshot{Tools: make([]Descriptor, 0, size)},
		tools:     make(map[string]viewTool, size),
	}
	for i, s := range snapshots {
		if s == nil {
			continue
		}
		for _, d := range s.Tools {
			if _, exists := v.tools[d.Name]; exists {
				continue
			}
			tool := viewTool{source: j.sources[i]}
			if j.prepare != nil {
				tool.model = j.prepare(&d, before.tools[d.Name].model)
				tool.model.fill(&d)
			}
			v.tools[d.Name] = tool
			v.all.Tools = append(v.all.Tools, d)
		}
		v.all.add(s)
	}
	return v
}

// add appends everything of o except its tools.
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
