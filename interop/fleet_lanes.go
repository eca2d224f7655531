package interop

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/toolbox"
)

const (
	defaultLanes    = 4
	defaultLaneIdle = 5 * time.Minute
	// maxLanes bounds the lanes of one server, each of which may be a process. maxCallerLanes bounds the lanes of one
	// principal, so that one principal cannot use up all lanes.
	maxLanes       = 256
	maxCallerLanes = 64
	// maxLanePause is the longest time that the shared connection replaces a lane that could not be opened. Many
	// servers never ask, and some cannot run twice.
	maxLanePause = time.Minute
	// firstLanePause is the first of these pauses; see [lanes.nextPause].
	firstLanePause = time.Second
	// maxHungPause is the longest of these pauses for a server that hangs.
	maxHungPause = time.Hour
	// initializeWait bounds an attempt to connect in the legacy era to a server that may not support it. A call waits
	// for that attempt.
	initializeWait = 10 * time.Second
	// levelWait bounds logging/setLevel, for which a call waits.
	levelWait = 5 * time.Second
)

// lane is an extra connection to a server. A lane serves the calls of all principals ([Pool].Instances), serves one
// principal ([PerPrincipal]), or declares one client's capabilities to a legacy server. Capabilities are declared once,
// in initialize. The fleet's own connection, which all share, declares nothing.
//
// A lane of a session serves all its requests. The clients of one principal without a session may be several programs,
// and over stdio a question does not name its request. So a request that is known to ask has a lane alone, and the
// others share one (see [habits]). A lane serves no other request after a request on it ended without a reply. A late
// question of its server would otherwise seem to belong to the next request.
type lane struct {
	key   laneKey
	start sync.Once

	// The fields below are guarded by lanes.mu.
	endpoint         *Endpoint // nil before start
	users            int
	exclusive        bool        // its request does not share it
	questionRequests int         // of a principal's lane: requests that are known to ask
	askerSession     string      // the session of these requests; "" if it is one request without a session
	retired          bool        // it is closed to new requests
	idleTimer        *time.Timer // closes the lane; nil if it is in use, or retired
	level            string      // set by logging/setLevel; "" if it was not called
	failed           time.Time   // when a principal's lane could not be opened; zero if that did not happen
	// sessions holds the live sessions that use the connection, because the server may hold state for them. Each value is
	// the function that ends the watch of [Client].Life.
	sessions map[string]func() bool
}

type laneKey struct {
	kind         laneKind
	caller       toolbox.Principal
	session      string // "" if there is none
	capabilities string
}

// laneKind is the purpose of a lane.
type laneKind byte

const (
	questionLane  laneKind = iota // serves a client that can be asked
	principalLane                 // serves one principal alone
	instanceLane                  // serves calls while the first process of a pool is busy
	laneKindCount
)

// isShared reports whether a lane serves any number of requests of any kind at a time.
func (k laneKey) isShared() bool { return k.kind != questionLane || k.session != "" }

// hasUnreplied reports whether a lane serves no other request because a request ended without a reply. Call it with
// lanes.mu held.
func (o *lane) hasUnreplied() bool {
	return !o.key.isShared() && o.endpoint != nil && o.endpoint.active.hasUnreplied()
}

// hasEnded reports whether a lane's connection has ended, and its failure need not be remembered any more. Call it with
// lanes.mu held.
func (o *lane) hasEnded() bool {
	return o.endpoint != nil && o.endpoint.Phase().Terminal() && time.Since(o.failed) >= failureRetry
}

