package interop

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/toolbox"
)

// view is what a fleet publishes at one moment: immutable.
type view struct {
	snapshot *toolbox.Snapshot
	owners   map[string]owner
	down     []*slot      // in order
	rejected []Quarantine // names that two servers claim
}

type owner struct {
	slot *slot
	tool string // the server's own name
}

// rebuild makes a new view of the slots, and reports whether its snapshot is
// new. Call it with mu held.
func (f *Fleet) rebuild() (fresh bool) {
	v := &view{snapshot: &toolbox.Snapshot{}, owners: map[string]owner{}}
	for _, s := range f.slots {
		if !s.heard {
			v.snapshot.Pending = append(v.snapshot.Pending, s.server.ID)
		}
		if s.list != nil {
			v.add(s, s.list)
			if s.list.owner != (toolbox.Owner{}) {
				v.snapshot.Owners = append(v.snapshot.Owners, s.list.owner)
			}
		}
		if s.isDown() {
			v.down = append(v.down, s)
			v.snapshot.Down = append(v.snapshot.Down, toolbox.Down{Server: s.server.ID, Owns: s.mayOwn})
		}
	}
	last := f.view.Load()
	old := last.snapshot
	fresh = !slices.Equal(last.down, v.down) || !slices.Equal(old.Pending, v.snapshot.Pending) || !slices.Equal(old.Owners, v.snapshot.Owners) || !sameTools(old.Tools, v.snapshot.Tools)
	if fresh {
		f.version++
		v.snapshot.Version = f.version
	} else {
		v.snapshot = old
	}
	f.view.Store(v)
	return fresh
}

func (v *view) add(s *slot, l *listing) {
	for i := range l.tools {
		t := &l.tools[i]
		if first, taken := v.owners[t.Name]; taken {
			v.rejected = append(v.rejected, Quarantine{Server: s.server.ID, Tool: t.Tool,
				Reason: "a tool of " + first.slot.server.ID + " is mounted as " + t.Name})
			continue
		}
		v.owners[t.Name] = owner{s, t.Tool}
		v.snapshot.Tools = append(v.snapshot.Tools, t.Descriptor)
	}
}

// same reports whether two listings publish the same; nil publishes nothing.
func (l *listing) same(o *listing) bool {
	if l == nil || o == nil {
		return l == o
	}
	return l.owner == o.owner && slices.EqualFunc(l.tools, o.tools, func(a, b tool) bool { return sameTool(a.Descriptor, b.Descriptor) })
}

func sameTools(a, b []toolbox.Descriptor) bool { return slices.EqualFunc(a, b, sameTool) }

// sameTool compares what a row says, and where it is mounted.
func sameTool(a, b toolbox.Descriptor) bool {
	return a.Name == b.Name && a.Server == b.Server && a.Tool == b.Tool && a.Profile == b.Profile && a.Excluded == b.Excluded &&
		a.Wire.Format == b.Wire.Format && bytes.Equal(a.Wire.JSON, b.Wire.JSON)
}

// Snapshot is the tools of all servers that are up, or are being connected
// again, in order; the same for every principal.
func (f *Fleet) Snapshot(toolbox.Principal) *toolbox.Snapshot { return f.view.Load().snapshot }

// Watch tells of each new [Fleet.Snapshot].
func (f *Fleet) Watch(changed func()) (stop func()) { return f.watchers.Watch(changed) }

// Do calls a tool by its qualified name. While the server of a tool that is
// listed is being connected, the call waits for it, at most as long as
// Timeouts.Connect says; a call that has gone out is never repeated.
//
// A name that nobody lists and that may be a tool of a server which is not up
// is NotConnected, with when the server is tried again, and its fault for the cause. Only
// otherwise it is a [*toolbox.UnknownTool].
func (f *Fleet) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	return f.DoIf(ctx, c, func() error { return nil })
}

// DoIf is [Fleet.Do] for who weighs what servers list. When it is clear on which
// connection the call goes out, and what was listed there is in [Fleet.Snapshot], or was
// before a successor took its place, admit is asked; it is asked again where the call
// has to go out on another one. It may wait. Its error is the call's, and nothing has
// gone out.
func (f *Fleet) DoIf(ctx context.Context, c toolbox.Call, admit func() error) (*toolbox.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	own, ok := f.view.Load().owners[c.Name]
	if !ok {
		var err error
		if own, err = f.late(ctx, c.Name); err != nil {
			return nil, err
		}
	}
	leave, err := f.calls.enter(ctx, own.slot.server.ID, c.Caller)
	if err != nil {
		return nil, err
	}
	defer leave()
	for again := true; ; {
		e, err := own.slot.ready(ctx, own.tool)
		if err != nil {
			if next, ok := f.settledView().owners[c.Name]; ok && next.slot != own.slot {
				own = next // whose slot was replaced meanwhile
				continue
			}
			return nil, err
		}
		r, err := e.callBegun(ctx, own.tool, c, admit)
		var denied *deniedError
		if errors.As(err, &denied) { // since it was looked up
			return nil, &toolbox.UnknownTool{Name: c.Name}
		}
		if !again || !e.refused(err) || !e.dies(ctx) {
			return r, err
		}
		again = false
	}
}

