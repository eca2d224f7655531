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
	// withoutLanes is the longest time that the shared connection replaces a lane that could not be opened. Many
	// servers never ask, and some cannot run twice.
	withoutLanes = time.Minute
	// firstWithout is the first of these pauses; see [lanes.pause].
	firstWithout = time.Second
	// maxWithout is the longest of these pauses for a server that hangs.
	maxWithout = time.Hour
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
	endpoint *Endpoint // nil before start
	users    int
	alone    bool        // its request does not share it
	asking   int         // of a principal's lane: requests that are known to ask
	asker    string      // the session of these requests; "" if it is one request without a session
	gone     bool        // it is closed to new requests
	idle     *time.Timer // closes the lane; nil if it is in use, or gone
	level    string      // set by logging/setLevel; "" if it was not called
	failed   time.Time   // when a principal's lane could not be opened; zero if that did not happen
	// held holds the live sessions that use the connection, because the server may hold state for them. Each value is
	// the function that ends the watch of [Client].Life.
	held map[string]func() bool
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
	askedLane     laneKind = iota // serves a client that can be asked
	principalLane                 // serves one principal alone
	instanceLane                  // serves calls while the first process of a pool is busy
	laneKinds
)

// isShared reports whether a lane serves any number of requests of any kind at a time.
func (k laneKey) isShared() bool { return k.kind != askedLane || k.session != "" }

// isCut reports whether a lane serves no other request because a request ended without a reply. Call it with lanes.mu
// held.
func (o *lane) isCut() bool {
	return !o.key.isShared() && o.endpoint != nil && o.endpoint.talks.wereCut()
}

// isOver reports whether a lane's connection has ended, and its failure need not be remembered any more. Call it with
// lanes.mu held.
func (o *lane) isOver() bool {
	return o.endpoint != nil && o.endpoint.Phase().Terminal() && time.Since(o.failed) >= failureMemory
}

// lanes holds the extra connections of one member.
type lanes struct {
	member  *member
	closing sync.WaitGroup // connections that are closing, and timers

	mu       sync.Mutex
	base     lane    // the member's own connection: only its users count
	all      []*lane // the lane that was used last is the last
	closed   bool
	until    [laneKinds]time.Time // no lane of the kind is tried before this time
	failures [laneKinds]int       // failed attempts to open a lane, in a row
	hung     [laneKinds]int       // attempts that hung, in a row
	freed    chan struct{}        // closed when a lane is free; nil if no request waits
}

// askedLane returns the endpoint for a request of a client that a legacy server can ask, and the function to call after
// the reply. It returns nil if the request needs no such lane. A server that speaks both eras also gets a lane for a
// legacy client. Outside a session it may be unable to ask, as with all servers of the SDK that call Elicit.
func (m *member) askedLane(ctx context.Context, base *Endpoint, r Message) (e *Endpoint, leave func(), err error) {
	c := ClientOf(ctx)
	capabilities, dual := m.declares(ctx, base)
	if capabilities == "" {
		return nil, nil, nil
	}
	caller, how, ended := r.Caller, besideOthers, func(bool) {}
	key := laneKey{caller: caller, session: c.Session, capabilities: capabilities}
	switch {
	case key.session != "":
	case c.listing:
		key.session = listSession // a question here belongs to no client, so no call may use this lane
	case c.LogLevel != "" && r.Method == protocol.MethodToolsCall: // log messages do not name their request either
		how = byItself
	default:
		how, ended = m.habits.enter(ctx, r.subject)
	}
	defer func() {
		if e == nil {
			ended(false)
		}
	}()
	l, e, err := m.enterLane(ctx, key, how)
	switch {
	case l == nil:
		return nil, nil, err
	case ctx.Err() != nil:
		err = ctx.Err()
	case dual && isModernAlone(base, e, err):
		m.fleet.opts.Logger.Debug("the server takes no initialize", "server", m.server.ID, "err", err)
		m.lanes.giveUp(l, askedLane, math.MaxInt64)
		return nil, nil, nil
	case err != nil:
		m.fleet.opts.Logger.Warn("a client cannot be asked: its connection failed, and another serves it", "server", m.server.ID, "caller", caller, "err", err)
		m.lanes.giveUp(l, askedLane, m.lanes.pause(askedLane, err, withoutLanes))
		return nil, nil, nil
	default:
		err = m.setLevel(ctx, l, e, c.LogLevel)
	}
	if err != nil {
		m.lanes.leave(l)
		return nil, nil, err
	}
	return e, func() { ended(true); m.lanes.leave(l) }, nil
}

