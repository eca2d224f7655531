package interop

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/internal/listing"
	"github.com/indusagi/indus/toolbox"
)

// FleetOptions configures a fleet. Nil and the zero value are valid.
type FleetOptions struct {
	// Endpoint returns the options of each new endpoint of a server, including replacements of lost connections. If it
	// is nil, every endpoint has the zero options.
	Endpoint func(config.Server) *EndpointOptions
	// Restart is the policy for replacing lost connections.
	Restart Restart
	// Grace is how long the tools of a lost server stay listed, and how long calls wait for its replacement. Zero means
	// 10 s. A negative value means that both end at once.
	Grace time.Duration
	// Drain is how long calls in flight may continue after their server was removed or its successor took over. Zero
	// means 30 s. A negative value means that they end at once.
	Drain time.Duration
	// Known returns the tools of a server's last run, as the server listed them. They are listed, and calls to them
	// wait, until the server sends its own list. If the server cannot be reached, they are withdrawn like the tools of
	// a lost server. If Known is nil, no tools are known.
	Known func(server string) []toolbox.Wire
	// Hold makes a call of an unlisted tool wait for a server that has not replied yet. If it is false, as in the
	// seeds, such a call fails with NotConnected.
	Hold bool
	// Admit is called before a call is sent to a server that holds or denies changes (Server.Changes), and with AdmitAll
	// before any call is sent. server is the configuration of the connection that the call takes, and [Fleet.Snapshot]
	// has the list of this connection. tool is the name under which that list has the tool. If the call takes another
	// connection later, Admit is called again. If it returns a reason, the call is a failed tool with this text. If it
	// returns an error, that is the error of the call. Nothing is sent then. It must not wait. If Admit is nil, the
	// tools of servers that hold or deny changes are held, because the fleet cannot know which of them have changed.
	Admit func(ctx context.Context, server config.Server, tool string) (reason string, err error)
	// AdmitAll calls Admit for all servers. No call is then sent to a server that did not list its tools.
	AdmitAll bool
	// Notify receives the messages of servers outside of any request that concern all clients: list_changed of all
	// kinds, resources/updated and tasks. The fleet also sends a list_changed of each kind that a server declares when
	// it becomes ready, and after a gap in which one may have been lost. A message without a request and a resource,
	// such as a log message, goes to the client of the one request that it can belong to. If there is no such request,
	// it is dropped: see [Client]. Notify is called in wire order for each connection, from several goroutines, and
	// must not block. If it is nil, only changes of tools are followed.
	Notify func(server string, m Message)
	// Memory bounds the bytes of all messages from servers. If it is nil, the fleet has its own budget of 256 MiB.
	Memory *Memory
	// MaxCalls bounds the calls of one principal to one server at a time. Calls beyond it wait for CallWait, and then
	// fail with a fault of kind Timeout. Zero means 1,000, and a negative value means no bound.
	MaxCalls int
	// CallWait is how long a call beyond MaxCalls or a bound of [config.Pool] waits, unless Timeouts.Queue is set. Zero
	// means 10 s. A negative value means that no call waits.
	CallWait time.Duration
	// Lanes is the number of connections to one legacy server for requests that are known to ask a client without a
	// session. It counts for the clients of one principal that can be asked the same questions (see [Client]). Each of
	// these connections serves one such request at a time. Requests beyond them wait for CallWait. A connection does
	// not count while its server waits for an answer, because a person may need a long time. All other requests share
	// one further connection. Zero means 4. A negative value means none, not even for sessions, and then a legacy
	// server can ask no client.
	Lanes int
	// LaneIdle is how long an unused connection stays open. It applies to a connection for a principal, for a further
	// instance ([config.Pool]), or for a session without a reported end (see [Client].Life). A connection that a live
	// session uses stays open until the session ends. A connection for a client without a session closes after 30 s, or
	// after LaneIdle if that is shorter. If Server.Idle is set, it replaces LaneIdle, and also bounds the connections of
	// live sessions. Zero means 5 min. A negative value means that such connections close at once.
	LaneIdle time.Duration
	// Lazy is the default of Server.Lazy. A lazy server needs Known, and with Restart.Off no server is lazy. If it is
	// false, all servers are connected at once.
	Lazy bool
	// Idle is the default of Server.Idle. With Restart.Off it has no effect. If it is zero or negative, servers stay
	// connected.
	Idle time.Duration
	// Waits is called when a request has to wait for its turn or for a server that is being connected, with the context
	// of the request. It returns a function that is called at the end of the wait. If it is nil, nothing is called.
	Waits func(ctx context.Context) (ended func())
	// Logger logs the connections and losses of servers. If it is nil, nothing is logged.
	Logger *slog.Logger
}