// settledView is what is published once a change that is under way is over.
func (f *Fleet) settledView() *view {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view.Load()
}

// refused reports whether err says that e was dead before a call could go out.
// It looks at the outermost fault alone, because a cause may be another
// endpoint's.
func (e *Endpoint) refused(err error) bool {
	f, ok := err.(*Fault) //nolint:errorlint // see above
	if !ok || f.Kind != NotConnected || f.Server != e.server.ID {
		return false
	}
	var unsent *unsentError
	return errors.As(f.Cause, &unsent) || !e.Phase().Usable()
}

// dies waits until an endpoint that has lost its connection is dead, and reports
// whether it is, or ctx is over.
func (e *Endpoint) dies(ctx context.Context) bool {
	late := time.NewTimer(lostWait)
	defer late.Stop()
	select {
	case <-e.Done():
	case <-ctx.Done():
	case <-late.C:
		return false
	}
	return true
}

// callBegun is callTool for a call that [slot.ready] has begun, if it is admitted.
func (e *Endpoint) callBegun(ctx context.Context, tool string, c toolbox.Call, admit func() error) (*toolbox.Result, error) {
	defer e.end()
	if err := admit(); err != nil {
		return nil, err
	}
	return e.callTool(ctx, tool, c)
}

// late looks for the owner of a name that nobody lists among the servers that
// are not up.
func (f *Fleet) late(ctx context.Context, name string) (owner, error) {
	for {
		var why error
		slots := f.all()
		for _, s := range slots {
			if !s.mayOwn(name) {
				continue
			}
			err := s.hold(ctx)
			if ctx.Err() != nil {
				return owner{}, ctx.Err()
			}
			if own, ok := f.view.Load().owners[name]; ok {
				return own, nil
			}
			if err != nil && why == nil {
				why = err
			}
		}
		switch {
		case why == nil:
			return owner{}, &toolbox.UnknownTool{Name: name}
		case slices.Equal(slots, f.all()): // else it may be another's now
			return owner{}, why
		}
	}
}

// hold waits until the server was heard, where the fleet holds calls, and says
// why nothing is known of its tools; nil where all is known.
func (s *slot) hold(ctx context.Context) error {
	if s.fleet.opts.Hold {
		ctx, cancel := withDeadline(ctx, s.server.Timeouts.Connect, defaultConnect)
		defer cancel()
		if s.settled(ctx) != nil {
			return NewFault(NotConnected, s.server.ID, "not connected", context.Cause(ctx))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := s.statusNow().Fault
	switch {
	case s.up && s.list == nil && fault != nil:
		return fault // it cannot say what it has
	case s.up:
		return nil
	}
	return s.refusal("", "not connected")
}

// isDown reports whether the server was tried, and it is not known what it has now. Call it
// with mu or Fleet.mu held.
func (s *slot) isDown() bool { return s.heard && s.list == nil && (!s.up || s.listFault != nil) }

// mayOwn is [Server.MayOwn], by the rules that hold now.
func (s *slot) mayOwn(name string) bool { return s.config().MayOwn(name) }

// MayOwn reports whether a tool of the server could be mounted under name: one that
// s.Tools denies could not. Of servers whose ids are long or need a hash, several may
// own one name.
func (s Server) MayOwn(name string) bool {
	tool, plain := strings.CutPrefix(name, s.ID+Qualifier)
	if plain && QualifiedName(s.ID, tool) == name && s.Tools.mayGive(tool) {
		return true
	}
	return hashed(name) && s.hasPrefixOf(name)
}

// hashed reports whether a name may be one that was shortened.
func hashed(name string) bool {
	at := strings.LastIndexByte(name, '_')
	if at < 0 || len(name)-at-1 != hashChars {
		return false
	}
	return strings.Trim(name[at+1:], "0123456789abcdef") == ""
}

// hasPrefixOf reports whether name begins as names of the server's tools do.
func (s Server) hasPrefixOf(name string) bool {
	return strings.HasPrefix(name, prefixOf(s.ID, "x")) ||
		strings.HasPrefix(name, prefixOf(s.ID, strings.Repeat("x", maxName))) // too long: hashed
}

// prefixOf is what stands before a tool of x's in its mounted name.
func prefixOf(server, tool string) string {
	name := QualifiedName(server, tool)
	return name[:strings.LastIndex(name, Qualifier+"x")+len(Qualifier)]
}