// declares returns the capabilities that a connection for the client of ctx declares, if the client can only be asked
// there. It returns "" if the client cannot be asked, or needs no such connection. dual reports that the server speaks
// both eras.
func (m *member) declares(ctx context.Context, base *Endpoint) (capabilities string, dual bool) {
	c := ClientOf(ctx)
	if c == nil || c.Back == nil || len(c.Capabilities) <= len(`{}`) || m.fleet.opts.Lanes < 0 {
		return "", false
	}
	shake := base.handshake()
	dual = m.mayBeDual(shake, c.Era)
	declared := c.declaredTo(Legacy)
	if shake.Era != Legacy && !dual || !protocol.AcceptsRequests(declared) || !m.lanes.due(askedLane) {
		return "", false
	}
	return string(declared), dual
}

// mayBeDual reports whether a modern server may also accept initialize, for a legacy client. Some servers of the
// TypeScript SDK accept it although they name only the modern revision in server/discover. So it is tried once.
func (m *member) mayBeDual(shake conn.Handshake, client Era) bool {
	return shake.Era == Modern && m.server.Era == "" && client == Legacy
}

// isModernAlone reports whether a server can ask only in the modern era, after a lane tried the legacy era. Such a
// server rejects initialize and does not list a legacy revision, or it asks nothing in the legacy era.
func isModernAlone(base, own *Endpoint, err error) bool {
	if err != nil {
		return !base.handshake().Dual
	}
	return own.Era() != Legacy || !own.handshake().Asks
}

// enterLane takes an open lane. If the lane has just lost its connection, enterLane takes another. If a lane could not
// be opened, it is returned with the error.
func (m *member) enterLane(ctx context.Context, key laneKey, how sharing) (l *lane, e *Endpoint, err error) {
	for tries := 3; ; tries-- {
		if l, err = m.lanes.enter(ctx, key, how); err != nil {
			return nil, nil, err
		}
		if e, err = m.openLane(ctx, l); err == nil {
			m.lanes.hold(l, ClientOf(ctx))
		}
		if err == nil || e == nil || e.Era() == "" || ctx.Err() != nil || tries == 1 {
			return l, e, err
		}
		m.lanes.leave(l) // it was open, so its end does not predict the next attempt
	}
}

// openLane connects a lane, or waits until another request has.
func (m *member) openLane(ctx context.Context, l *lane) (*Endpoint, error) {
	l.start.Do(func() {
		e := m.newLane(l.key)
		if c := ClientOf(ctx); l.key.session != "" || l.key.kind == principalLane && l.key.capabilities != "" {
			e.talks.expect(l.key.caller, c)
		}
		m.lanes.started(l, e)
	})
	e := m.lanes.endpointOf(l)
	if e == nil {
		return nil, m.refusal("", "not connected")
	}
	e.configure(m.state.Load().config)
	if base := m.state.Load().endpoint.handshake(); l.key.capabilities != "" && base.Era == Modern && !base.Dual {
		soon, cancel := context.WithTimeout(ctx, initializeWait)
		defer cancel()
		ctx = soon
	}
	return e, e.Open(ctx)
}

