package interop

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/toolbox"
)

// member is one server of a [Fleet]: it has one endpoint after the other, which its
// supervisor (supervisor.go) connects, lists and replaces.
type member struct {
	fleet       *Fleet
	server      Server          // how it is reached; state.config says what becomes of its tools
	ctx         context.Context // ends when the member is retired
	cancel      context.CancelFunc
	supervising sync.WaitGroup
	lanes       lanes
	tasks       tasks
	callers     turns // of requests, at most FleetOptions.MaxCalls of each
	working     turns // of those, what counts for Pool.MaxConcurrent
	habits      habits
	closed      chan struct{} // closed when it has left the fleet and all of it has ended

	// state is replaced with Fleet.mu held, by [member.update] and its like, and read by everyone.
	state atomic.Pointer[state]

	// Guarded by Fleet.mu.
	replaces  *member                    // serves until this one has settled; nobody sees this one before
	announced bool                       // its ServerAdded was reported, and no ServerRemoved
	deferred  []Event                    // what happened while nobody saw it
	inherits  bool                       // what it lists was an earlier member's
	drain     time.Duration              // how long calls in flight have at the end
	learning  map[Declared]chan struct{} // the variants that are asked for, each until its channel is closed

	// The supervisor's own, once it runs.
	era     Era               // what the server spoke last, or may; "": not known
	waitFor []<-chan struct{} // earlier members of this id, which may hold a port or a lock: closed before it begins
	hurry   chan struct{}     // gets a value when another attempt is worth it now
	beside  <-chan struct{}   // an earlier member that still has calls in flight: when it is closed, it is worth another attempt
}

// state is all that the fleet knows of a member at one moment. It is immutable.
type state struct {
	config       *toolConfig // what the configuration makes of its tools
	endpoint     *Endpoint
	list         *listing      // what is published; nil: nothing
	variants     variants      // what is listed to clients that declare something, as far as it is known
	changes      uint64        // how often the variants may have become others
	settled      bool          // it was listed once, or it failed
	up           bool          // it is connected, and listed or its listing failed
	trying       bool          // it is up or idle, or an attempt is under way or will be made
	idle         bool          // it is not connected until somebody needs it; it is settled, and has a list
	retired      bool          // it has left the fleet: this is its last state
	retry        time.Time     // when the next attempt begins; in the past: it has, or there is none
	connectFault *Fault        // why the last connection or attempt failed; nil: none did, or it is up
	listFault    *Fault        // why list is not what the server has now; nil: it is
	withdrawal   *time.Timer   // withdraws the tools of a lost server; nil: nothing is to be withdrawn
	successor    *member       // is being connected to take its place; nil: none
	changed      chan struct{} // closed when there is a newer state
}

// newMember makes a member that nobody supervises yet. It calls the fleet's options: no
// lock may be held.
func newMember(f *Fleet, server Server) *member {
	m := &member{fleet: f, server: server.clone(), closed: make(chan struct{}), hurry: make(chan struct{}, 1)}
	m.learning = map[Declared]chan struct{}{}
	m.lanes.member = m
	m.ctx, m.cancel = context.WithCancel(context.Background())
	var known []toolbox.Wire
	if f.opts.Known != nil {
		known = f.opts.Known(server.ID)
	}
	// To probe a process again may cost it seconds, or its life; to probe a URL costs nothing.
	if _, ok := server.Transport.(Stdio); ok && len(known) > 0 && known[0].Format == protocol.FormatLegacy {
		m.era = Legacy
	}
	s := state{config: toolConfigOf(m.server), trying: true, changed: make(chan struct{})}
	s.endpoint = m.newEndpoint(s.config, false)
	s.list = s.endpoint.remembered(known)
	m.state.Store(&s)
	return m
}

// newEndpoint makes the member's next endpoint, which begins with the era that the server
// spoke last, unless that is unsure.
func (m *member) newEndpoint(config *toolConfig, unsure bool) *Endpoint {
	opts := m.endpointOptions(config)
	switch {
	case unsure:
		opts.Era = ""
	case m.era != "": // newer than what the options know
		opts.Era = m.era
	}
	if m.isPerPrincipal() {
		opts.Principal = AnyPrincipal
	}
	opts.stale = make(chan struct{}, 1)
	opts.outside, opts.gap = m.heard, func() { m.fleet.subscriptions.missed(m.server.ID, nil) }
	e := NewEndpoint(m.server, &opts)
	e.configure(config)
	return e
}

// endpointOptions is the options of a new connection.
func (m *member) endpointOptions(config *toolConfig) (opts EndpointOptions) {
	if m.fleet.opts.Endpoint != nil {
		if o := m.fleet.opts.Endpoint(config.of(m.server)); o != nil {
			opts = *o
		}
	}
	opts.Logger, opts.Memory = cmp.Or(opts.Logger, m.fleet.opts.Logger), cmp.Or(opts.Memory, m.fleet.opts.Memory)
	opts.retired, opts.result, opts.named = m.ctx, m.answered, m.toolNamed
	return opts
}

