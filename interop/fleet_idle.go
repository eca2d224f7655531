package interop

import (
	"cmp"
	"context"
	"time"

	"github.com/indusagi/indus/internal/protocol"
)

// An idle server is in the fleet, with what it listed, and is not connected: it has not been needed
// yet (Server.Lazy), or not for a while (Server.Idle). Whoever needs it has the supervisor connect it,
// and waits as for one that was lost; but nothing is withdrawn, and no attempt is delayed.

// idleLooks is how often in the time of Server.Idle a server is looked at. What it does is not
// measured, because requests would pay for that: it ends up to one look late.
const idleLooks = 4

// statelessIdle is how long a connection for clients without a session stays open without a request, at most: the server
// holds nothing there that a later request may count on, and each connection may be a process.
const statelessIdle = 30 * time.Second

// idling is how the server is configured to be idle: lazy, whether it is until it is needed; after,
// how long it may be of no use. 0: for good.
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

// startIdle has a lazy server wait until it is needed, where it is known under this very configuration
// what it lists. One that takes another's place has to show that it can.
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

// untilNeeded waits while the server is idle, and reports whether the member goes on.
func (m *member) untilNeeded() bool {
	err := m.until(m.ctx, func(s *state) bool {
		if lazy, after := m.idling(s.config); !lazy && after == 0 { // it was edited meanwhile
			m.awaken()
		}
		return !s.idle
	})
	return err == nil && m.ctx.Err() == nil
}

// awaken has an idle server connected.
func (m *member) awaken() {
	m.fleet.mu.Lock()
	defer m.fleet.mu.Unlock()
	if s := *m.state.Load(); s.idle {
		s.idle = false
		m.publish(&s)
	}
}

// goIdle makes the server one that is not connected, unless somebody has begun to use e. Its
// supervisor closes e.
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

// idleness is for how long a connection has been of no use, as far as was seen.
type idleness struct {
	begun  uint64 // Endpoint.begun at the last look
	used   bool   // it was in use then
	since  time.Time
	looked time.Time // the last look
}

// due is when to look next.
func (i *idleness) due(after time.Duration) <-chan time.Time {
	if after == 0 {
		return nil
	}
	return time.After(time.Until(i.looked.Add(after / idleLooks)))
}

// over reports whether nobody has used the server for so long.
func (i *idleness) over(m *member, e *Endpoint, after time.Duration) bool {
	i.looked = time.Now()
	begun, used := m.used(e)
	if used || i.used || begun != i.begun {
		i.begun, i.used, i.since = begun, used, i.looked
	}
	return i.looked.Sub(i.since) >= after
}

// used is how many requests there were, and whether the server is being used: by a request, a
// connection for a client that it can ask, a subscription to a resource or a task. That somebody hears
// of changes of its lists is no use.
func (m *member) used(e *Endpoint) (begun uint64, used bool) {
	begun, calls := e.counts()
	return begun, calls > 0 || m.lanes.any() || m.tasks.any() || m.fleet.subscriptions.any(m.server.ID)
}

// awake waits until a server that is idle, or is being connected after it was, has settled again.
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

// Idle reports whether a server is idle, and connected by whatever needs it, or is being connected
// because it was idle.
func (f *Fleet) Idle(server string) bool {
	m := findMember(f.all(), server)
	if m == nil {
		return false
	}
	s := m.state.Load()
	return s.idle || s.waking()
}

// Use is the connection of a server for whoever sends it several requests: as for a call, the server
// is connected if it is idle, waited for if it is being connected, and does not become idle before
// done, which must follow where err is nil. Failures are those of [Fleet.Request].
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

// any reports whether there is a lane, in use or not yet at its end.
func (l *lanes) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all) > 0
}

// any reports whether somebody holds a subscription to a resource of a server.
func (t *subscriptions) any(server string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.of[server]) > 0
}

// laneIdle is how long a lane stays open without a request; negative: until the sessions that use it end. Server.Idle
// raises and lowers it where the server may hold state for a client.
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

// unsure waits for an idle server of which no more is known than what it once listed; others list
// what they have.
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