// Restart is the policy by which a fleet replaces lost connections: exponential backoff with jitter. Each pause is
// shortened at random by up to a half.
type Restart struct {
	// Off disables all reconnects, as in the seeds.
	Off bool
	// First is the pause before the first new attempt. Zero means 250 ms.
	First time.Duration
	// Max caps the pause, which doubles with each attempt. Zero means 30 s.
	Max time.Duration
	// Healthy is how long a connection must have lived for the pause to begin again at First. Zero means a minute.
	Healthy time.Duration
}

const (
	defaultGrace        = 10 * time.Second
	defaultDrain        = 30 * time.Second
	defaultFirstPause   = 250 * time.Millisecond
	defaultMaxPause     = 30 * time.Second
	defaultHealthyAfter = time.Minute
	defaultMaxCalls     = 1000
	defaultCallWait     = 10 * time.Second
)

// Fleet is a set of servers that are managed together. Each server has its place in the order of the configuration.
// Each connects in parallel with the others, fails alone, and is connected again when its connection is lost.
//
// A Fleet is a [toolbox.Source]: all tools of all its servers, under their qualified names. All methods may be called
// from any goroutine.
type Fleet struct {
	opts          FleetOptions
	events        events
	watchers      toolbox.Watchers
	view          atomic.Pointer[view] // the published view; nil if it must be made again
	subscriptions subscriptions
	closing       sync.WaitGroup // members that were removed
	quit          chan struct{}  // closed by Close: nothing drains any more

	mu       sync.Mutex           // guards the fields below, and every change of a member's state
	members  []*member            // in the order of the configuration; replaced, never changed in place
	leaving  map[string][]*member // by id, the members that were removed and are not closed yet
	applied  bool
	closed   bool
	lastView *view
}

var _ toolbox.Source = (*Fleet)(nil)

// NewFleet returns an empty fleet. [Fleet.Apply] adds servers.
func NewFleet(opts *FleetOptions) *Fleet {
	f := &Fleet{leaving: map[string][]*member{}, quit: make(chan struct{}), lastView: &view{snapshot: &toolbox.Snapshot{}}}
	if opts != nil {
		f.opts = *opts
	}
	r := &f.opts.Restart
	r.Max = cmp.Or(max(r.Max, 0), defaultMaxPause)
	r.First = min(cmp.Or(max(r.First, 0), defaultFirstPause), r.Max)
	r.Healthy = cmp.Or(max(r.Healthy, 0), defaultHealthyAfter)
	f.opts.Grace = protocol.Duration(f.opts.Grace, defaultGrace)
	f.opts.Drain = protocol.Duration(f.opts.Drain, defaultDrain)
	f.opts.Lanes = cmp.Or(f.opts.Lanes, defaultLanes)
	f.opts.LaneIdle = protocol.Duration(f.opts.LaneIdle, defaultLaneIdle)
	if f.opts.Waits == nil {
		f.opts.Waits = func(context.Context) func() { return func() {} }
	}
	f.opts.Logger = cmp.Or(f.opts.Logger, slog.New(slog.DiscardHandler))
	f.opts.Memory = cmp.Or(f.opts.Memory, NewMemory(0))
	f.opts.MaxCalls = cmp.Or(f.opts.MaxCalls, defaultMaxCalls)
	f.opts.CallWait = protocol.Duration(f.opts.CallWait, defaultCallWait)
	f.subscriptions.byServer = map[string]map[subscriptionKey]*subscription{}
	f.subscriptions.callerCounts = map[callPair]int{}
	f.view.Store(f.lastView)
	return f
}