// newLane makes the endpoint of a lane. A change of the tools on one lane counts as a change for all clients.
func (m *member) newLane(key laneKey) *Endpoint {
	config, base := m.state.Load().config, m.state.Load().endpoint
	opts := m.endpointOptions(config)
	whose := toolbox.Principal("")
	if m.isPerPrincipal() {
		whose = key.caller
		opts.Logger = opts.Logger.With("caller", whose)
		opts.Principal, opts.gap = whose, func() { m.fleet.subscriptions.missed(m.server.ID, &whose) }
	}
	opts.private = key.kind == principalLane
	if key.capabilities != "" {
		opts.Era, opts.Capabilities, opts.Receive, opts.lane = Legacy, []byte(key.capabilities), nil, m.lanes.wake
		opts.habits = &m.habits
	} else {
		opts.Era = cmp.Or(base.Era(), opts.Era)
	}
	opts.outside = func(from Message) {
		if from.Method == protocol.NoteToolsChanged {
			m.state.Load().endpoint.listChanged()
		}
		from.Caller = whose
		m.heard(from)
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
	soon, cancel := context.WithTimeout(ctx, levelWait)
	defer cancel()
	params := append(append([]byte(`{"level":`), wire.Quote(level)...), '}')
	if _, err := e.do(soon, Message{Method: protocol.MethodSetLevel, Params: params, bounded: true}); err != nil {
		m.fleet.opts.Logger.Debug("the level of logs stays as it was", "server", m.server.ID, "caller", l.key.caller, "err", err)
	}
	return ctx.Err()
}

// enter takes a lane. If all permitted lanes are in use, it waits for one. leave must follow.
func (l *lanes) enter(ctx context.Context, key laneKey, how sharing) (taken *lane, err error) {
	err = l.await(ctx, func() (freed <-chan struct{}, err error) {
		taken, freed, err = l.take(key, how)
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

// take returns a lane, or a channel that is closed when one may be free. The error is for a request that does not wait
// so long.
func (l *lanes) take(key laneKey, how sharing) (_ *lane, freed <-chan struct{}, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, NewFault(NotConnected, l.member.server.ID, "not connected: the server was taken out or replaced", nil)
	}
	var free, shared *lane // the lane that was used last
	alike, callers, kin := 0, 0, 0
	for _, o := range slices.Backward(slices.Clone(l.all)) {
		switch {
		case o.key.kind != key.kind:
			continue
		case o.isOver(), o.isCut():
			if l.drop(o); o.users == 0 {
				continue
			}
		case o.gone:
		case o.key == key && key.isShared(), key.kind == principalLane && o.key.caller == key.caller:
			l.use(o)
			return o, nil, nil
		case o.key != key:
		case o.users == 0:
			free = cmp.Or(free, o)
		case !o.alone:
			shared = cmp.Or(shared, o)
		case o.endpoint == nil || !o.endpoint.talks.isHeld(): // otherwise it waits for a person
			alike++
		}
		if kin++; o.key.caller == key.caller {
			callers++
		}
	}
	if how == onTrial && free == nil && shared != nil && alike > 0 {
		how = besideOthers
	}
	if how == besideOthers {
		free = cmp.Or(shared, free)
	}
	if free != nil {
		free.alone = how != besideOthers
		l.use(free)
		return free, nil, nil
	}
	if key.kind == principalLane {
		if most := cmp.Or(l.member.state.Load().config.pool.MaxPrincipals, defaultMaxPrincipals); kin >= most && !l.makeRoom(key, false) {
			return l.busy("%d principals have a connection in use, which is its maxPrincipals, and none was free", kin)
		}
	} else {
		if most := l.member.fleet.opts.Lanes; how == byItself && key.session == "" && alike >= most {
			return l.busy("%d calls of this client, in which it can be asked, are in flight there, and none ended", most)
		}
		if (callers >= maxCallerLanes || kin >= maxLanes) && !l.makeRoom(key, callers >= maxCallerLanes) {
			return l.busy("%d connections for clients that it can ask are in use, and none was free", kin)
		}
	}
	o := &lane{key: key, alone: how != besideOthers}
	l.all = append(l.all, o)
	l.use(o)
	return o, nil, nil
}

// busy returns the result of take if all lanes are in use. Call it with mu held.
func (l *lanes) busy(why string, n int) (*lane, <-chan struct{}, error) {
	return nil, l.untilFreed(), NewFault(Timeout, l.member.server.ID, "busy", newBusyError(why+" within %v", n, l.member.queueWait()))
}

// untilFreed returns a channel that is closed when a lane may be free. Call it with mu held.
func (l *lanes) untilFreed() <-chan struct{} {
	if l.freed == nil {
		l.freed = make(chan struct{})
	}
	return l.freed
}

// use records that a request is on a lane. Call it with mu held.
func (l *lanes) use(o *lane) {
	o.users++
	l.busyAgain(o)
	i := slices.Index(l.all, o)
	l.all = append(slices.Delete(l.all, i, i+1), o)
}

// makeRoom closes the lane of a key's kind that has been unused for the longest time, among the lanes of its caller or
// of all. It reports whether there was one. A lane that a live session holds comes last. Call it with mu held.
func (l *lanes) makeRoom(key laneKey, own bool) bool {
	for _, held := range [...]bool{false, true} {
		for _, o := range l.all {
			if o.users == 0 && len(o.held) > 0 == held && o.key.kind == key.kind && (!own || o.key.caller == key.caller) {
				l.drop(o)
				return true
			}
		}
	}
	return false
}

// retime restarts the timers of unused lanes after a change of the configuration.
func (l *lanes) retime() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.all {
		if o.users == 0 && !o.gone && !l.closed {
			l.busyAgain(o)
			l.rest(o)
		}
	}
}

// busyAgain stops the timer that closes a lane. Call it with mu held.
func (l *lanes) busyAgain(o *lane) {
	if o.idle != nil && o.idle.Stop() {
		l.closing.Done()
	}
	o.idle = nil
}

// leave records that a request on a lane has ended.
func (l *lanes) leave(o *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o.users--
	l.woken()
	switch {
	case o.users > 0 || l.closed || o == &l.base:
		return
	case o.gone, o.endpoint == nil, o.isOver(), o.isCut():
		l.drop(o)
		return
	}
	o.alone = false
	if o.failed.IsZero() {
		l.failures[o.key.kind], l.hung[o.key.kind] = 0, 0
	}
	l.rest(o)
}

// rest starts the timer that closes an unused lane, unless a live session holds the lane. Call it with mu held.
func (l *lanes) rest(o *lane) {
	idle := failureMemory
	if o.failed.IsZero() {
		idle = l.member.laneIdle(o)
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
		if o.idle == timer && !l.closed {
			o.idle = nil
			l.drop(o)
		}
	})
	o.idle = timer
}

// wake makes requests that wait for a lane check again.
func (l *lanes) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.woken()
}