// lanes holds the extra connections of one member.
type lanes struct {
	member  *member
	closing sync.WaitGroup // connections that are closing, and timers

	mu       sync.Mutex
	base     lane    // the member's own connection: only its users count
	all      []*lane // the lane that was used last is the last
	closed   bool
	retryAt  [laneKindCount]time.Time // no lane of the kind is tried before this time
	failures [laneKindCount]int       // failed attempts to open a lane, in a row
	hangs    [laneKindCount]int       // attempts that hung, in a row
	freed    chan struct{}            // closed when a lane is free; nil if no request waits
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
	caller, use := r.Caller, sharedUse
	endUse := func(bool) {}
	key := laneKey{caller: caller, session: c.Session, capabilities: capabilities}
	switch {
	case key.session != "":
	case c.listing:
		key.session = listSession // a question here belongs to no client, so no call may use this lane
	case c.LogLevel != "" && r.Method == protocol.MethodToolsCall: // log messages do not name their request either
		use = exclusiveUse
	default:
		use, endUse = m.habits.admit(ctx, r.subject)
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
		m.lanes.abandon(l, questionLane, math.MaxInt64)
		return nil, nil, nil
	case err != nil:
		m.fleet.opts.Logger.Warn("a client cannot be asked: its connection failed, and another serves it",
			"server", m.server.ID, "caller", caller, "err", err)
		m.lanes.abandon(l, questionLane, m.lanes.nextPause(questionLane, err, maxLanePause))
		return nil, nil, nil
	default:
		err = m.setLevel(ctx, l, e, c.LogLevel)
	}
	if err != nil {
		m.lanes.release(l)
		return nil, nil, err
	}
	return e, func() { endUse(true); m.lanes.release(l) }, nil
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
	if shake.Era != Legacy && !dual || !protocol.AcceptsRequests(declared) || !m.lanes.mayTry(questionLane) {
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
func (m *member) enterLane(ctx context.Context, key laneKey, use sharing) (l *lane, e *Endpoint, err error) {
	for tries := 3; ; tries-- {
		if l, err = m.lanes.enter(ctx, key, use); err != nil {
			return nil, nil, err
		}
		if e, err = m.openLane(ctx, l); err == nil {
			m.lanes.holdForSession(l, ClientOf(ctx))
		}
		if err == nil || e == nil || e.Era() == "" || ctx.Err() != nil || tries == 1 {
			return l, e, err
		}
		m.lanes.release(l) // it was open, so its end does not predict the next attempt
	}
}

// openLane connects a lane, or waits until another request has.
func (m *member) openLane(ctx context.Context, l *lane) (*Endpoint, error) {
	l.start.Do(func() {
		e := m.newLane(l.key)
		if c := ClientOf(ctx); l.key.session != "" || l.key.kind == principalLane && l.key.capabilities != "" {
			e.active.expectClient(l.key.caller, c)
		}
		m.lanes.setEndpoint(l, e)
	})
	e := m.lanes.endpointOf(l)
	if e == nil {
		return nil, m.unsentFault("", "not connected")
	}
	e.configure(m.state.Load().config)
	if base := m.state.Load().endpoint.handshake(); l.key.capabilities != "" && base.Era == Modern && !base.Dual {
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
func (m *member) newLane(key laneKey) *Endpoint {
	config, base := m.state.Load().config, m.state.Load().endpoint
	opts := m.endpointOptions(config)
	principal := toolbox.Principal("")
	if m.isPerPrincipal() {
		principal = key.caller
		opts.Logger = opts.Logger.With("caller", principal)
		opts.Principal = principal
		opts.updatesLost = func() { m.fleet.subscriptions.reportGap(m.server.ID, &principal) }
	}
	opts.private = key.kind == principalLane
	if key.capabilities != "" {
		opts.Era, opts.Capabilities = Legacy, []byte(key.capabilities)
		opts.Receive, opts.onQuestion = nil, m.lanes.notifyFreed
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
func (m *member) setLevel(ctx context.Context, l *lane, e *Endpoint, level string) error {
	m.lanes.mu.Lock()
	same := level == "" || level == l.level
	if !same {
		l.level = level
	}
	m.lanes.mu.Unlock()
	if _, logs := wire.Lookup(e.Capabilities(), "logging"); same || !logs {
		return nil
	}
	levelCtx, cancel := context.WithTimeout(ctx, levelWait)
	defer cancel()
	params := append(append([]byte(`{"level":`), wire.Quote(level)...), '}')
	if _, err := e.do(levelCtx, Message{Method: protocol.MethodSetLevel, Params: params, bounded: true}); err != nil {
		m.fleet.opts.Logger.Debug("the level of logs stays as it was",
			"server", m.server.ID, "caller", l.key.caller, "err", err)
	}
	return ctx.Err()
}

// enter takes a lane. If all permitted lanes are in use, it waits for one. release must follow.
func (l *lanes) enter(ctx context.Context, key laneKey, use sharing) (taken *lane, err error) {
	err = l.await(ctx, func() (freed <-chan struct{}, err error) {
		taken, freed, err = l.tryTake(key, use)
		return freed, err
	})
	return taken, err
}

// await calls try until try returns no channel. Between calls it waits until that channel is closed. It waits at most
// the queue time of a request, and then returns the error of try.
func (l *lanes) await(ctx context.Context, try func() (freed <-chan struct{}, err error)) error {
	var late <-chan time.Time
	for {
		freed, err := try()
		if freed == nil {
			return err
		}
		if late == nil {
			late = time.After(l.member.queueWait())
			defer l.member.fleet.opts.Waits(ctx)()
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return err
		}
	}
}

// tryTake returns a lane, or a channel that is closed when one may be free. The error is for a request that does not
// wait so long.
func (l *lanes) tryTake(key laneKey, use sharing) (_ *lane, freed <-chan struct{}, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		why := "not connected: the server was taken out or replaced"
		return nil, nil, NewFault(NotConnected, l.member.server.ID, why, nil)
	}
	var free, shared *lane // the lane that was used last
	exclusive, callers, sameKind := 0, 0, 0
	for _, o := range slices.Backward(slices.Clone(l.all)) {
		switch {
		case o.key.kind != key.kind:
			continue
		case o.hasEnded(), o.hasUnreplied():
			l.retire(o)
			if o.users == 0 {
				continue
			}
		case o.retired:
		case o.key == key && key.isShared(), key.kind == principalLane && o.key.caller == key.caller:
			l.addUser(o)
			return o, nil, nil
		case o.key != key:
		case o.users == 0:
			free = cmp.Or(free, o)
		case !o.exclusive:
			shared = cmp.Or(shared, o)
		case o.endpoint == nil || !o.endpoint.active.hasOpenQuestion(): // otherwise it waits for a person
			exclusive++
		}
		sameKind++
		if o.key.caller == key.caller {
			callers++
		}
	}
	if use == trialUse && free == nil && shared != nil && exclusive > 0 {
		use = sharedUse
	}
	if use == sharedUse {
		free = cmp.Or(shared, free)
	}
	if free != nil {
		free.exclusive = use != sharedUse
		l.addUser(free)
		return free, nil, nil
	}
	if key.kind == principalLane {
		limit := cmp.Or(l.member.state.Load().config.pool.MaxPrincipals, defaultMaxPrincipals)
		if sameKind >= limit && !l.evictUnused(key, false) {
			return l.busyResult("%d principals have a connection in use, which is its maxPrincipals, "+
				"and none was free", sameKind)
		}
	} else {
		if limit := l.member.fleet.opts.Lanes; use == exclusiveUse && key.session == "" && exclusive >= limit {
			return l.busyResult("%d calls of this client, in which it can be asked, are in flight there, "+
				"and none ended", limit)
		}
		if (callers >= maxCallerLanes || sameKind >= maxLanes) && !l.evictUnused(key, callers >= maxCallerLanes) {
			return l.busyResult("%d connections for clients that it can ask are in use, and none was free", sameKind)
		}
	}
	o := &lane{key: key, exclusive: use != sharedUse}
	l.all = append(l.all, o)
	l.addUser(o)
	return o, nil, nil
}

// busyResult returns the result of tryTake if all lanes are in use. Call it with mu held.
func (l *lanes) busyResult(why string, n int) (*lane, <-chan struct{}, error) {
	cause := newBusyError(why+" within %v", n, l.member.queueWait())
	return nil, l.freedChannel(), NewFault(Timeout, l.member.server.ID, "busy", cause)
}

// freedChannel returns a channel that is closed when a lane may be free. Call it with mu held.
func (l *lanes) freedChannel() <-chan struct{} {
	if l.freed == nil {
		l.freed = make(chan struct{})
	}
	return l.freed
}

// addUser records that a request is on a lane. Call it with mu held.
func (l *lanes) addUser(o *lane) {
	o.users++
	l.stopTimer(o)
	i := slices.Index(l.all, o)
	l.all = append(slices.Delete(l.all, i, i+1), o)
}

// evictUnused closes the lane of a key's kind that has been unused for the longest time, among the lanes of its caller
// or of all. It reports whether there was one. A lane that a live session holds comes last. Call it with mu held.
func (l *lanes) evictUnused(key laneKey, sameCaller bool) bool {
	for _, held := range [...]bool{false, true} {
		for _, o := range l.all {
			if o.users > 0 || o.key.kind != key.kind || sameCaller && o.key.caller != key.caller {
				continue
			}
			if isHeld := len(o.sessions) > 0; isHeld == held {
				l.retire(o)
				return true
			}
		}
	}
	return false
}

// restartTimers restarts the timers of unused lanes after a change of the configuration.
func (l *lanes) restartTimers() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.all {
		if o.users == 0 && !o.retired && !l.closed {
			l.stopTimer(o)
			l.startTimer(o)
		}
	}
}

// stopTimer stops the timer that closes a lane. Call it with mu held.
func (l *lanes) stopTimer(o *lane) {
	if o.idleTimer != nil && o.idleTimer.Stop() {
		l.closing.Done()
	}
	o.idleTimer = nil
}

// release records that a request on a lane has ended.
func (l *lanes) release(o *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o.users--
	l.notifyFreedLocked()
	switch {
	case o.users > 0 || l.closed || o == &l.base:
		return
	case o.retired, o.endpoint == nil, o.hasEnded(), o.hasUnreplied():
		l.retire(o)
		return
	}
	o.exclusive = false
	if o.failed.IsZero() {
		l.failures[o.key.kind], l.hangs[o.key.kind] = 0, 0
	}
	l.startTimer(o)
}

// startTimer starts the timer that closes an unused lane, unless a live session holds the lane. Call it with mu held.
func (l *lanes) startTimer(o *lane) {
	idle := failureRetry
	if o.failed.IsZero() {
		idle = l.member.laneIdleTime(o)
	}
	if idle < 0 {
		return
	}
	l.closing.Add(1)
	var timer *time.Timer
	timer = time.AfterFunc(idle, func() {
		defer l.closing.Done()
		l.mu.Lock()
		defer l.mu.Unlock()
		if o.idleTimer == timer && !l.closed {
			o.idleTimer = nil
			l.retire(o)
		}
	})
	o.idleTimer = timer
}

// notifyFreed makes requests that wait for a lane check again.
func (l *lanes) notifyFreed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notifyFreedLocked()
}

// notifyFreedLocked is notifyFreed with mu held.
func (l *lanes) notifyFreedLocked() {
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

// abandon ends the use of a lane that cannot be used, and drops the lane. For the time d, no lane of
// the kind is tried.
func (l *lanes) abandon(o *lane, kind laneKind, d time.Duration) {
	l.mu.Lock()
	l.retryAt[kind] = time.Now().Add(d)
	if !l.closed {
		l.retire(o)
	}
	l.mu.Unlock()
	l.release(o)
}

// nextPause returns how long no lane of a kind is tried after a failure. The pause doubles up to limit, because a
// server that crashed may start at the next attempt. A server that hangs delays calls until the connect deadline. So
// its pause starts at limit, and doubles with each further attempt, up to maxHungPause.
func (l *lanes) nextPause(kind laneKind, err error, limit time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, Timeout) {
		if !l.mayTryLocked(kind) { // other attempts have failed with it
			return time.Until(l.retryAt[kind])
		}
		l.hangs[kind]++
		return min(limit<<min(l.hangs[kind]-1, 10), maxHungPause)
	}
	l.failures[kind]++
	return min(firstLanePause<<min(l.failures[kind]-1, 10), limit)
}

// mayTry reports whether lanes of a kind may be tried.
func (l *lanes) mayTry(kind laneKind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mayTryLocked(kind)
}

// mayTryLocked is mayTry with mu held.
func (l *lanes) mayTryLocked(kind laneKind) bool { return !time.Now().Before(l.retryAt[kind]) }

// retire closes a lane to new requests, and closes its connection once no request uses it. Until then the lane counts,
// and close ends it with the others. Call it with mu held.
func (l *lanes) retire(o *lane) {
	o.retired = true
	l.stopTimer(o)
	if o.users == 0 {
		l.all = slices.DeleteFunc(l.all, func(other *lane) bool { return other == o })
		l.disconnect(o)
	}
}

// disconnect closes a lane's connection. Call it with mu held.
func (l *lanes) disconnect(o *lane) {
	for _, unwatch := range o.sessions {
		unwatch()
	}
	if o.endpoint != nil {
		l.closing.Go(o.endpoint.Close)
	}
}

// setEndpoint sets the endpoint of a lane, unless the lanes are closed.
func (l *lanes) setEndpoint(o *lane, e *Endpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		o.endpoint = e
	}
}

func (l *lanes) endpointOf(o *lane) *Endpoint {
	l.mu.Lock()
	defer l.mu.Unlock()
	return o.endpoint
}

// close closes all lanes in parallel, including lanes in use, and waits for them.
func (l *lanes) close() {
	l.mu.Lock()
	l.closed = true
	for _, o := range l.all {
		l.stopTimer(o)
		l.disconnect(o)
	}
	l.all = nil
	l.notifyFreedLocked()
	l.mu.Unlock()
	l.closing.Wait()
}