// Format prints the number of servers for every verb of package fmt.
func (f *Fleet) Format(w fmt.State, _ rune) { _, _ = fmt.Fprintf(w, "%d servers", len(f.Status())) }

// Endpoint returns the connection of a server for p. For a server with [config.PerPrincipal] this is the principal's
// own connection if it is open. Otherwise it is the connection that all principals share. Until a successor takes over,
// it is the connection of the old server. If the fleet has no such server, the error is a [*Fault] of kind
// NotConnected.
func (f *Fleet) Endpoint(id string, p toolbox.Principal) (*Endpoint, error) {
	m, err := f.find(id)
	if err != nil {
		return nil, err
	}
	if m.isPerPrincipal() {
		if c, ok := m.lanes.OfPrincipal(p).(laneConn); ok && c.Phase().Usable() {
			return c.Endpoint, nil
		}
	}
	return m.state.Load().endpoint, nil
}

// Endpoints returns the current endpoint of every server, in order.
func (f *Fleet) Endpoints() []*Endpoint {
	members := f.currentMembers()
	out := make([]*Endpoint, len(members))
	for i, m := range members {
		out[i] = m.state.Load().endpoint
	}
	return out
}

// Status returns the health of every server, in order. Tools counts the listed tools, even while the server is being
// connected. Fault is the reason why there are none, or why the list is old. While a successor connects beside a server
// that serves, the status is the old server's, with Replacing set.
func (f *Fleet) Status() []EndpointStatus {
	members := f.currentMembers()
	out := make([]EndpointStatus, len(members))
	for i, m := range members {
		out[i] = m.status()
	}
	return out
}

// Load returns how many requests of callers a server has: in flight, and waiting for their turn ([config.Pool],
// FleetOptions.MaxCalls). A request that waits for a connection is in flight.
func (f *Fleet) Load(id string) (inFlight, waiting int) {
	m, err := f.find(id)
	if err != nil {
		return 0, 0
	}
	entered, waiting := m.callerTurns.Load()
	_, queued := m.workTurns.Load() // have entered
	return max(0, entered-queued), waiting + queued
}

// Quarantined returns every tool that is not mounted or not shown to models, with the reason. It also returns every
// rule of Server.Tools that matches no tool.
func (f *Fleet) Quarantined() []Quarantine {
	var out []listing.Rejected
	for _, m := range f.currentMembers() {
		if l := m.state.Load().list; l != nil {
			out = append(out, l.Rejected...)
		}
		for _, v := range m.state.Load().variants {
			out = v.list.AppendRejected(out)
		}
	}
	return quarantines(append(out, f.currentView().rejected...))
}

// Events calls notify with all later events, in order. notify must not block, and must not call stop or [Fleet.Close].
// After stop has returned, notify is not called again.
func (f *Fleet) Events(notify func(Event)) (stop func()) { return f.events.add(notify) }

// Close ends every connection in parallel. It waits for the connections, their processes and the delivery of events.
// Calls in flight fail. Close never fails and may be called twice. The last list stays in [Fleet.Snapshot], and later
// calls fail with NotConnected.
func (f *Fleet) Close() {
	f.mu.Lock()
	if !f.closed {
		f.viewLocked() // keep the last list
		f.closed = true
		close(f.quit)
		for _, m := range f.members {
			for _, m := range []*member{m, m.state.Load().successor} {
				if m != nil {
					m.retire(0)
					f.closing.Go(m.supervising.Wait)
				}
			}
		}
	}
	f.mu.Unlock()
	f.closing.Wait()
	f.subscriptions.close()
	f.events.flush()
}

func (f *Fleet) currentMembers() []*member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members
}

// find returns the current member with that id, or a fault.
func (f *Fleet) find(id string) (*member, error) {
	if m := findMember(f.currentMembers(), id); m != nil {
		return m, nil
	}
	return nil, NewFault(NotConnected, id, "no such server", nil)
}

// findMember returns the member with that id, or nil if there is none.
func findMember(members []*member, id string) *member {
	if i := slices.IndexFunc(members, func(m *member) bool { return m.server.ID == id }); i >= 0 {
		return members[i]
	}
	return nil
}