// woken is wake with mu held.
func (l *lanes) woken() {
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

// giveUp leaves a lane that cannot be used. No other lane of the kind is tried for a while.
func (l *lanes) giveUp(o *lane, kind laneKind, d time.Duration) {
	l.mu.Lock()
	if l.until[kind] = time.Now().Add(d); !l.closed {
		l.drop(o)
	}
	l.mu.Unlock()
	l.leave(o)
}

// pause returns how long no lane of a kind is tried after a failure. The pause doubles up to most, because a server
// that crashed may start at the next attempt. A server that hangs delays calls until the connect deadline. So its pause
// starts at most, and doubles with each further attempt, up to maxWithout.
func (l *lanes) pause(kind laneKind, err error, most time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, Timeout) {
		if !l.isDue(kind) { // other attempts have failed with it
			return time.Until(l.until[kind])
		}
		l.hung[kind]++
		return min(most<<min(l.hung[kind]-1, 10), maxWithout)
	}
	l.failures[kind]++
	return min(firstWithout<<min(l.failures[kind]-1, 10), most)
}

// due reports whether lanes of a kind may be tried.
func (l *lanes) due(kind laneKind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isDue(kind)
}

// isDue is due with mu held.
func (l *lanes) isDue(kind laneKind) bool { return !time.Now().Before(l.until[kind]) }

// drop closes a lane to new requests, and closes its connection once no request uses it. Until then the lane counts,
// and close ends it with the others. Call it with mu held.
func (l *lanes) drop(o *lane) {
	o.gone = true
	if l.busyAgain(o); o.users == 0 {
		l.all = slices.DeleteFunc(l.all, func(other *lane) bool { return other == o })
		l.end(o)
	}
}

// end closes a lane's connection. Call it with mu held.
func (l *lanes) end(o *lane) {
	for _, unwatch := range o.held {
		unwatch()
	}
	if o.endpoint != nil {
		l.closing.Go(o.endpoint.Close)
	}
}

// started sets the endpoint of a lane, unless the lanes are closed.
func (l *lanes) started(o *lane, e *Endpoint) {
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
		l.busyAgain(o)
		l.end(o)
	}
	l.all = nil
	l.woken()
	l.mu.Unlock()
	l.closing.Wait()
}
