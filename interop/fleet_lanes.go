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
	// maxLanes bounds the lanes of one server, each of which may be a process, and
	// maxCallerLanes those of one principal, so that nobody uses up what others need.
	maxLanes       = 256
	maxCallerLanes = 64
	// withoutLanes is for how long at most the shared connection serves instead of one that could not be
	// opened: many servers never ask, and some cannot run twice.
	withoutLanes = time.Minute
	// firstWithout is the first of those pauses; see [lanes.pause].
	firstWithout = time.Second
	// maxWithout is the last of those of a server that hangs.
	maxWithout = time.Hour
	// initializeWait bounds the attempt of a legacy connection to a server that may have none, for which a call waits.
	initializeWait = 10 * time.Second
	// levelWait bounds logging/setLevel, for which a call waits.
	levelWait = 5 * time.Second
)

// lane is one more connection to a server: for the calls of all ([Pool].Instances), for one principal
// ([PerPrincipal]), or to a legacy server, on which we declare what one client does.
// That is said once, in initialize: the fleet's own connection, which all share, declares nothing.
//
// A lane of a session serves all its requests. Clients of one principal without a session may be several programs, and over stdio
// a question does not name its request. So a request that is known to ask has a lane alone, and the others share one (see
// [habits]). A lane that has left a request without an answer serves no other request: what its server asks late would
// be taken for a question of the next.
type lane struct {
	key   laneKey
	start sync.Once

	// Guarded by lanes.mu.
	endpoint *Endpoint // nil before start
	users    int
	alone    bool        // its request shares it with no other
	asking   int         // of a principal's: requests that are known to ask
	asker    string      // and whose session's they are; "": one request without a session
	gone     bool        // it is closed to new requests
	idle     *time.Timer // ends it; nil: it is in use, or gone
	level    string      // of logging/setLevel; "": none was asked for
	failed   time.Time   // when a principal's could not be opened; zero: it could
	// held has the live sessions that use the connection, which may hold state for them, and functions that end the watch of
	// [Client].Life.
	held map[string]func() bool
}

type laneKey struct {
	kind         laneKind
	caller       toolbox.Principal
	session      string // "": none
	capabilities string
}

// laneKind is what a lane is for.
type laneKind byte

const (
	askedLane     laneKind = iota // a client that can be asked
	principalLane                 // a principal, which shares no connection
	instanceLane                  // all whom the first process of a pool keeps waiting
	laneKinds
)

// isShared reports whether a lane serves any number of requests at a time, whatever they are.
func (k laneKey) isShared() bool { return k.kind != askedLane || k.session != "" }

// isCut reports whether a lane serves no other request because of one that was left without an answer. Call it with lanes.mu held.
func (o *lane) isCut() bool {
	return !o.key.isShared() && o.endpoint != nil && o.endpoint.talks.wereCut()
}

// isOver reports whether a lane's connection has ended, and is not remembered to have failed. Call it with lanes.mu held.
func (o *lane) isOver() bool {
	return o.endpoint != nil && o.endpoint.Phase().Terminal() && time.Since(o.failed) >= failureMemory
}

// lanes are those of one member.
type lanes struct {
	member  *member
	closing sync.WaitGroup // what ends, and timers

	mu       sync.Mutex
	base     lane    // the member's own connection: only its users count
	all      []*lane // the one that was taken last is the last
	closed   bool
	until    [laneKinds]time.Time // none is tried before
	failures [laneKinds]int       // how many could not be opened, one after the other
	hung     [laneKinds]int       // how often one hung, likewise
	freed    chan struct{}        // closed when a lane is free; nil: nobody waits
}

// askedLane is the endpoint that a request of ctx's client goes out on where it can be asked and the server
// is legacy, and what is to be called when it has its answer; nil: it needs none of its own. So is a server that
// speaks both eras to a legacy client: what it asks in a session it may not be able to ask otherwise, as with all servers
// of the SDK's that call Elicit.
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
		key.session = listSession // what it asks is nobody's: no call is to come upon that
	case c.LogLevel != "" && r.Method == protocol.MethodToolsCall: // nor do logs name their request
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

// declares is what a connection of ctx's client's declares to the server, where it can be asked there and nowhere else; "": it
// cannot, or needs none. dual: the server speaks both eras.
func (m *member) declares(ctx context.Context, base *Endpoint) (capabilities string, dual bool) {
	c := ClientOf(ctx)
	if c == nil || c.Back == nil || len(c.Capabilities) <= len(`{}`) || m.fleet.opts.Lanes < 0 {
		return "", false
	}
	shake := base.handshake()
	dual = m.mayBeDual(shake, c.Era)
	declared := c.declaredTo(Legacy)
	if shake.Era != Legacy && !dual || !protocol.CanBeAsked(declared) || !m.lanes.due(askedLane) {
		return "", false
	}
	return string(declared), dual
}

