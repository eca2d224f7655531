package interop

import (
	"context"
	"slices"
	"time"
)

// Apply makes the fleet consist of servers, in their order: the only way that
// servers come and go. Of two with one id the later one stands, at the first one's
// place. Every server is registered before any connects. Apply does not wait for
// anything: [Fleet.Settle] does. After [Fleet.Close] it does nothing.
//
// A server whose configuration did not change keeps its connection, and so does one
// of which only Tools or Profile changed: they hold from here on.
//
// One that changed, and serves, goes on serving until its successor, which connects
// beside it, is ready and listed, or its first attempt has failed. Then calls go to
// the successor; those that are in flight have FleetOptions.Drain to end. One that is
// not up has nothing to serve: its successor connects when it is closed. The tools
// of one that is gone are withdrawn at once, and its calls may end likewise.
func (f *Fleet) Apply(servers []Server) {
	wanted := f.distinct(servers)
	made := map[string]*slot{}
	// Slots are made with no lock held, because that asks the options. The second
	// round is the last, unless somebody else applies meanwhile.
	for missing := f.swap(wanted, made); len(missing) > 0; missing = f.swap(wanted, made) {
		for _, s := range missing {
			made[s.ID] = newSlot(f, s)
		}
	}
}

// distinct is servers with each id once.
func (f *Fleet) distinct(servers []Server) []Server {
	var out []Server
	for _, s := range servers {
		if i := slices.IndexFunc(out, func(o Server) bool { return o.ID == s.ID }); i >= 0 {
			f.opts.Logger.Warn("two servers have one id: the later one stands", "server", s.ID)
			out[i] = s
			continue
		}
		out = append(out, s)
	}
	return out
}

// place is what one place of the configuration is to hold.
type place struct {
	slot *slot
	next *slot  // its successor; nil: none
	by   *shape // of the newest configuration
}

// swap makes the fleet consist of wanted, with the slots that it has and those
// that were made, by id. Where these do not suffice it changes nothing, and says
// which are missing.
func (f *Fleet) swap(wanted []Server, made map[string]*slot) (missing []Server) {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	var places []place
	for _, s := range wanted {
		p := place{slot: f.slotOf(s.ID), by: shapeOf(s.clone())}
		switch now, fresh := p.slot, made[s.ID]; {
		case now != nil && now.next != nil && now.next.server.sameReach(s):
			p.next = now.next
		case now != nil && now.server.sameReach(s): // and what was to come after it is not
		case fresh == nil:
			missing = append(missing, s)
		case now != nil && now.serves():
			p.next = fresh
		default:
			p.slot = fresh
		}
		places = append(places, p)
	}
	fresh := false
	if missing == nil {
		f.applied++
		fresh = f.install(places, f.opts.Drain)
	}
	f.mu.Unlock()
	if fresh {
		f.watchers.Notify()
	}
	return missing
}

func (f *Fleet) slotOf(id string) *slot {
	if i := slices.IndexFunc(f.slots, func(s *slot) bool { return s.server.ID == id }); i >= 0 {
		return f.slots[i]
	}
	return nil
}

// install takes out the slots that are not in places, and starts those that are
// new. It reports whether there is a new snapshot. Call it with mu held.
func (f *Fleet) install(places []place, drain time.Duration) (fresh bool) {
	old := f.slots
	f.slots = make([]*slot, len(places))
	for i, p := range places {
		f.slots[i] = p.slot
	}
	for _, s := range old {
		i := slices.Index(f.slots, s)
		if s.next != nil && (i < 0 || places[i].next != s.next) {
			f.takeOut(s.next, 0) // nobody has called it yet
			s.succeed(nil)
		}
		if i < 0 {
			f.takeOut(s, drain)
		}
	}
	for _, p := range places {
		if !slices.Contains(old, p.slot) {
			if i := slices.IndexFunc(old, func(s *slot) bool { return s.server.ID == p.slot.server.ID }); i >= 0 {
				p.slot.inherit(old[i])
			}
			f.start(p.slot)
		}
		p.slot.adopt(p.by)
		if next := p.next; next != nil {
			next.adopt(p.by)
			if p.slot.next == nil {
				p.slot.succeed(next)
				f.start(next)
			}
		}
	}
	return f.rebuild()
}

// start lets a slot begin, once those that had its id are closed: they may share a
// port or a lock with it. Whoever serves still, or has calls in flight, is not
// waited for. Call it with mu held.
func (f *Fleet) start(s *slot) {
	for _, before := range f.leaving[s.server.ID] {
		if before.drain == 0 {
			s.after = append(s.after, before.gone)
			continue
		}
		s.beside = before.gone
		f.tellRemoved(before)
	}
	if s.after == nil {
		f.tellAdded(s)
	}
	go s.run()
}

