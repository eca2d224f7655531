package interop

import (
	"context"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/internal/lane"
)

// Apply sets the servers of the fleet, in their order. Servers are added and removed in no other way. If two servers
// have one id, the later one is used, at the place of the first. Every server is registered before any connects. Apply
// does not wait: [Fleet.Settle] does. After [Fleet.Close] it does nothing.
//
// A server with an unchanged configuration keeps its connection. So does a server of which only Tools or Profile
// changed, and the new values apply at once.
//
// A changed server that serves continues until its successor, which connects beside it, is ready and listed, or until
// the successor's first attempt fails. Then calls go to the successor. Calls in flight have FleetOptions.Drain to end.
// If the changed server is not up, its successor connects after it is closed. The tools of a removed server are
// withdrawn at once, and its calls in flight have the same time to end.
func (f *Fleet) Apply(servers []config.Server) {
	var wanted []config.Server
	for _, s := range servers {
		if i := slices.IndexFunc(wanted, func(o config.Server) bool { return o.ID == s.ID }); i >= 0 {
			f.opts.Logger.Warn("two servers have one id: the later one stands", "server", s.ID)
			wanted[i] = s
			continue
		}
		wanted = append(wanted, s)
	}
	f.reconfigure(func() []config.Server { return wanted }, nil)
}

// Retry connects servers at once, without their pause. It selects the servers that are down with a fault for which
// mended returns true, such as a missing sign-in. If the connection of a single principal failed with such a fault, it
// is tried with the principal's next request. mended must not call the fleet. tried waits until each of these servers
// is connected or has failed again, or ctx ends.
func (f *Fleet) Retry(mended func(*Fault) bool) (tried func(ctx context.Context)) {
	faults := map[*member]*Fault{}
	for _, m := range f.currentMembers() {
		m.lanes.RetireFailed(func(c lane.Conn) bool {
			fault := c.(laneConn).Status().Fault
			return fault != nil && mended(fault)
		})
		if fault := m.state.Load().connectFault; fault != nil && mended(fault) {
			faults[m] = fault
			watch.Signal(m.retryNow)
		}
	}
	return func(ctx context.Context) {
		for m, old := range faults {
			_ = m.awaitState(ctx, func(s *state) bool {
				return s.up || s.retired || s.connectFault != nil && s.connectFault != old
			})
		}
	}
}

// Restart closes every connection and opens it again, with the configuration that was applied last. It waits as
// [Fleet.Settle] does, and ctx bounds only that wait. Calls in flight fail, but tools stay listed meanwhile, unless
// FleetOptions.Grace is negative. Before any [Fleet.Apply], and after [Fleet.Close], it returns NotConnected.
func (f *Fleet) Restart(ctx context.Context) error {
	if err := f.restart(func(string) bool { return true }); err != nil {
		return err
	}
	return f.Settle(ctx)
}

// RestartServer is [Fleet.Restart] for one server. It does not wait for the new connection. If the fleet has no such
// server, it returns NotConnected.
func (f *Fleet) RestartServer(id string) error {
	if _, err := f.Endpoint(id, ""); err != nil {
		return err
	}
	return f.restart(func(other string) bool { return other == id })
}

func (f *Fleet) restart(wanted func(id string) bool) error {
	f.mu.Lock()
	closed, applied := f.closed, f.applied
	f.mu.Unlock()
	switch {
	case closed:
		return NewFault(NotConnected, "", "the fleet is closed", nil)
	case !applied:
		return NewFault(NotConnected, "", "the fleet has no configuration: apply one first", nil)
	}
	f.reconfigure(f.configuredServers, wanted)
	return nil
}

