package interop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/lane"
	"github.com/indusagi/indus/interop/internal/listing"
	"github.com/indusagi/indus/interop/internal/payload"
	"github.com/indusagi/indus/toolbox"
)

// member is one server of a [Fleet]. It has one endpoint at a time, which its supervisor (supervisor.go) connects,
// lists and replaces.
type member struct {
	fleet       *Fleet
	server      config.Server   // the way to reach it; state.config has the current settings
	ctx         context.Context // ends when the member is retired
	cancel      context.CancelFunc
	supervising sync.WaitGroup
	lanes       lane.Table
	tasks       payload.Tasks
	callerTurns lane.Turns // of requests, at most FleetOptions.MaxCalls for each caller
	workTurns   lane.Turns // of the requests that count for Pool.MaxConcurrent
	habits      lane.Habits
	closed      chan struct{} // closed when it has left the fleet and everything in it has ended

	// state is replaced with Fleet.mu held, by [member.update] and similar methods. It is read without a lock.
	state atomic.Pointer[state]

	// The fields below are guarded by Fleet.mu.
	replaces  *member                    // serves until this member has settled; this member is invisible until then
	announced bool                       // its ServerAdded was reported, and its ServerRemoved was not
	deferred  []Event                    // events from before it was visible
	inherits  bool                       // its list came from an earlier member
	drain     time.Duration              // how long calls in flight have at the end
	learning  map[Declared]chan struct{} // the running requests for variants; each channel is closed at the end

	// The fields below belong to the supervisor once it runs.
	era          Era               // the era that the server spoke last, or may speak; "" if it is not known
	silent       bool              // the last connection was made without an answer about the era
	predecessors []<-chan struct{} // closed when earlier members of this id have ended; it begins after them
	retryNow     chan struct{}     // receives a value when another attempt should start now
	drained      <-chan struct{}   // closed when an earlier member's last calls have ended; then it tries again
}

// state holds everything that the fleet knows of a member at one moment. It is immutable.
type state struct {
	config       *config.Server // member.server, with the settings that were applied last
	endpoint     *Endpoint
	list         *listing.List // the published list; nil if there is none
	variants     variants      // known lists for clients that declare something
	changes      uint64        // how often the variants may have changed
	settled      bool          // it was listed once, or it failed
	up           bool          // it is connected, and it was listed or its listing failed
	trying       bool          // it is up or idle, or an attempt is running or will follow
	idle         bool          // it is not connected until a request needs it; it is settled, and has a list
	retired      bool          // it has left the fleet: this is its last state
	retry        time.Time     // when the next attempt begins; in the past if it has begun, or there is none
	connectFault *Fault        // why the last connection or attempt failed; nil if none failed, or it is up
	listFault    *Fault        // why list is out of date; nil if it is current
	withdrawal   *time.Timer   // withdraws the tools of a lost server; nil if there are none to withdraw
	successor    *member       // connects to take its place; nil if there is none
	changed      chan struct{} // closed when there is a newer state
}

// newMember makes a member without a running supervisor. It calls the fleet's options, so no lock may be held.
func newMember(f *Fleet, server config.Server) *member {
	m := &member{fleet: f, server: server.Clone(), closed: make(chan struct{}), retryNow: make(chan struct{}, 1)}
	m.learning = map[Declared]chan struct{}{}
	m.lanes.Options, m.callerTurns.Waits, m.workTurns.Waits = m.laneOptions(), f.opts.Waits, f.opts.Waits
	m.ctx, m.cancel = context.WithCancel(context.Background())
	var known []toolbox.Wire
	if f.opts.Known != nil {
		known = f.opts.Known(server.ID)
	}
	// A second probe may delay the start of a process by seconds, or end the process. For a URL it
	// costs nothing.
	if _, ok := server.Transport.(config.Stdio); ok && len(known) > 0 && known[0].Format == protocol.FormatLegacy {
		m.era = Legacy
	}
	s := state{config: &m.server, trying: true, changed: make(chan struct{})}
	s.endpoint = m.newEndpoint(s.config, false)
	s.list = s.endpoint.knownListing(known)
	m.state.Store(&s)
	return m
}

// learnEra notes the era of a connection for the next one. If the server was silent when it was asked for its era, the
// next connection asks once more: it may only have been slow.
func (m *member) learnEra(e *Endpoint) {
	h := e.handshake()
	m.era = h.Era
	if h.Unprobed && !m.silent {
		m.era = ""
	}
	m.silent = h.Unprobed
}