// tellAdded tells of a slot that is in the fleet for all to see, once. Call it with
// mu held.
func (f *Fleet) tellAdded(s *slot) {
	if s.of == nil && !s.added && !s.retired {
		s.added = true
		f.events.tell(Event{Kind: ServerAdded, Server: s.server.ID})
	}
}

// tellRemoved tells of one that is not any more, if it ever was, once. Call it with
// mu held.
func (f *Fleet) tellRemoved(s *slot) {
	if s.added {
		s.added = false
		f.events.tell(Event{Kind: ServerRemoved, Server: s.server.ID})
	}
}

// takeOut closes a slot that is not in the fleet any more: it lets calls in flight
// end, for as long as drain. Call it with mu held.
func (f *Fleet) takeOut(s *slot, drain time.Duration) {
	id := s.server.ID
	f.leaving[id] = append(slices.Clone(f.leaving[id]), s)
	s.retire(drain)
	f.closing.Go(func() {
		s.close()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.tellRemoved(s)
		f.leaving[id] = slices.DeleteFunc(slices.Clone(f.leaving[id]), func(o *slot) bool { return o == s })
		if len(f.leaving[id]) == 0 {
			delete(f.leaving, id)
		}
		close(s.gone)
	})
}

// promote puts a successor that was heard into the place of the slot that served
// until now. Call it with mu and the successor's mu held, from its run.
func (f *Fleet) promote(s *slot) {
	old := s.of
	s.of = nil
	old.succeed(nil)
	f.slots = slices.Clone(f.slots)
	f.slots[slices.Index(f.slots, old)] = s
	f.takeOut(old, f.opts.Drain)
	s.beside = old.gone
	f.tellRemoved(old)
	f.tellAdded(s)
	for _, e := range s.untold {
		f.events.tell(e)
	}
	s.untold = nil
}

// Servers is the configuration that was applied last, in order, each id once.
func (f *Fleet) Servers() []Server {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Server, len(f.slots))
	for i, s := range f.slots {
		out[i] = s.newest()
	}
	return out
}

// Settle waits until every server of the configuration that was applied last is
// ready and listed, or faulted, or ctx ends. What they list is then in
// [Fleet.Snapshot].
func (f *Fleet) Settle(ctx context.Context) error {
	for {
		s := f.unsettled()
		if s == nil {
			return nil
		}
		if err := s.settled(ctx); err != nil {
			return err
		}
	}
}

// unsettled is a server that nobody has heard yet, nil where all were heard.
func (f *Fleet) unsettled() *slot {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.slots {
		for _, s := range []*slot{s, s.next} {
			if s != nil && !s.heard && !s.retired {
				return s
			}
		}
	}
	return nil
}

// Restart closes every connection and opens it anew, with the configuration
// that was applied last, and waits as [Fleet.Settle] does: ctx bounds that wait
// alone. Calls in flight fail, but tools stay listed meanwhile, unless
// FleetOptions.Grace is negative. Before any [Fleet.Apply], and after [Fleet.Close],
// it is NotConnected.
func (f *Fleet) Restart(ctx context.Context) error {
	for replaced := false; !replaced; {
		f.mu.Lock()
		old, applied, closed := f.slots, f.applied, f.closed
		f.mu.Unlock()
		switch {
		case closed:
			return NewFault(NotConnected, "", "the fleet is closed", nil)
		case applied == 0:
			return NewFault(NotConnected, "", "the fleet has no configuration: apply one first", nil)
		}
		next := make([]place, len(old))
		for i, s := range f.Servers() {
			if i < len(next) { // else somebody has applied meanwhile
				next[i] = place{slot: newSlot(f, s), by: shapeOf(s)}
			}
		}
		replaced = f.replace(applied, old, next)
	}
	return f.Settle(ctx)
}

// replace puts new slots in the place of old ones. It does nothing, and is false,
// where the fleet does not consist of these any more.
func (f *Fleet) replace(applied uint64, old []*slot, next []place) bool {
	f.mu.Lock()
	if f.closed || f.applied != applied || !slices.Equal(f.slots, old) {
		f.mu.Unlock()
		return false
	}
	fresh := f.install(next, 0)
	f.mu.Unlock()
	if fresh {
		f.watchers.Notify()
	}
	return true
}
