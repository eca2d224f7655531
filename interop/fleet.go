package interop

import (
	"cmp"
	"log/slog"
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
	// been heard yet. false is the seeds' way: such a call is NotConnected.
	Hold bool
	// Memory bounds the bytes of all messages from servers. nil: 256 MiB of its own.
	Memory *Memory
	// MaxCalls bounds the calls of one principal to one server at a time; those beyond
	// wait for CallWait, and then fail with a fault of kind Timeout. 0: 1,000;
	// negative: no bound.
	MaxCalls int
	// CallWait is how long a call beyond MaxCalls waits. 0: 10 s; negative: not at all.
	CallWait time.Duration
	// Logger hears of servers that come and go. nil: silent.
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

// Fleet is many servers under one life: each has a fixed slot in the order of
// the configuration, connects in parallel with the others, fails alone, and is
// connected again when its connection dies.
//
// A Fleet is a [toolbox.Source]: all tools of all its servers, under their
// qualified names. All methods may be called from any goroutine.
type Fleet struct {
	opts     FleetOptions
	events   *events
	watchers toolbox.Watchers
	view     atomic.Pointer[view]
	calls    callLimits
	closing  sync.WaitGroup // slots that were taken out, or all
	quit     chan struct{}  // closed by Close: nothing drains any more

	mu      sync.Mutex         // held over each change of the slots, and of what stands in one
	slots   []*slot            // in the order of the configuration
	leaving map[string][]*slot // by id, those that were taken out and are not closed yet
	applied uint64             // how often
	closed  bool
	version uint64
}

var _ toolbox.Source = (*Fleet)(nil)

// NewFleet is an empty fleet: [Fleet.Apply] gives it servers.
func NewFleet(opts *FleetOptions) *Fleet {
	f := &Fleet{events: newEvents(), leaving: map[string][]*slot{}, quit: make(chan struct{})}
	if opts != nil {
		f.opts = *opts
	}
	r := &f.opts.Restart
	r.Max = orDefault(r.Max, defaultMaxPause)
	r.First = min(orDefault(r.First, defaultFirstPause), r.Max)
	r.Healthy = orDefault(r.Healthy, defaultHealthyAfter)
	f.opts.Grace = protocol.Duration(f.opts.Grace, defaultGrace)
	f.opts.Drain = protocol.Duration(f.opts.Drain, defaultDrain)
	if f.opts.Logger == nil {
		f.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if f.opts.Memory == nil {
		f.opts.Memory = NewMemory(0)
	}
	f.calls = callLimits{
		most: int64(cmp.Or(f.opts.MaxCalls, defaultMaxCalls)), wait: protocol.Duration(f.opts.CallWait, defaultCallWait),
		pairs: map[callPair]*callLimit{},
	}
	f.view.Store(&view{snapshot: &toolbox.Snapshot{}})
	return f
}

func orDefault(d, byDefault time.Duration) time.Duration {
	if d <= 0 {
		return byDefault
	}
	return d
}

// Endpoint is the connection of a server for p: the same for every principal, and
// until a successor serves in its place that of before.
// The error is a [*Fault] of kind NotConnected where the fleet has no such server.
func (f *Fleet) Endpoint(id string, _ toolbox.Principal) (*Endpoint, error) {
	for _, s := range f.all() {
		if s.server.ID == id {
			return s.current(), nil
		}
	}
	return nil, NewFault(NotConnected, id, "no such server", nil)
}

// Endpoints is the current endpoint of every server, in order.
func (f *Fleet) Endpoints() []*Endpoint {
	slots := f.all()
	out := make([]*Endpoint, len(slots))
	for i, s := range slots {
		out[i] = s.current()
	}
	return out
}

// Status is the health of every server, in order. Its Tools are those that are
// listed, also while the server is being connected; its Fault says why there are
// none, or none of late. While a successor is being connected beside a server that
// serves, it is the server's, with Replacing.
func (f *Fleet) Status() []EndpointStatus {
	slots := f.all()
	out := make([]EndpointStatus, len(slots))
	for i, s := range slots {
		out[i] = s.status()
	}
	return out
}

// Quarantined is every tool that is not mounted, or not shown to models, and why; and
// every rule of Server.Tools that concerns no tool.
func (f *Fleet) Quarantined() []Quarantine {
	var out []Quarantine
	for _, s := range f.all() {
		out = append(out, s.quarantined()...)
	}
	return append(out, f.view.Load().rejected...)
}

// Events tells of everything that happens from now on, in order; notify must
// not block, and must not call stop or [Fleet.Close]. After stop has returned it
// is not called again.
func (f *Fleet) Events(notify func(Event)) (stop func()) { return f.events.add(notify) }

// Close ends every connection, in parallel, and waits for them, their processes
// and the delivery of events; calls in flight fail. It never fails and may be called twice. What was
// listed last stays in [Fleet.Snapshot], and calls are NotConnected.
func (f *Fleet) Close() {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		close(f.quit)
		for _, s := range f.slots {
			for _, s := range []*slot{s, s.next} {
				if s != nil {
					s.retire(0)
					f.closing.Go(s.close)
				}
			}
		}
	}
	f.mu.Unlock()
	f.closing.Wait()
	f.events.flush()
}

func (f *Fleet) all() []*slot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.slots // never changed in place
}