// newEndpoint makes the member's next endpoint. It starts with the era of the last connection, unless that is
// unsure.
func (m *member) newEndpoint(current *config.Server, unsure bool) *Endpoint {
	opts := m.endpointOptions(current)
	switch {
	case unsure:
		opts.Era = ""
	case m.era != "": // newer than the era in the options
		opts.Era = m.era
	}
	if m.isPerPrincipal() {
		opts.Principal = config.AnyPrincipal
	}
	opts.stale = make(chan struct{}, 1)
	opts.broadcast = m.handleNotification
	opts.updatesLost = func() { m.fleet.subscriptions.reportGap(m.server.ID, nil) }
	e := NewEndpoint(m.server, &opts)
	e.configure(current)
	return e
}

// endpointOptions returns the options of a new connection.
func (m *member) endpointOptions(current *config.Server) (opts EndpointOptions) {
	if m.fleet.opts.Endpoint != nil {
		if o := m.fleet.opts.Endpoint(*current); o != nil {
			opts = *o
		}
	}
	opts.Logger, opts.Memory = cmp.Or(opts.Logger, m.fleet.opts.Logger), cmp.Or(opts.Memory, m.fleet.opts.Memory)
	opts.retired = m.ctx
	opts.onResult, opts.findTool = m.recordTasks, m.findTool
	return opts
}

// handleNotification handles a server's messages outside of requests and passes them to all clients. A message without
// a clear receiver may be meant for one caller alone, and is dropped. If each principal has its own connection,
// from.Caller is the principal of the connection.
func (m *member) handleNotification(from Message) {
	switch from.Method {
	case protocol.NoteResourceUpdated:
		m.fleet.subscriptions.dispatch(from)
	case protocol.NoteToolsChanged:
		m.update(func(s *state) []EventKind { s.changes++; return nil })
	}
	isTask := strings.HasPrefix(from.Method, "notifications/tasks")
	if isTask {
		m.tasks.Record(from.Params)
	}
	switch {
	case !isTask && !conn.ConcernsAll(from.Method):
		m.fleet.opts.Logger.Debug("a notification without a receiver is dropped",
			"server", m.server.ID, "method", protocol.Printable(from.Method, 80))
	case m.fleet.opts.Notify != nil:
		m.fleet.opts.Notify(m.server.ID, from)
	}
}

// update changes the state of the member. set edits a copy of the state and returns the events to report. Every
// event of a server changes the state in this way. A retired member does not change any more.
func (m *member) update(set func(*state) []EventKind) {
	f := m.fleet
	f.mu.Lock()
	old := m.state.Load()
	if old.retired {
		f.mu.Unlock()
		return
	}
	next := *old
	if m.replaces != nil { // the list to publish if it takes the place now and set provides no other
		next.list = m.inheritedList(m.replaces)
	}
	kinds := set(&next)
	promoted := m.replaces != nil && next.settled
	changed := !next.list.Equal(old.list) || next.settled != old.settled || next.isDown() != old.isDown()
	mustNotify := promoted || m.replaces == nil && changed
	f.view.Store(nil) // before publish, because callers that waited for the state read the view next, without a lock
	m.publish(&next)
	if promoted {
		f.promote(m)
	}
	for _, kind := range kinds {
		m.report(kind)
	}
	f.mu.Unlock()
	if mustNotify {
		f.watchers.Notify()
	}
}

// publish makes next the state. Call it with Fleet.mu held.
func (m *member) publish(next *state) {
	old := m.state.Load()
	next.changed = make(chan struct{})
	m.state.Store(next)
	close(old.changed)
}

// report reports an event, or keeps it until the member is visible. Call it with Fleet.mu held.
func (m *member) report(kind EventKind) {
	e := Event{Kind: kind, Server: m.server.ID, Status: m.status()}
	switch s := m.state.Load(); kind {
	case ServerConnecting:
		e.Status.Phase = Connecting // the attempt is about to begin
	case ServerReady, ServerListed:
		if s.listFault == nil {
			e.Quarantined = quarantines(s.list.Rejected)
		}
	}
	if m.replaces != nil {
		m.deferred = append(m.deferred, e)
		return
	}
	m.fleet.events.report(e)
}

