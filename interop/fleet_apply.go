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
	var wanted []Server
	for _, s := range servers {
		if i := slices.IndexFunc(wanted, func(o Server) bool { return o.ID == s.ID }); i >= 0 {
			f.opts.Logger.Warn("two servers have one id: the later one stands", "server", s.ID)
			wanted[i] = s
			continue
		}
		wanted = append(wanted, s)
	}
	f.reconfigure(func() []Server { return wanted }, false)
}

// Retry connects servers that are down now, and not after their pause: those whose fault mended says
// yes to, such as one that wanted a sign-in. Connections of single principals that failed so are tried with their next request.
// mended must not call the fleet. tried waits until each of them is connected or has failed again, or ctx ends.
func (f *Fleet) Retry(mended func(*Fault) bool) (tried func(ctx context.Context)) {
	faults := map[*member]*Fault{}
	for _, m := range f.all() {
		m.lanes.forget(mended)
		if fault := m.state.Load().connectFault; fault != nil && mended(fault) {
			faults[m] = fault
			select {
			case m.hurry <- struct{}{}:
			default:
			}
		}
	}
	return func(ctx context.Context) {
		for m, was := range faults {
			_ = m.until(ctx, func(s *state) bool { return s.up || s.retired || s.connectFault != nil && s.connectFault != was })
		}
	}
}

// Restart closes every connection and opens it anew, with the configuration
// that was applied last, and waits as [Fleet.Settle] does: ctx bounds that wait
// alone. Calls in flight fail, but tools stay listed meanwhile, unless
// FleetOptions.Grace is negative. Before any [Fleet.Apply], and after [Fleet.Close],
// it is NotConnected.
func (f *Fleet) Restart(ctx context.Context) error {
	f.mu.Lock()
	closed, applied := f.closed, f.applied
	f.mu.Unlock()
	switch {
	case closed:
		return NewFault(NotConnected, "", "the fleet is closed", nil)
	case !applied:
		return NewFault(NotConnected, "", "the fleet has no configuration: apply one first", nil)
	}
	f.reconfigure(f.configured, true)
	return f.Settle(ctx)
}

// reconfigure makes the fleet consist of the servers that wanted gives, which is called
// with mu held; with restart each has a new connection. New members are made with no lock
// held, because that calls the options: the second round is the last, unless somebody else
// reconfigures meanwhile.
func (f *Fleet) reconfigure(wanted func() []Server, restart bool) {
	made := map[string]*member{}
	for {
		f.mu.Lock()
		if f.closed {
			f.mu.Unlock()
			return
		}
		places, missing := f.plan(wanted(), made, restart)
		if missing == nil {
			drain := f.opts.Drain
			if restart {
				drain = 0
			}
			before := f.current()
			f.applied = true
			f.view.Store(nil) // before install, as in [member.update]
			f.install(places, drain)
			fresh := f.current().snapshot != before.snapshot
			f.mu.Unlock()
			if fresh {
				f.watchers.Notify()
			}
			return
		}
		f.mu.Unlock()
		for _, s := range missing {
			made[s.ID] = newMember(f, s)
		}
	}
}

// place is what one place of the configuration is to hold.
type place struct {
	member    *member
	successor *member // nil: none
	config    *toolConfig
}

// plan is what the places hold if the fleet consists of wanted, by the members that it has
// and those that were made. missing are the servers for which one has to be made first.
// Call it with mu held.
func (f *Fleet) plan(wanted []Server, made map[string]*member, restart bool) (places []place, missing []Server) {
	for _, s := range wanted {
		p := place{member: findMember(f.members, s.ID), config: toolConfigOf(s.clone())}
		var now *state
		if p.member != nil {
			now = p.member.state.Load()
		}
		switch fresh := made[s.ID]; {
		case now != nil && !restart && now.successor != nil && now.successor.server.sameReach(s):
			p.successor = now.successor
		case now != nil && !restart && p.member.server.sameReach(s): // and a successor is called off
		case fresh == nil || !fresh.server.sameReach(s):
			missing = append(missing, s)
		case now != nil && !restart && now.serves():
			p.successor = fresh
		default:
			p.member = fresh
		}
		places = append(places, p)
	}
	return places, missing
}

