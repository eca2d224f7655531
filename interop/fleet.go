package interop

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/toolbox"
)

// FleetOptions tune a fleet. nil and the zero value are good.
type FleetOptions struct {
	// Endpoint gives the options of each new endpoint of a server, also of those
	// that replace a dead one. nil: the zero options.
	Endpoint func(Server) *EndpointOptions
	// Restart says how dead connections are replaced.
	Restart Restart
	// Grace is how long the tools of a lost server stay listed, and calls wait for
	// its replacement. 0: 10 s; negative: not at all.
	Grace time.Duration
	// Drain is how long calls in flight may go on when their server was taken out, or a
	// successor serves in its place. 0: 30 s; negative: not at all.
	Drain time.Duration
	// Known gives the tools that a server had when it last ran, as it listed them:
	// they are listed, and calls to them wait, until the server answers itself; if
	// it cannot be reached they are withdrawn like those of a lost one. nil: nothing
	// is known.
	Known func(server string) []toolbox.Wire
	// Hold makes a call of a tool that is not listed wait for a server that has not
	// answered yet. false is the seeds' way: such a call is NotConnected.
	Hold bool
	// Admit is asked before a call goes out to a server that holds or denies changes
	// (Server.Changes), when what is listed of the connection that it takes is in
	// [Fleet.Snapshot], and again if it takes another one. A result answers the call, and
	// nothing goes out; nil lets it go out. It must not wait. nil: the tools of such servers
	// are held, because nobody knows which have changed.
	Admit func(toolbox.Call) *toolbox.Result
	// Notify takes what servers say outside of any request and for everybody: list_changed of
	// all kinds, resources/updated, tasks. A list_changed of each kind that a server declares
	// also comes when the server is ready, and after a gap in which it may have been lost. What names neither
	// a request nor a resource (logs above all) goes to the client of the one request that it
	// can be for, see [Client], and is else dropped. Notify is called in wire order for each
	// connection, from several goroutines, and must not block. nil: only changes of
	// tools are followed.
	Notify func(server string, m Message)
	// Memory bounds the bytes of all messages from servers. nil: 256 MiB of its own.
	Memory *Memory
	// MaxCalls bounds the calls of one principal to one server at a time; those beyond
	// wait for CallWait, and then fail with a fault of kind Timeout. 0: 1,000;
	// negative: no bound.
	MaxCalls int
	// CallWait is how long a call beyond MaxCalls or a bound of [Pool] waits, where Timeouts.Queue says nothing
	// else. 0: 10 s; negative: not at all.
	CallWait time.Duration
	// Lanes is how many connections to one legacy server are made for those requests of a principal's clients without a session that
	// are known to ask, and in which they can be asked the same (see [Client]): each serves one such request at
	// a time. Those beyond wait for CallWait. A connection whose server waits for an answer does not count, because a person may
	// take long. All other requests share one further connection. 0: 4; negative: none, for sessions neither,
	// and a legacy server can ask no client.
	Lanes int
	// LaneIdle is how long a connection stays open without a request that was made for a principal or a further instance ([Pool]), or
	// for a session whose end is not reported (see [Client].Life). One that a live session uses stays open until the session ends. A
	// connection for a client without a session closes after 30 s, if LaneIdle is not less. Where Server.Idle is set, it
	// takes the place of LaneIdle, and bounds connections of live sessions too. 0: 5 min; negative: not at all.
	LaneIdle time.Duration
	// Lazy is Server.Lazy of those that do not say. It takes Known, and with Restart.Off nothing is lazy.
	// false: all are connected at once.
	Lazy bool
	// Idle is Server.Idle of those that do not say. With Restart.Off there is none. 0 and
	// negative: they stay connected.
	Idle time.Duration
	// Logger logs servers that come and go. nil: nothing is logged.
	Logger *slog.Logger
}

// Restart is the policy by which a fleet replaces dead connections: exponential
// back-off with jitter, each pause being shorter by up to a half, at random.
type Restart struct {
	// Off is the seeds' way: nothing reconnects.
	Off bool
	// First is the pause before the first new attempt. 0: 250 ms.
	First time.Duration
	// Max caps the pause, which doubles with each attempt. 0: 30 s.
	Max time.Duration
	// Healthy is how long a connection must have lived for the pause to begin
	// anew. 0: a minute.
	Healthy time.Duration
}

const (
	defaultGrace        = 10 * time.Second
	defaultDrain        = 30 * time.Second
	defaultFirstPause   = 250 * time.Millisecond
	defaultMaxPause     = 30 * time.Second
	defaultHealthyAfter = time.Minute
)