// retire makes the member unavailable: no call waits for it any more, and no call begins. Calls in flight have the
// duration drain to end. Call it with Fleet.mu held. close must follow.
func (m *member) retire(drain time.Duration) {
	s := *m.state.Load()
	s.retired, s.up, s.idle, s.trying = true, false, false, false
	m.stopWithdrawal(&s)
	m.publish(&s)
	if calls, _ := s.endpoint.pendingCalls(); calls > 0 { // after publish: see [member.awaitEndpoint]
		m.drain = drain
	}
	m.cancel()
}

// configure applies the settings of a server (see [config.Server.WithSettings]). Call it with Fleet.mu held.
func (m *member) configure(settings config.Server) {
	s := *m.state.Load()
	c := m.server.WithSettings(settings)
	if s.config.Equal(c) {
		return
	}
	s.config, s.list = &c, s.list.WithConfig(&c)
	s.variants = maps.Clone(s.variants)
	for d, v := range s.variants {
		v.list = v.list.WithConfig(&c)
		s.variants[d] = v
	}
	s.endpoint.configure(&c)
	m.publish(&s)
	m.lanes.RestartTimers()
	if s.up {
		m.report(ServerListed)
	}
}

// setSuccessor sets the member's successor. Call it with Fleet.mu held.
func (m *member) setSuccessor(next *member) {
	s := *m.state.Load()
	s.successor = next
	if next != nil {
		next.replaces = m
	}
	m.publish(&s)
}

// inheritedList returns the list of an earlier member, which this member publishes until it has its own. It returns nil
// if there is none.
func (m *member) inheritedList(from *member) *listing.List {
	if m.fleet.opts.Grace <= 0 {
		return nil
	}
	return from.state.Load().list.WithConfig(m.state.Load().config)
}

// inheritList publishes the list of an earlier member. Call it with Fleet.mu held.
func (m *member) inheritList(from *member) {
	if l := m.inheritedList(from); l != nil {
		m.inherits = true
		s := *m.state.Load()
		s.list = l
		m.publish(&s)
	}
}

// startWithdrawal starts the timer that withdraws the tools of a lost server.
func (m *member) startWithdrawal(s *state) {
	var timer *time.Timer
	m.supervising.Add(1)
	timer = time.AfterFunc(m.fleet.opts.Grace, func() {
		defer m.supervising.Done()
		m.update(func(s *state) []EventKind {
			if s.withdrawal != timer {
				return nil // it is up, or lost again
			}
			s.withdrawal, s.list, s.variants = nil, nil, nil
			return []EventKind{ServerWithdrawn}
		})
	})
	s.withdrawal = timer
}

// stopWithdrawal stops the timer of startWithdrawal.
func (m *member) stopWithdrawal(s *state) {
	if s.withdrawal != nil && s.withdrawal.Stop() {
		m.supervising.Done()
	}
	s.withdrawal = nil
}

// serves reports whether the server has tools that can be called now.
func (s *state) serves() bool { return s.up && s.list != nil && s.endpoint.Phase().Usable() }

// isDown reports whether the server was tried and its current tools are not known.
func (s *state) isDown() bool { return s.settled && s.list == nil && (!s.up || s.listFault != nil) }

// holdsTools reports whether the tools are held, because it is not known which of them were approved.
func (m *member) holdsTools() bool {
	return m.fleet.opts.Admit == nil && m.state.Load().config.Changes.Guards()
}

// admits reports whether calls depend on the definitions of their tools: see FleetOptions.Admit.
func (m *member) admits() bool {
	return m.fleet.opts.AdmitAll || m.state.Load().config.Changes.Guards()
}

// mayOwn is [config.Server.MayOwn] with the rules that were applied last.
func (m *member) mayOwn(name string) bool { return m.state.Load().config.MayOwn(name) }

// status returns the endpoint's status, with the number of listed tools, and the fault that explains missing ones.
func (m *member) status() EndpointStatus {
	s := m.state.Load()
	st := s.endpoint.Status()
	st.Tools, st.Replacing = 0, s.successor != nil
	if s.list != nil {
		st.Tools = len(s.list.Tools)
	}
	switch {
	case st.Fault != nil:
	case !s.up:
		st.Fault = s.connectFault
	default:
		st.Fault = s.listFault
	}
	if !s.up && s.trying && s.connectFault != nil {
		st.Retry = s.retry
	}
	return st
}