// mayBeDual reports whether a modern server may also take initialize, for a legacy client. Those of the TypeScript SDK do which
// name only the modern revision in server/discover: it is tried once.
func (m *member) mayBeDual(shake conn.Handshake, client Era) bool {
	return shake.Era == Modern && m.server.Era == "" && client == Legacy
}

// isModernAlone reports whether a server that was tried as a legacy one, on a lane, has none but the modern way to ask:
// it does not take initialize, nor say that it speaks a legacy revision, or what it then is asks nothing.
func isModernAlone(base, own *Endpoint, err error) bool {
	if err != nil {
		return !base.handshake().Dual
	}
	return own.Era() != Legacy || !own.handshake().Asks
}

// enterLane takes a lane that is open, another one where it has just died. A lane that could not
// be opened comes with the reason.
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
		m.lanes.leave(l) // it was open: its end says nothing of the next
	}
}

// openLane connects a lane, or waits until somebody has.
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

// newLane makes the endpoint of a lane. What tools change for one changes for all.
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

// setLevel asks the server for log messages as the client wants them.
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

// enter takes a lane, and waits for one where all that there may be are in use; leave must
// follow.
func (l *lanes) enter(ctx context.Context, key laneKey, how sharing) (taken *lane, err error) {
	err = l.await(ctx, func() (freed <-chan struct{}, err error) {
		taken, freed, err = l.take(key, how)
		return freed, err
	})
	return taken, err
}

// await calls try until it gives nothing to wait for, each time when that is closed. It waits as long as a request
// waits for its turn, and then returns the error of try.
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

// take is a lane, or what is closed when there may be one, with the error of who does not wait so long.
func (l *lanes) take(key laneKey, how sharing) (_ *lane, freed <-chan struct{}, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, NewFault(NotConnected, l.member.server.ID, "not connected: the server was taken out or replaced", nil)
	}
	var free, shared *lane // the one that was used last
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
		case o.endpoint == nil || !o.endpoint.talks.isHeld(): // else it waits for a person
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

// busy is take where all lanes are in use. Call it with mu held.
func (l *lanes) busy(why string, n int) (*lane, <-chan struct{}, error) {
	return nil, l.untilFreed(), NewFault(Timeout, l.member.server.ID, "busy", newBusyError(why+" within %v", n, l.member.queueWait()))
}

// untilFreed is closed when a lane may be free. Call it with mu held.
func (l *lanes) untilFreed() <-chan struct{} {
	if l.freed == nil {
		l.freed = make(chan struct{})
	}
	return l.freed
}

// use notes that a request is on a lane. Call it with mu held.
func (l *lanes) use(o *lane) {
	o.users++
	l.busyAgain(o)
	i := slices.Index(l.all, o)
	l.all = append(slices.Delete(l.all, i, i+1), o)
}

// makeRoom ends the lane of a key's kind that has been without a request for the longest time, of its caller or of all,
// and reports whether there is one. A lane that a live session holds comes last. Call it with mu held.
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

// retime starts the timers of lanes without requests again: the configuration says something else now.
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

// busyAgain stops the timer that ends a lane. Call it with mu held.
func (l *lanes) busyAgain(o *lane) {
	if o.idle != nil && o.idle.Stop() {
		l.closing.Done()
	}
	o.idle = nil
}

// leave notes that a request on a lane has ended.
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

// rest starts the timer that ends a lane without requests, unless a live session holds the lane. Call it with mu held.
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

// wake has those who wait for a lane look again.
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

// giveUp leaves a lane that is of no use, and tries no other of a kind for a while.
func (l *lanes) giveUp(o *lane, kind laneKind, d time.Duration) {
	l.mu.Lock()
	if l.until[kind] = time.Now().Add(d); !l.closed {
		l.drop(o)
	}
	l.mu.Unlock()
	l.leave(o)
}

// pause is for how long no lane of a kind is tried after one that failed: it doubles up to most, because a server that
// crashed then may well start now. One that hangs holds calls up for as long as it may take to connect: it gets all of it, and
// twice as much with each further attempt, up to maxWithout.
func (l *lanes) pause(kind laneKind, err error, most time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, Timeout) {
		if !l.isDue(kind) { // others have failed with it
			return time.Until(l.until[kind])
		}
		l.hung[kind]++
		return min(most<<min(l.hung[kind]-1, 10), maxWithout)
	}
	l.failures[kind]++
	return min(firstWithout<<min(l.failures[kind]-1, 10), most)
}

// due reports whether lanes of a kind are worth a try.
func (l *lanes) due(kind laneKind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isDue(kind)
}

// isDue is due with mu held.
func (l *lanes) isDue(kind laneKind) bool { return !time.Now().Before(l.until[kind]) }

// drop has nobody take a lane any more, and ends it when nobody uses it: until then it counts, and
// close ends it with the others. Call it with mu held.
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

// started gives a lane its endpoint, unless the member is over.
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

// close ends all lanes, in parallel, whoever uses them, and waits for them.
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