// Fleet is many servers under one life: each has its place in the order of the
// configuration, connects in parallel with the others, fails alone, and is connected again
// when its connection is lost.
//
// A Fleet is a [toolbox.Source]: all tools of all its servers, under their
// qualified names. All methods may be called from any goroutine.
type Fleet struct {
	opts          FleetOptions
	events        events
	watchers      toolbox.Watchers
	view          atomic.Pointer[view] // what is published; nil: it has to be made anew
	subscriptions subscriptions
	closing       sync.WaitGroup // members that were taken out
	quit          chan struct{}  // closed by Close: nothing drains any more

	mu      sync.Mutex           // the one lock: of the fields below, and of every change of a member's state
	members []*member            // in the order of the configuration; replaced, never changed in place
	leaving map[string][]*member // by id, those that were taken out and are not closed yet
	applied bool
	closed  bool
	last    *view
}

var _ toolbox.Source = (*Fleet)(nil)

// NewFleet is an empty fleet: [Fleet.Apply] gives it servers.
func NewFleet(opts *FleetOptions) *Fleet {
	f := &Fleet{leaving: map[string][]*member{}, quit: make(chan struct{}), last: &view{snapshot: &toolbox.Snapshot{}}}
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
	f.opts.Logger = cmp.Or(f.opts.Logger, slog.New(slog.DiscardHandler))
	f.opts.Memory = cmp.Or(f.opts.Memory, NewMemory(0))
	f.opts.MaxCalls = cmp.Or(f.opts.MaxCalls, defaultMaxCalls)
	f.opts.CallWait = protocol.Duration(f.opts.CallWait, defaultCallWait)
	f.subscriptions.of, f.subscriptions.callers = map[string]map[subscribed]*subscription{}, map[callPair]int{}
	f.view.Store(f.last)
	return f
}

// Format is what every verb of package fmt prints: how many servers there are.
func (f *Fleet) Format(w fmt.State, _ rune) { _, _ = fmt.Fprintf(w, "%d servers", len(f.Status())) }

// Endpoint is the connection of a server for p: of a server with [PerPrincipal] its own, if that is open, else the one that
// is the same for every principal, and until a successor serves in its place that of before.
// The error is a [*Fault] of kind NotConnected where the fleet has no such server.
func (f *Fleet) Endpoint(id string, p toolbox.Principal) (*Endpoint, error) {
	m := findMember(f.all(), id)
	if m == nil {
		return nil, NewFault(NotConnected, id, "no such server", nil)
	}
	if m.isPerPrincipal() {
		if e := m.lanes.ofPrincipal(p); e != nil {
			return e, nil
		}
	}
	return m.state.Load().endpoint, nil
}

// Endpoints is the current endpoint of every server, in order.
func (f *Fleet) Endpoints() []*Endpoint {
	members := f.all()
	out := make([]*Endpoint, len(members))
	for i, m := range members {
		out[i] = m.state.Load().endpoint
	}
	return out
}

// Status is the health of every server, in order. Its Tools are those that are
// listed, also while the server is being connected; its Fault says why there are
// none, or none of late. While a successor is being connected beside a server that
// serves, it is the server's, with Replacing.
func (f *Fleet) Status() []EndpointStatus {
	members := f.all()
	out := make([]EndpointStatus, len(members))
	for i, m := range members {
		out[i] = m.status()
	}
	return out
}

// Quarantined is every tool that is not mounted, or not shown to models, and why; and
// every rule of Server.Tools that concerns no tool.
func (f *Fleet) Quarantined() []Quarantine {
	var out []Quarantine
	for _, m := range f.all() {
		if l := m.state.Load().list; l != nil {
			out = append(out, l.rejected...)
		}
		for _, v := range m.state.Load().variants {
			out = v.list.appendRejected(out)
		}
	}
	return append(out, f.published().rejected...)
}

// Events calls notify with everything that happens from now on, in order; it must
// not block, and must not call stop or [Fleet.Close]. After stop has returned it
// is not called again.
func (f *Fleet) Events(notify func(Event)) (stop func()) { return f.events.add(notify) }

// Close ends every connection, in parallel, and waits for them, their processes
// and the delivery of events; calls in flight fail. It never fails and may be called twice. What was
// listed last stays in [Fleet.Snapshot], and calls are NotConnected.
func (f *Fleet) Close() {
	f.mu.Lock()
	if !f.closed {
		f.current() // what was listed last
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

func (f *Fleet) all() []*member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members
}

// findMember is the one of that id; nil where there is none.
func findMember(members []*member, id string) *member {
	if i := slices.IndexFunc(members, func(m *member) bool { return m.server.ID == id }); i >= 0 {
		return members[i]
	}
	return nil
}