// heard takes what the server says outside of requests, which is told to everybody: what
// nobody can say for whom it is may be one caller's alone, and is dropped. from.Caller is whose connection said it,
// where each principal has one.
func (m *member) heard(from Message) {
	switch from.Method {
	case protocol.NoteResourceUpdated:
		m.fleet.subscriptions.updated(from)
	case protocol.NoteToolsChanged:
		m.update(func(s *state) []EventKind { s.changes++; return nil })
	}
	if strings.HasPrefix(from.Method, "notifications/tasks") {
		m.tasks.heard(from.Params)
	}
	switch told := conn.ConcernsAll(from.Method) || strings.HasPrefix(from.Method, "notifications/tasks"); {
	case !told:
		m.fleet.opts.Logger.Debug("a notification for nobody is dropped", "server", m.server.ID, "method", protocol.Printable(from.Method, 80))
	case m.fleet.opts.Notify != nil:
		m.fleet.opts.Notify(m.server.ID, from)
	}
}

// update gives the member another state: set edits a copy of it, and returns what to
// report. It is the one way in which what happens to a server changes its state. A
// retired member changes no more.
func (m *member) update(set func(*state) []EventKind) {
	f := m.fleet
	f.mu.Lock()
	old := m.state.Load()
	if old.retired {
		f.mu.Unlock()
		return
	}
	next := *old
	if m.replaces != nil { // what it publishes if it takes the place now, and set gives it nothing else
		next.list = m.inherited(m.replaces)
	}
	kinds := set(&next)
	promoted := m.replaces != nil && next.settled
	fresh := promoted || m.replaces == nil && (!next.list.same(old.list) || next.settled != old.settled || next.isDown() != old.isDown())
	f.view.Store(nil) // before publish, because who waited for the state looks there next, without a lock
	m.publish(&next)
	if promoted {
		f.promote(m)
	}
	for _, kind := range kinds {
		m.report(kind)
	}
	f.mu.Unlock()
	if fresh {
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

// report reports what has happened, or keeps it until the member is seen. Call it with
// Fleet.mu held.
func (m *member) report(kind EventKind) {
	e := Event{Kind: kind, Server: m.server.ID, Status: m.status()}
	switch s := m.state.Load(); kind {
	case ServerConnecting:
		e.Status.Phase = Connecting // it is about to be
	case ServerReady, ServerListed:
		if s.listFault == nil {
			e.Quarantined = s.list.rejected
		}
	}
	if m.replaces != nil {
		m.deferred = append(m.deferred, e)
		return
	}
	m.fleet.events.report(e)
}

// retire ends the member as far as anybody can see: nobody waits for it any more, and no
// call begins. Those in flight have drain to end. Call it with Fleet.mu held; close must
// follow.
func (m *member) retire(drain time.Duration) {
	s := *m.state.Load()
	s.retired, s.up, s.idle, s.trying = true, false, false, false
	m.keepList(&s)
	m.publish(&s)
	if calls, _ := s.endpoint.busy(); calls > 0 { // after publish: see [member.connected]
		m.drain = drain
	}
	m.cancel()
}

// configure gives the member another configuration of its tools. Call it with Fleet.mu
// held.
func (m *member) configure(c *toolConfig) {
	s := *m.state.Load()
	if s.config.same(c) {
		return
	}
	s.config, s.list = c, s.list.configured(c)
	s.variants = maps.Clone(s.variants)
	for d, v := range s.variants {
		v.list = v.list.configured(c)
		s.variants[d] = v
	}
	s.endpoint.configure(c)
	m.publish(&s)
	m.lanes.retime()
	if s.up {
		m.report(ServerListed)
	}
}

// succeed sets the member's successor. Call it with Fleet.mu held.
func (m *member) succeed(next *member) {
	s := *m.state.Load()
	s.successor = next
	if next != nil {
		next.replaces = m
	}
	m.publish(&s)
}

// inherited is what the member publishes in the place of an earlier one until it has
// answered itself; nil: nothing.
func (m *member) inherited(from *member) *listing {
	if m.fleet.opts.Grace <= 0 {
		return nil
	}
	return from.state.Load().list.configured(m.state.Load().config)
}

// inherit publishes what an earlier member did. Call it with Fleet.mu held.
func (m *member) inherit(from *member) {
	if l := m.inherited(from); l != nil {
		m.inherits = true
		s := *m.state.Load()
		s.list = l
		m.publish(&s)
	}
}

// withdrawLater makes s the state of a lost server whose tools stay for a while.
func (m *member) withdrawLater(s *state) {
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

// keepList calls off what withdrawLater began.
func (m *member) keepList(s *state) {
	if s.withdrawal != nil && s.withdrawal.Stop() {
		m.supervising.Done()
	}
	s.withdrawal = nil
}

// configured is the server's configuration, with what was applied last.
func (m *member) configured() Server { return m.state.Load().config.of(m.server) }

// serves reports whether the server has tools that can be called now.
func (s *state) serves() bool { return s.up && s.list != nil && s.endpoint.Phase().Usable() }

// isDown reports whether the server was tried, and it is not known what it has now.
func (s *state) isDown() bool { return s.settled && s.list == nil && (!s.up || s.listFault != nil) }

// held reports whether the tools are held, because nobody knows what was
// approved of them.
func (m *member) held() bool {
	return m.fleet.opts.Admit == nil && m.state.Load().config.changes.Guards()
}

// mayOwn is [Server.MayOwn], by the rules that were applied last.
func (m *member) mayOwn(name string) bool { return m.configured().MayOwn(name) }

// status is the endpoint's, with the tools that are listed, and the fault that explains
// what is not.
func (m *member) status() EndpointStatus {
	s := m.state.Load()
	st := s.endpoint.Status()
	st.Tools, st.Replacing = 0, s.successor != nil
	if s.list != nil {
		st.Tools = len(s.list.tools)
	}
	switch {
	case st.Fault != nil:
	case !s.up:
		st.Fault = s.connectFault
	default:
		st.Fault = s.listFault
	}
	return st
}

// connected is the endpoint for a call of a tool, which counts as begun: [Endpoint.end]
// must follow. It waits for it while there is hope: as long as the server's tools are
// listed, and, where the fleet holds calls, until it has settled.
func (m *member) connected(ctx context.Context, tool string) (*Endpoint, error) {
	var late <-chan time.Time
	for {
		s := m.state.Load()
		if s.up && s.endpoint.Phase().Usable() && (s.listFault == nil || !s.config.changes.Guards()) {
			s.endpoint.begin()
			if now := m.state.Load(); now == s || now.up && now.endpoint == s.endpoint { // else retire or goIdle may not have counted the call
				return s.endpoint, nil
			}
			s.endpoint.end()
			continue
		}
		if s.idle {
			m.awaken()
			continue
		}
		if !s.trying || s.list == nil && (s.settled || !m.fleet.opts.Hold) {
			return nil, m.refusal(tool, "not connected")
		}
		if late == nil {
			if wait := protocol.Duration(m.server.Timeouts.Connect, protocol.DefaultConnect); wait > 0 {
				late = time.After(wait)
			}
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late:
			return nil, m.refusal(tool, "still not connected")
		}
	}
}

// refusal is the fault of a call that did not go out: why, or that the server is down, and
// for how long at least.
func (m *member) refusal(tool, why string) *Fault {
	s, fault := m.state.Load(), m.status().Fault
	if s.settled && !s.up && !s.retired && !s.idle && !s.waking() && (fault == nil || !fault.NeedsSignIn()) { // for that, time is no help
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

// settle waits until the server was listed once, or failed.
func (m *member) settle(ctx context.Context) error {
	return m.until(ctx, func(s *state) bool { return s.settled || s.retired })
}

// until waits for a state that will do, or for the end of ctx.
func (m *member) until(ctx context.Context, willDo func(*state) bool) error {
	for {
		s := m.state.Load()
		if willDo(s) {
			return nil
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unlisted says why nothing is known of a server's tools; nil where all is known. Where the
// fleet holds calls it waits until the server has settled.
func (m *member) unlisted(ctx context.Context) error {
	if m.fleet.opts.Hold {
		ctx, cancel := withDeadline(ctx, m.server.Timeouts.Connect, protocol.DefaultConnect)
		defer cancel()
		if m.settle(ctx) != nil {
			return NewFault(NotConnected, m.server.ID, "not connected", context.Cause(ctx))
		}
	}
	if err := m.unsure(ctx); err != nil {
		return err
	}
	s := m.state.Load()
	switch fault := m.status().Fault; {
	case s.idle, s.waking():
		return nil // it lists what it has
	case !s.up:
		return m.refusal("", "not connected")
	case s.list == nil && fault != nil:
		return fault // it cannot say what it has
	}
	return nil
}

// clone shares nothing with s that its owner could change.
func (s Server) clone() Server {
	switch t := s.Transport.(type) {
	case Stdio:
		t.Args, t.Env = slices.Clone(t.Args), slices.Clone(t.Env)
		s.Transport = t
	case HTTP:
		t.Headers = slices.Clone(t.Headers)
		s.Transport = t
	case SSE:
		t.Headers = slices.Clone(t.Headers)
		s.Transport = t
	}
	s.Secrets, s.Tools = slices.Clone(s.Secrets), s.Tools.clone()
	s.OAuth.Scopes, s.Forward.Headers = slices.Clone(s.OAuth.Scopes), slices.Clone(s.Forward.Headers)
	return s
}