// install takes out the members that are not in places, and starts those that are new. Call
// it with mu held.
func (f *Fleet) install(places []place, drain time.Duration) {
	old := f.members
	f.members = make([]*member, len(places))
	for i, p := range places {
		f.members[i] = p.member
	}
	for _, m := range old {
		i := slices.Index(f.members, m)
		if next := m.state.Load().successor; next != nil && (i < 0 || places[i].successor != next) {
			f.takeOut(next, 0) // nobody has called it yet
			m.succeed(nil)
		}
		if i < 0 {
			f.takeOut(m, drain)
		}
	}
	for _, p := range places {
		m := p.member
		if !slices.Contains(old, m) {
			if before := findMember(old, m.server.ID); before != nil {
				m.inherit(before)
			}
			f.start(m)
		}
		m.configure(p.config)
		if p.successor != nil {
			p.successor.configure(p.config)
			if m.state.Load().successor == nil {
				m.succeed(p.successor)
				f.start(p.successor)
			}
		}
	}
}

// start lets a member begin, once those that had its id are closed: they may share a port
// or a lock with it. One that still serves, or has calls in flight, is not waited for. Call
// it with mu held.
func (f *Fleet) start(m *member) {
	for _, before := range f.leaving[m.server.ID] {
		if before.drain == 0 {
			m.waitFor = append(m.waitFor, before.closed)
			continue
		}
		m.beside = before.closed
		f.reportRemoved(before)
	}
	if m.waitFor == nil {
		f.reportAdded(m)
	}
	m.supervising.Go(m.supervise)
}

// reportAdded reports, once, a member that is in the fleet for all to see. Call it with mu
// held.
func (f *Fleet) reportAdded(m *member) {
	if m.replaces == nil && !m.announced && !m.state.Load().retired {
		m.announced = true
		f.events.report(Event{Kind: ServerAdded, Server: m.server.ID})
	}
}

// reportRemoved reports, once, one that is not any more, if it ever was. Call it with mu
// held.
func (f *Fleet) reportRemoved(m *member) {
	if m.announced {
		m.announced = false
		f.events.report(Event{Kind: ServerRemoved, Server: m.server.ID})
	}
}

// takeOut closes a member that is not in the fleet any more: it lets calls in flight
// end, for as long as drain. Call it with mu held.
func (f *Fleet) takeOut(m *member, drain time.Duration) {
	id := m.server.ID
	f.leaving[id] = append(f.leaving[id], m)
	m.retire(drain)
	f.closing.Go(func() {
		m.supervising.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.reportRemoved(m)
		f.leaving[id] = slices.DeleteFunc(f.leaving[id], func(o *member) bool { return o == m })
		if len(f.leaving[id]) == 0 {
			delete(f.leaving, id)
		}
		close(m.closed)
	})
}

// promote puts a successor that has settled into the place of the member that served until
// now. Call it with mu held, from the successor's supervisor.
func (f *Fleet) promote(m *member) {
	old := m.replaces
	m.replaces = nil
	old.succeed(nil)
	f.members = slices.Clone(f.members)
	f.members[slices.Index(f.members, old)] = m
	f.takeOut(old, f.opts.Drain)
	m.beside = old.closed
	f.reportRemoved(old)
	f.reportAdded(m)
	for _, e := range m.deferred {
		f.events.report(e)
	}
	m.deferred = nil
}

// Servers is the configuration that was applied last, in order, each id once.
func (f *Fleet) Servers() []Server {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.configured()
}

// configured is Servers with mu held.
func (f *Fleet) configured() []Server {
	out := make([]Server, len(f.members))
	for i, m := range f.members {
		if next := m.state.Load().successor; next != nil {
			m = next
		}
		out[i] = m.configured().clone()
	}
	return out
}

// Settle waits until every server of the configuration that was applied last is
// ready and listed, or faulted, or ctx ends. What they list is then in
// [Fleet.Snapshot].
func (f *Fleet) Settle(ctx context.Context) error {
	for {
		m := f.unsettled()
		if m == nil {
			return nil
		}
		if err := m.settle(ctx); err != nil {
			return err
		}
	}
}

// unsettled is a server that has neither answered nor failed yet, nil where all have.
func (f *Fleet) unsettled() *member {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.members {
		for _, m := range []*member{m, m.state.Load().successor} {
			if m == nil {
				continue
			}
			if s := m.state.Load(); !s.settled && !s.retired {
				return m
			}
		}
	}
	return nil
}
