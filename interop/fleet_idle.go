package interop

import (
	"cmp"
	"context"
	"time"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/internal/lane"
)

// An idle server is in the fleet with its list, and is not connected. It has not been needed yet (Server.Lazy), or not
// for a while (Server.Idle). The first request that needs it makes the supervisor connect it, and waits as for a lost
// server. But its tools are not withdrawn, and no attempt is delayed.

// idleChecks is how often a server is checked during the time of Server.Idle. Activity is not recorded, because every
// request would pay for that. So a server becomes idle up to one check late.
const idleChecks = 4

// statelessIdleTime is the longest time that a connection for clients without a session stays open unused. The server
// holds no state there for later requests, and each connection may be a process.
const statelessIdleTime = 30 * time.Second

// idleSettings returns the idle settings of the server. lazy reports whether it is idle until it is needed. after is
// how long it may be unused, and 0 means without limit.
func (m *member) idleSettings(c *config.Server) (lazy bool, after time.Duration) {
	o := &m.fleet.opts
	if o.Restart.Off { // nothing reconnects
		return false, 0
	}
	lazy = o.Lazy
	if c.Lazy != nil {
		lazy = *c.Lazy
	}
	return lazy, max(cmp.Or(c.Idle, o.Idle), 0)
}

// startIdle makes a lazy server wait until it is needed, if its list is known under exactly this configuration. A
// successor starts at once, because it must show that it works.
func (m *member) startIdle() {
	m.update(func(s *state) []EventKind {
		lazy, _ := m.idleSettings(s.config)
		if !lazy || m.replaces != nil || m.inherits || s.list == nil {
			return nil
		}
		s.idle, s.settled = true, true
		return []EventKind{ServerIdle}
	})
}

// awaitNeeded waits while the server is idle, and reports whether the member continues.
func (m *member) awaitNeeded() bool {
	err := m.awaitState(m.ctx, func(s *state) bool {
		if lazy, after := m.idleSettings(s.config); !lazy && after == 0 { // its configuration changed meanwhile
			m.wake()
		}
		return !s.idle
	})
	return err == nil && m.ctx.Err() == nil
}

// wake starts the connection of an idle server.
func (m *member) wake() {
	m.fleet.mu.Lock()
	defer m.fleet.mu.Unlock()
	if s := *m.state.Load(); s.idle {
		s.idle = false
		m.publish(&s)
	}
}

// becomeIdle makes the server idle, unless a request has begun to use e. The supervisor closes e.
func (m *member) becomeIdle(e *Endpoint) bool {
	m.learnEra(e)
	next := m.newEndpoint(m.state.Load().config, false)
	m.fleet.mu.Lock()
	defer m.fleet.mu.Unlock()
	old := m.state.Load()
	if old.retired || old.successor != nil || m.replaces != nil {
		return false
	}
	s := *old
	next.configure(s.config)
	s.up, s.idle = false, true
	s.endpoint = next
	m.publish(&s)
	if calls, _ := e.pendingCalls(); calls > 0 { // after publish: see [member.awaitEndpoint]
		restored := *old
		m.publish(&restored)
		return false
	}
	m.report(ServerIdle)
	return true
}

// idleness records how long a connection has been unused, as far as the checks have seen.
type idleness struct {
	startedCalls uint64 // Endpoint.startedCalls at the last check
	wasUsed      bool   // it was in use at the last check
	unusedSince  time.Time
	lastCheck    time.Time // the last check
}

// nextCheck returns a channel that fires at the time of the next check.
func (i *idleness) nextCheck(after time.Duration) <-chan time.Time {
	if after == 0 {
		return nil
	}
	return time.After(time.Until(i.lastCheck.Add(after / idleChecks)))
}

// hasExpired reports whether the server has been unused for the duration after.
func (i *idleness) hasExpired(m *member, e *Endpoint, after time.Duration) bool {
	i.lastCheck = time.Now()
	begun, used := m.usage(e)
	if used || i.wasUsed || begun != i.startedCalls {
		i.startedCalls, i.wasUsed, i.unusedSince = begun, used, i.lastCheck
	}
	return i.lastCheck.Sub(i.unusedSince) >= after
}

// usage returns the number of requests so far, and reports whether the server is in use. It is in use during a request,
// and while it has a connection for a client that it can ask, a resource subscription or a task. A listener for list
// changes does not count as use.
func (m *member) usage(e *Endpoint) (begun uint64, used bool) {
	begun, calls := e.callCounts()
	return begun, calls > 0 || m.lanes.HasLanes() || m.tasks.HasRunning() || m.fleet.subscriptions.hasServer(m.server.ID)
}

// awaitAwake waits until a server has settled again that is idle, or is being connected after it was idle.
func (m *member) awaitAwake(ctx context.Context) error {
	return m.awaitState(ctx, func(s *state) bool {
		if s.idle {
			m.wake()
		}
		return !s.idle && !s.isWaking()
	})
}

// isWaking reports whether the server is being connected for the first time since it was idle.
func (s *state) isWaking() bool {
	return s.settled && !s.up && !s.retired && s.connectFault == nil
}

// Idle reports whether a server is idle, or is being connected because it was idle. The next request that needs an idle
// server connects it.
func (f *Fleet) Idle(server string) bool {
	m, err := f.find(server)
	if err != nil {
		return false
	}
	s := m.state.Load()
	return s.idle || s.isWaking()
}

// Use returns the connection of a server for several requests. As for a call, an idle server is connected first, and a
// server that is being connected is waited for. The server does not become idle before done is called. If err is nil,
// done must be called. Use returns the same faults as [Fleet.Request].
func (f *Fleet) Use(ctx context.Context, server string) (e *Endpoint, done func(), err error) {
	m, err := f.find(server)
	if err != nil {
		return nil, nil, err
	}
	if e, err = m.awaitEndpoint(ctx, ""); err != nil {
		return nil, nil, err
	}
	return e, e.endCall, nil
}

// hasServer reports whether a server has a resource subscription.
func (t *subscriptions) hasServer(server string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byServer[server]) > 0
}

// laneIdleTime returns how long a lane stays open unused. A negative duration means until its sessions end. Server.Idle
// raises or lowers it if the server may hold state for a client.
func (m *member) laneIdleTime(k lane.Key, held bool) time.Duration {
	d := m.fleet.opts.LaneIdle
	_, after := m.idleSettings(m.state.Load().config)
	switch {
	case k.Kind == lane.ForQuestions && k.Session == listSession:
		return min(d, lane.FailureRetry)
	case k.Kind == lane.ForQuestions && k.Session == "":
		d = min(d, statelessIdleTime)
	case k.Kind == lane.ForInstance:
	case after > 0:
		return after
	case held:
		return -1
	}
	if after > 0 {
		d = min(d, after)
	}
	return d
}

// awaitFullList waits for an idle server of which only an old list is known. It does not wait for other servers.
func (m *member) awaitFullList(ctx context.Context) error {
	s := m.state.Load()
	if !s.idle && !s.isWaking() || s.list == nil || !s.list.Raw.Partial {
		return nil
	}
	return m.awaitConnect(ctx, m.awaitAwake)
}
