package interop

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/lane"
	"github.com/indusagi/indus/toolbox"
)

const (
	defaultLanes    = 4
	defaultLaneIdle = 5 * time.Minute
	// maxLanePause is the longest time that the shared connection replaces a lane that could not be opened. Many
	// servers never ask, and some cannot run twice.
	maxLanePause = time.Minute
	// initializeWait bounds an attempt to connect in the legacy era to a server that may not support it. A call waits
	// for that attempt.
	initializeWait = 10 * time.Second
	// levelWait bounds logging/setLevel, for which a call waits.
	levelWait = 5 * time.Second
)

// laneConn is the connection of a lane.
type laneConn struct{ *Endpoint }

var _ lane.Conn = laneConn{}

// Ended is part of [lane.Conn].
func (c laneConn) Ended() bool { return c.Phase().Terminal() }

// Unreplied is part of [lane.Conn].
func (c laneConn) Unreplied() bool { return c.active.HasUnreplied() }

// AwaitsAnswer is part of [lane.Conn].
func (c laneConn) AwaitsAnswer() bool { return c.active.AwaitsAnswer() }

// laneOptions returns the options of the member's lanes.
func (m *member) laneOptions() lane.Options {
	return lane.Options{
		MaxExclusive:  m.fleet.opts.Lanes,
		MaxPrincipals: func() int { return cmp.Or(m.state.Load().config.Pool.MaxPrincipals, defaultMaxPrincipals) },
		Wait:          m.queueWait, Waits: m.fleet.opts.Waits, IdleTime: m.laneIdleTime,
	}
}

// laneForQuestions returns the endpoint for a request of a client that a legacy server can ask, and the function to
// call after the reply. It returns nil if the request needs no such lane. A server that speaks both eras also gets a
// lane for a legacy client. Outside a session it may be unable to ask, as with all servers of the SDK that call Elicit.
func (m *member) laneForQuestions(
	ctx context.Context, base *Endpoint, r Message,
) (e *Endpoint, leave func(), err error) {
	c := ClientOf(ctx)
	capabilities, dual := m.laneCapabilities(ctx, base)
	if capabilities == "" {
		return nil, nil, nil
	}
	caller, use := r.Caller, lane.SharedUse
	endUse := func(bool) {}
	key := lane.Key{Caller: caller, Session: c.Session, Capabilities: capabilities}
	switch {
	case key.Session != "":
	case c.listing:
		key.Session = listSession // a question here belongs to no client, so no call may use this lane
	case c.LogLevel != "" && r.Method == protocol.MethodToolsCall: // log messages do not name their request either
		use = lane.ExclusiveUse
	default:
		use, endUse = m.habits.Admit(ctx, r.subject)
	}
	defer func() {
		if e == nil {
			endUse(false)
		}
	}()
	l, e, err := m.enterLane(ctx, key, use)
	switch {
	case l == nil:
		return nil, nil, err
	case ctx.Err() != nil:
		err = ctx.Err()
	case dual && asksOnlyModern(base, e, err):
		m.fleet.opts.Logger.Debug("the server takes no initialize", "server", m.server.ID, "err", err)
		m.lanes.Abandon(l, lane.ForQuestions, math.MaxInt64)
		return nil, nil, nil
	case err != nil:
		m.fleet.opts.Logger.Warn("a client cannot be asked: its connection failed, and another serves it",
			"server", m.server.ID, "caller", caller, "err", err)
		m.lanes.Abandon(l, lane.ForQuestions, m.lanes.NextPause(lane.ForQuestions, errors.Is(err, Timeout), maxLanePause))
		return nil, nil, nil
	default:
		err = m.setLevel(ctx, l, e, c.LogLevel)
	}
	if err != nil {
		m.lanes.Release(l)
		return nil, nil, err
	}
	return e, func() { endUse(true); m.lanes.Release(l) }, nil
}

// laneCapabilities returns the capabilities that a connection for the client of ctx declares, if the client can only be
// asked there. It returns "" if the client cannot be asked, or needs no such connection. dual reports that the server
// speaks both eras.
func (m *member) laneCapabilities(ctx context.Context, base *Endpoint) (capabilities string, dual bool) {
	c := ClientOf(ctx)
	if c == nil || c.Back == nil || len(c.Capabilities) <= len(`{}`) || m.fleet.opts.Lanes < 0 {
		return "", false
	}
	shake := base.handshake()
	dual = m.mayBeDual(shake, c.Era)
	declared := c.capabilitiesFor(Legacy)
	if shake.Era != Legacy && !dual || !protocol.AcceptsRequests(declared) || !m.lanes.MayTry(lane.ForQuestions) {
		return "", false
	}
	return string(declared), dual
}