// reconfigure sets the servers of the fleet to the servers that wanted returns. wanted is called with mu held. The
// servers for which restart returns true have a new connection. It may be nil. New members are made with no lock held,
// because that calls the options. So the second round is the last, unless another call reconfigures meanwhile.
func (f *Fleet) reconfigure(wanted func() []config.Server, restart func(id string) bool) {
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
			if restart != nil {
				drain = 0
			}
			before := f.viewLocked()
			f.applied = true
			f.view.Store(nil) // before install, as in [member.update]
			f.install(places, drain)
			fresh := f.viewLocked().snapshot != before.snapshot
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

// place is the planned content of one place of the configuration.
type place struct {
	member    *member
	successor *member       // nil if there is none
	settings  config.Server // of the member and of its successor
}

// plan returns the places of a fleet that consists of wanted, using its current members and the new ones in made. It
// returns in missing the servers for which a member must be made first. Call it with mu held.
func (f *Fleet) plan(
	wanted []config.Server, made map[string]*member, restart func(id string) bool,
) (places []place, missing []config.Server) {
	for _, s := range wanted {
		p := place{member: findMember(f.members, s.ID), settings: s.Clone()}
		var now *state
		if p.member != nil {
			now = p.member.state.Load()
		}
		stays := now != nil && (restart == nil || !restart(s.ID))
		switch fresh := made[s.ID]; {
		case stays && now.successor != nil && now.successor.server.SameReach(s):
			p.successor = now.successor
		case stays && p.member.server.SameReach(s): // a successor, if any, is cancelled
		case fresh == nil || !fresh.server.SameReach(s):
			missing = append(missing, s)
		case stays && now.serves():
			p.successor = fresh
		default:
			p.member = fresh
		}
		places = append(places, p)
	}
	return places, missing
}

// install removes the members that are not in places, and starts the new members. Call it with mu held.
func (f *Fleet) install(places []place, drain time.Duration) {
	old := f.members
	f.members = make([]*member, len(places))
	for i, p := range places {
		f.members[i] = p.member
	}
	for _, m := range old {
		i := slices.Index(f.members, m)
		if next := m.state.Load().successor; next != nil && (i < 0 || places[i].successor != next) {
			f.removeMember(next, 0) // no request has used it yet
			m.setSuccessor(nil)
		}
		if i < 0 {
			f.removeMember(m, drain)
		}
	}
	for _, p := range places {
		m := p.member
		if !slices.Contains(old, m) {
			if previous := findMember(old, m.server.ID); previous != nil {
				m.inheritList(previous)
			}
			f.start(m)
		}
		m.configure(p.settings)
		if p.successor != nil {
			p.successor.configure(p.settings)
			if m.state.Load().successor == nil {
				m.setSuccessor(p.successor)
				f.start(p.successor)
			}
		}
	}
}

// start starts a member once the previous members with its id are closed, because they may share a port or a lock with
// it. It does not wait for a member that still serves or has calls in flight. Call it with mu held.
func (f *Fleet) start(m *member) {
	for _, previous := range f.leaving[m.server.ID] {
		if previous.drain == 0 {
			m.predecessors = append(m.predecessors, previous.closed)
			continue
		}
		m.drained = previous.closed
		f.reportRemoved(previous)
	}
	if m.predecessors == nil {
		f.reportAdded(m)
	}
	m.supervising.Go(m.supervise)
}

// reportAdded reports once that a member is visible in the fleet. Call it with mu held.
func (f *Fleet) reportAdded(m *member) {
	if m.replaces == nil && !m.announced && !m.state.Load().retired {
		m.announced = true
		f.events.report(Event{Kind: ServerAdded, Server: m.server.ID})
	}
}

// reportRemoved reports once that a visible member has left the fleet. Call it with mu held.
func (f *Fleet) reportRemoved(m *member) {
	if m.announced {
		m.announced = false
		f.events.report(Event{Kind: ServerRemoved, Server: m.server.ID})
	}
}

// removeMember closes a member that is no longer in the fleet. Its calls in flight have the duration drain to end. Call
// it with mu held.
func (f *Fleet) removeMember(m *member, drain time.Duration) {
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

// promote puts a settled successor into the place of the member that served until now. Call it with mu held, from the
// successor's supervisor.
func (f *Fleet) promote(m *member) {
	old := m.replaces
	m.replaces = nil
	old.setSuccessor(nil)
	f.members = slices.Clone(f.members)
	f.members[slices.Index(f.members, old)] = m
	f.removeMember(old, f.opts.Drain)
	m.drained = old.closed
	f.reportRemoved(old)
	f.reportAdded(m)
	for _, e := range m.deferred {
		f.events.report(e)
	}
	m.deferred = nil
}

// Servers returns the configuration that was applied last, in order, each id once.
func (f *Fleet) Servers() []config.Server {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.configuredServers()
}

// Server returns the configuration that was applied last for a server, or false if there is none.
func (f *Fleet) Server(id string) (config.Server, bool) {
	servers := f.Servers()
	i := slices.IndexFunc(servers, func(s config.Server) bool { return s.ID == id })
	if i < 0 {
		return config.Server{}, false
	}
	return servers[i], true
}

// configuredServers is Servers with mu held.
func (f *Fleet) configuredServers() []config.Server {
	out := make([]config.Server, len(f.members))
	for i, m := range f.members {
		if next := m.state.Load().successor; next != nil {
			m = next
		}
		out[i] = m.state.Load().config.Clone()
	}
	return out
}

// Settle waits until every server of the last configuration is ready and listed, or faulted, or until ctx ends. Their
// tools are then in [Fleet.Snapshot].
func (f *Fleet) Settle(ctx context.Context) error {
	for {
		m := f.firstUnsettled()
		if m == nil {
			return nil
		}
		if err := m.awaitSettled(ctx); err != nil {
			return err
		}
	}
}

// firstUnsettled returns a server that has neither replied nor failed yet, or nil if there is none.
func (f *Fleet) firstUnsettled() *member {
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
