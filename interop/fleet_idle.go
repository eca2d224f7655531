package interop

import (
	"cmp"
	"context"
	"time"

	"github.com/indusagi/indus/internal/protocol"
)

// An idle server is in the fleet with its list, and is not connected. It has not been needed yet (Server.Lazy), or not
// for a while (Server.Idle). The first request that needs it makes the supervisor connect it, and waits as for a lost
// server. But its tools are not withdrawn, and no attempt is delayed.

// idleLooks is how often a server is checked during the time of Server.Idle. Activity is not recorded, because every
// request would pay for that. So a server becomes idle up to one check late.
const idleLooks = 4

// statelessIdle is the longest time that a connection for clients without a session stays open unused. The server holds
// no state there for later requests, and each connection may be a process.
const statelessIdle = 30 * time.Second

// idling returns the idle settings of the server. lazy reports whether it is idle until it is needed. after is how long
// it may be unused, and 0 means without limit.
func (m *member) idling(c *toolConfig) (lazy bool, after time.Duration) {
	o := &m.fleet.opts
	if o.Restart.Off { // nothing reconnects
		return false, 0
	}
	if lazy = o.Lazy; c.lazy != nil {
		lazy = *c.lazy
	}
	return lazy, max(cmp.Or(c.idle, o.Idle), 0)
}

// startIdle makes a lazy server wait until it is needed, if its list is known under exactly this configuration. A
// successor starts at once, because it must show that it works.
func (m *member) startIdle() {
	m.update(func(s *state) []EventKind {
		lazy, _ := m.idling(s.config)
		if !lazy || m.replaces != nil || m.inherits || s.list == nil {
			return nil
		}
		s.idle, s.settled = true, true
		return []EventKind{ServerIdle}
	})
}

// untilNeeded waits while the server is idle, and reports whether the member continues.
func (m *member) untilNeeded() bool {
	err := m.until(m.ctx, func(s *state) bool {
		if lazy, after := m.idling(s.config); !lazy && after == 0 { // its configuration changed meanwhile
			m.awaken()
		}
		return !s.idle
	})
	return err == nil && m.ctx.Err() == nil
}

// awaken starts the connection of an idle server.
func (m *member) awaken() {
	m.fleet.mu.Lock()
	defer m.fleet.mu.Unlock()
	if s := *m.state.Load(); s.idle {
		s.idle = false
		m.publish(&s)
	}
}

// goIdle makes the server idle, unless a request has begun to use e. The supervisor closes e.
func (m *member) goIdle(e *Endpoint) bool {
	m.era = e.Era()
	next := m.newEndpoint(m.state.Load().config, false)
	m.fleet.mu.Lock()
	defer m.fleet.mu.Unlock()
	was := m.state.Load()
	if was.retired || was.successor != nil || m.replaces != nil {
		return false
	}
	s := *was
	next.configure(s.config)
	s.up, s.idle, s.endpoint = false, true, next
	m.publish(&s)
	if calls, _ := e.busy(); calls > 0 { // after publish: see [member.connected]
		before := *was
		m.publish(&before)
		return false
	}
	m.report(ServerIdle)
	return true
}

// idleness records how long a connection has been unused, as far as the checks have seen.
type idleness struct {
	begun  uint64 // Endpoint.begun at the last check
	used   bool   // it was in use at the last check
	since  time.Time
	looked time.Time // the last check
}

// due returns a channel that fires at the time of the next check.
func (i *idleness) due(after time.Duration) <-chan time.Time {
	if after == 0 {
		return nil
	}
	return time.After(time.Until(i.looked.Add(after / idleLooks)))
}

// over reports whether the server has been unused for the duration after.
func (i *idleness) over(m *member, e *Endpoint, after time.Duration) bool {
	i.looked = time.Now()
	begun, used := m.used(e)
	if used || i.used || begun != i.begun {
		i.begun, i.used, i.since = begun, used, i.looked
	}
	return i.looked.Sub(i.since) >= after
}

// used returns the number of requests so far, and reports whether the server is in use. It is in use during a request,
// and while it has a connection for a client that it can ask, a resource subscription or a task. A listener for list
// changes does not count as use.
func (m *member) used(e *Endpoint) (begun uint64, used bool) {
	begun, calls := e.counts()
	return begun, calls > 0 || m.lanes.any() || m.tasks.any() || m.fleet.subscriptions.any(m.server.ID)
}

// awake waits until a server has settled again that is idle, or is being connected after it was idle.
func (m *member) awake(ctx context.Context) error {
	return m.until(ctx, func(s *state) bool {
		if s.idle {
			m.awaken()
		}
		return !s.idle && !s.waking()
	})
}

// waking reports whether the server is being connected for the first time since it was idle.
func (s *state) waking() bool {
	return s.settled && !s.up && !s.retired && s.connectFault == nil
}

// Idle reports whether a server is idle, or is being connected because it was idle. The next request that needs an idle
// server connects it.
func (f *Fleet) Idle(server string) bool {
	m := findMember(f.all(), server)
	if m == nil {
		return false
	}
	s := m.state.Load()
	return s.idle || s.waking()
}

// Use returns the connection of a server for several requests. As for a call, an idle server is connected first, and a
// server that is being connected is waited for. The server does not become idle before done is called. If err is nil,
// done must be called. Use returns the same faults as [Fleet.Request].
func (f *Fleet) Use(ctx context.Context, server string) (e *Endpoint, done func(), err error) {
	m := findMember(f.all(), server)
	if m == nil {
		return nil, nil, NewFault(NotConnected, server, "no such server", nil)
	}
	if e, err = m.connected(ctx, ""); err != nil {
		return nil, nil, err
	}
	return e, e.end, nil
}

// any reports whether there is a lane that is in use or not closed yet.
func (l *lanes) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all) > 0
}

// any reports whether a server has a resource subscription.
func (t *subscriptions) any(server string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.of[server]) > 0
}

// laneIdle returns how long a lane stays open unused. A negative duration means until its sessions end. Server.Idle
// raises or lowers it if the server may hold state for a client.
func (m *member) laneIdle(o *lane) time.Duration {
	d := m.fleet.opts.LaneIdle
	_, after := m.idling(m.state.Load().config)
	switch kind, session := o.key.kind, o.key.session; {
	case kind == askedLane && session == listSession:
		return min(d, failureMemory)
	case kind == askedLane && session == "":
		d = min(d, statelessIdle)
	case kind == instanceLane:
	case after > 0:
		return after
	case len(o.held) > 0:
		return -1
	}
	if after > 0 {
		d = min(d, after)
	}
	return d
}

// unsure waits for an idle server of which only an old list is known. It does not wait for other servers.
func (m *member) unsure(ctx context.Context) error {
	s := m.state.Load()
	if !s.idle && !s.waking() || s.list == nil || !s.list.raw.partial {
		return nil
	}
	ctx, cancel := withDeadline(ctx, m.server.Timeouts.Connect, protocol.DefaultConnect)
	defer cancel()
	if m.awake(ctx) != nil {
		return NewFault(NotConnected, m.server.ID, "not connected", context.Cause(ctx))
	}
	return nil
}