// mayBeDual reports whether a modern server may also accept initialize, for a legacy client. Some servers of the
// TypeScript SDK accept it although they name only the modern revision in server/discover. So it is tried once.
func (m *member) mayBeDual(shake conn.Handshake, client Era) bool {
	return shake.Era == Modern && m.server.Era == "" && client == Legacy
}

// asksOnlyModern reports whether a server can ask only in the modern era, after a lane tried the legacy era. Such a
// server rejects initialize and does not list a legacy revision, or it asks nothing in the legacy era.
func asksOnlyModern(base, laneEndpoint *Endpoint, err error) bool {
	if err != nil {
		return !base.handshake().Dual
	}
	return laneEndpoint.Era() != Legacy || !laneEndpoint.handshake().Asks
}

// enterLane takes an open lane. If the lane has just lost its connection, enterLane takes another. If a lane could not
// be opened, it is returned with the error.
func (m *member) enterLane(ctx context.Context, key lane.Key, use lane.Sharing) (l *lane.Lane, e *Endpoint, err error) {
	for tries := 3; ; tries-- {
		if l, err = m.lanes.Enter(ctx, key, use); err != nil {
			return nil, nil, m.turnFault(err)
		}
		if e, err = m.openLane(ctx, l); err == nil {
			if c := ClientOf(ctx); c != nil {
				m.lanes.Hold(l, c.Session, c.Life)
			}
		}
		if err == nil || e == nil || e.Era() == "" || ctx.Err() != nil || tries == 1 {
			return l, e, err
		}
		m.lanes.Release(l) // it was open, so its end does not predict the next attempt
	}
}

// openLane connects a lane, or waits until another request has.
func (m *member) openLane(ctx context.Context, l *lane.Lane) (*Endpoint, error) {
	c := m.lanes.Connect(l, func() lane.Conn {
		e := m.newLane(l.Key())
		if k := l.Key(); k.Session != "" || k.Kind == lane.ForPrincipal && k.Capabilities != "" {
			e.active.Expect(k.Caller, (*flightClient)(ClientOf(ctx)))
		}
		return laneConn{e}
	})
	if c == nil {
		return nil, m.unsentFault("", "not connected")
	}
	e := c.(laneConn).Endpoint
	e.configure(m.state.Load().config)
	if base := m.state.Load().endpoint.handshake(); l.Key().Capabilities != "" && base.Era == Modern && !base.Dual {
		initCtx, cancel := context.WithTimeout(ctx, initializeWait)
		defer cancel()
		ctx = initCtx
	}
	if !e.Phase().Usable() {
		defer m.fleet.opts.Waits(ctx)()
	}
	return e, e.Open(ctx)
}

// newLane makes the endpoint of a lane. A change of the tools on one lane counts as a change for all clients.
func (m *member) newLane(key lane.Key) *Endpoint {
	config, base := m.state.Load().config, m.state.Load().endpoint
	opts := m.endpointOptions(config)
	principal := toolbox.Principal("")
	if m.isPerPrincipal() {
		principal = key.Caller
		opts.Logger = opts.Logger.With("caller", principal)
		opts.Principal = principal
		opts.updatesLost = func() { m.fleet.subscriptions.reportGap(m.server.ID, &principal) }
	}
	opts.private = key.Kind == lane.ForPrincipal
	if key.Capabilities != "" {
		opts.Era, opts.Capabilities = Legacy, []byte(key.Capabilities)
		opts.Receive, opts.onQuestion = nil, m.lanes.NotifyFreed
		opts.habits = &m.habits
	} else {
		opts.Era = cmp.Or(base.Era(), opts.Era)
	}
	opts.broadcast = func(from Message) {
		if from.Method == protocol.NoteToolsChanged {
			m.state.Load().endpoint.invalidateList()
		}
		from.Caller = principal
		m.handleNotification(from)
	}
	return NewEndpoint(m.server, &opts)
}

// setLevel requests log messages from the server at the client's level.
func (m *member) setLevel(ctx context.Context, l *lane.Lane, e *Endpoint, level string) error {
	isNew := level != "" && m.lanes.SetLevel(l, level)
	if _, logs := wire.Lookup(e.Capabilities(), "logging"); !isNew || !logs {
		return nil
	}
	levelCtx, cancel := context.WithTimeout(ctx, levelWait)
	defer cancel()
	params := append(append([]byte(`{"level":`), wire.Quote(level)...), '}')
	if _, err := e.do(levelCtx, Message{Method: protocol.MethodSetLevel, Params: params, bounded: true}); err != nil {
		m.fleet.opts.Logger.Debug("the level of logs stays as it was",
			"server", m.server.ID, "caller", l.Key().Caller, "err", err)
	}
	return ctx.Err()
}