// awaitEndpoint returns the endpoint for a tool call, and counts the call as begun: [Endpoint.endCall] must follow. It
// waits for a connection as long as the server's tools are listed. If the fleet holds calls, it also waits until
// the server has settled.
func (m *member) awaitEndpoint(ctx context.Context, tool string) (*Endpoint, error) {
	var late <-chan time.Time
	waits := false
	for {
		s := m.state.Load()
		if s.up && s.endpoint.Phase().Usable() && (s.listFault == nil || !m.admits()) {
			s.endpoint.beginCall()
			now := m.state.Load()
			if now == s || now.up && now.endpoint == s.endpoint { // otherwise retire or becomeIdle may have missed it
				return s.endpoint, nil
			}
			s.endpoint.endCall()
			continue
		}
		if s.idle {
			m.wake()
			continue
		}
		if !s.trying || s.list == nil && (s.settled || !m.fleet.opts.Hold) {
			return nil, m.unsentFault(tool, "not connected")
		}
		if !waits {
			waits = true
			defer m.fleet.opts.Waits(ctx)()
		}
		if late == nil {
			if wait := m.server.ConnectTime(); wait > 0 {
				late = time.After(wait)
			}
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late:
			return nil, m.unsentFault(tool, "still not connected")
		}
	}
}

// unsentFault returns the fault of a call that was not sent. It contains why, or that the server is down and for how
// long at least.
func (m *member) unsentFault(tool, why string) *Fault {
	s, fault := m.state.Load(), m.status().Fault
	isDown := s.settled && !s.up && !s.retired && !s.idle && !s.isWaking()
	if isDown && (fault == nil || !fault.NeedsSignIn()) { // waiting does not help with a missing sign-in
		why = "its server is down"
		switch wait := time.Until(s.retry); {
		case wait > 0:
			why += fmt.Sprintf(", and is tried again in %d s", (wait+time.Second-1)/time.Second)
		case s.trying:
			why += ", and is being tried again now"
		}
	}
	f := NewFault(NotConnected, m.server.ID, why, nil)
	if fault != nil {
		f.Message += ": " + strings.TrimPrefix(fault.Message, m.server.ID+": ")
		f.Cause = fault
	}
	f.Tool = tool
	return f
}

// awaitSettled waits until the server was listed once, or failed.
func (m *member) awaitSettled(ctx context.Context) error {
	return m.awaitState(ctx, func(s *state) bool { return s.settled || s.retired })
}

// awaitState waits for a state for which accept returns true, or for the end of ctx.
func (m *member) awaitState(ctx context.Context, accept func(*state) bool) error {
	s := m.state.Load()
	if accept(s) {
		return nil
	}
	defer m.fleet.opts.Waits(ctx)()
	for ; !accept(s); s = m.state.Load() {
		select {
		case <-s.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// awaitConnect calls await with the deadline for connecting, and returns the fault of a server that is not connected by
// then.
func (m *member) awaitConnect(ctx context.Context, await func(context.Context) error) error {
	ctx, cancel := conn.WithDeadline(ctx, m.server.ConnectTime(), 0)
	defer cancel()
	if await(ctx) != nil {
		return NewFault(NotConnected, m.server.ID, "not connected", context.Cause(ctx))
	}
	return nil
}

// awaitListed returns the reason why a server's tools are not known, or nil if they are. If the fleet holds calls, it
// first waits until the server has settled.
func (m *member) awaitListed(ctx context.Context) error {
	if m.fleet.opts.Hold {
		if err := m.awaitConnect(ctx, m.awaitSettled); err != nil {
			return err
		}
	}
	if err := m.awaitFullList(ctx); err != nil {
		return err
	}
	s := m.state.Load()
	switch fault := m.status().Fault; {
	case s.idle, s.isWaking():
		return nil // its list stays
	case !s.up:
		return m.unsentFault("", "not connected")
	case s.list == nil && fault != nil:
		return fault // its tools are not known
	}
	return nil
}

// recordTasks records tasks from the results of requests, if the server can become idle.
func (m *member) recordTasks(method string, result json.RawMessage) {
	if method != protocol.MethodToolsCall && !strings.HasPrefix(method, "tasks/") {
		return
	}
	if _, after := m.idleSettings(m.state.Load().config); after > 0 {
		m.tasks.Record(result)
	}
}
