package interop

import (
	"context"
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
	// Known gives the tools that a server had when it last ran, as it listed them:
	// they are listed, and calls to them wait, until the server answers itself; if
	// it cannot be reached they are withdrawn like those of a lost one. nil: nothing
	// is known.
	Known func(server string) []toolbox.Wire
	// Hold makes a call of a tool that is not listed wait for a server that has not
	// been heard yet. false is the seeds' way: such a call is NotConnected.
	Hold bool
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
	closing  sync.WaitGroup // slots that were taken out, or all

	mu      sync.Mutex       // held over each change of the slots, and of what stands in one
	slots   []*slot          // in the order of the configuration
	leaving map[string]*slot // by id, the last one that was taken out and is not closed yet
	applied bool
	closed  bool
	version uint64
}

var _ toolbox.Source = (*Fleet)(nil)

// NewFleet is an empty fleet: [Fleet.Apply] gives it servers.
func NewFleet(opts *FleetOptions) *Fleet {
	f := &Fleet{events: newEvents(), leaving: map[string]*slot{}}
	if opts != nil {
		f.opts = *opts
	}
	r := &f.opts.Restart
	r.Max = orDefault(r.Max, defaultMaxPause)
	r.First = min(orDefault(r.First, defaultFirstPause), r.Max)
	r.Healthy = orDefault(r.Healthy, defaultHealthyAfter)
	f.opts.Grace = protocol.Duration(f.opts.Grace, defaultGrace)
	if f.opts.Logger == nil {
		f.opts.Logger = slog.New(slog.DiscardHandler)
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

// Apply makes the fleet consist of servers, in their order: the only way that
// servers come and go. Those whose configuration did not change keep their
// connection. Of two with one id the later one stands, at the first one's
// place. Every server is registered before any connects, and one whose
// configuration changed connects when its predecessor is closed. Apply does not
// wait for any of this: [Fleet.Settle] does. After [Fleet.Close] it does nothing.
func (f *Fleet) Apply(servers []Server) {
	wanted := f.distinct(servers)
	made := map[string]*slot{}
	// Slots are made with no lock held, because that asks the options. The second
	// round is the last, unless somebody else applies meanwhile.
	for missing := f.swap(wanted, made); len(missing) > 0; missing = f.swap(wanted, made) {
		for _, s := range missing {
			made[s.ID] = newSlot(f, s)
		}
	}
}

// distinct is servers with each id once.
func (f *Fleet) distinct(servers []Server) []Server {
	var out []Server
	for _, s := range servers {
		if i := slices.IndexFunc(out, func(o Server) bool { return o.ID == s.ID }); i >= 0 {
			f.opts.Logger.Warn("two servers have one id: the later one stands", "server", s.ID)
			out[i] = s
			continue
		}
		out = append(out, s)
	}
	return out
}

// swap makes the fleet consist of wanted, with the slots that it has and those
// that were made, by id. Where these do not suffice it changes nothing, and says
// which are missing.
func (f *Fleet) swap(wanted []Server, made map[string]*slot) (missing []Server) {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	var next []*slot
	for _, s := range wanted {
		if i := slices.IndexFunc(f.slots, func(o *slot) bool { return o.server.Equal(s) }); i >= 0 {
			next = append(next, f.slots[i])
		} else if one := made[s.ID]; one != nil {
			next = append(next, one)
		} else {
			missing = append(missing, s)
		}
	}
	fresh := false
	if missing == nil {
		f.applied = true
		fresh = f.install(next)
	}
	f.mu.Unlock()
	if fresh {
		f.watchers.Notify()
	}
	return missing
}

// install takes out the slots that are not in next, and starts those that are
// new. It reports whether there is a new snapshot. Call it with mu held.
func (f *Fleet) install(next []*slot) (fresh bool) {
	old := f.slots
	f.slots = next
	for _, s := range old {
		if !slices.Contains(next, s) {
			f.takeOut(s)
		}
	}
	for _, s := range next {
		if slices.Contains(old, s) {
			continue
		}
		if before := f.leaving[s.server.ID]; before != nil {
			s.after = before.gone
		} else {
			f.events.tell(Event{Kind: ServerAdded, Server: s.server.ID})
		}
		go s.run()
	}
	return f.rebuild()
}

// takeOut closes a slot that is not in the fleet any more. Call it with mu held.
func (f *Fleet) takeOut(s *slot) {
	id := s.server.ID
	f.leaving[id] = s
	s.retire()
	f.closing.Go(func() {
		s.close()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.events.tell(Event{Kind: ServerRemoved, Server: id})
		if f.leaving[id] == s {
			delete(f.leaving, id)
		}
		close(s.gone)
	})
}

// Settle waits until every server is ready and listed, or faulted, or ctx ends.
// What they list is then in [Fleet.Snapshot].
func (f *Fleet) Settle(ctx context.Context) error {
	for _, s := range f.all() {
		if err := s.settled(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Restart closes every connection and opens it anew, with the configuration
// that was applied last, and waits as [Fleet.Settle] does: ctx bounds that wait
// alone. Tools stay listed meanwhile, unless FleetOptions.Grace is negative.
// Before any [Fleet.Apply], and after [Fleet.Close], it is NotConnected.
func (f *Fleet) Restart(ctx context.Context) error {
	for replaced := false; !replaced; {
		f.mu.Lock()
		old, applied, closed := f.slots, f.applied, f.closed
		f.mu.Unlock()
		switch {
		case closed:
			return NewFault(NotConnected, "", "the fleet is closed", nil)
		case !applied:
			return NewFault(NotConnected, "", "the fleet has no configuration: apply one first", nil)
		}
		next := make([]*slot, len(old))
		for i, s := range old {
			next[i] = newSlot(f, s.server)
		}
		replaced = f.replace(old, next)
	}
	return f.Settle(ctx)
}

// replace puts new slots in the place of old ones. It does nothing, and is
// false, where the fleet does not consist of these any more.
func (f *Fleet) replace(old, next []*slot) bool {
	f.mu.Lock()
	if f.closed || !slices.Equal(f.slots, old) {
		f.mu.Unlock()
		return false
	}
	for i, s := range old {
		if f.opts.Grace > 0 && s.list != nil {
			next[i].list = s.list
		}
	}
	fresh := f.install(next)
	f.mu.Unlock()
	if fresh {
		f.watchers.Notify()
	}
	return true
}

// Endpoint is the connection of a server for p: the same for every principal.
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
// none, or none of late.
func (f *Fleet) Status() []EndpointStatus {
	slots := f.all()
	out := make([]EndpointStatus, len(slots))
	for i, s := range slots {
		out[i] = s.status()
	}
	return out
}

// Quarantined is every tool that is not mounted, or not shown to models, and why.
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
// and the delivery of events. It never fails and may be called twice. What was
// listed last stays in [Fleet.Snapshot], and calls are NotConnected.
func (f *Fleet) Close() {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		for _, s := range f.slots {
			s.retire()
			f.closing.Go(s.close)
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
