package interop

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/toolbox"
)

// slot is one server's fixed place in a fleet, and who looks after it: one
// endpoint after the other.
type slot struct {
	fleet  *Fleet
	server Server          // as it is reached; of its tools, shape says what becomes
	ctx    context.Context // ends when the slot is taken out
	cancel context.CancelFunc
	after  []<-chan struct{} // closed when those that had the id before are gone
	done   chan struct{}     // closed when run has ended
	gone   chan struct{}     // closed when the slot was taken out and is closed
	graces sync.WaitGroup    // timers that are running

	// These change with Fleet.mu held.
	of     *slot         // in whose place this one will come, and nobody sees it before; nil: it is there
	added  bool          // it was told of, and not that it is gone
	untold []Event       // what happened before it was there
	drain  time.Duration // how long its calls may go on; set when it is retired

	// These are run's own.
	beside <-chan struct{} // closed when one that had the id before, and may hold a port or a lock, is gone; nil: there is none
	relist chan struct{}   // one slot: the list is stale
	era    Era             // what the server spoke last, or may
	doubt  bool            // an attempt with what is remembered has failed: the next one is without

	// What follows changes with Fleet.mu and mu both held: by what happens to the
	// server in [slot.change] alone, and otherwise by what is applied. Who only looks
	// needs one of them.
	mu        sync.Mutex
	next      *slot  // the successor that is being connected beside it; nil: none
	shape     *shape // what the configuration makes of its tools
	endpoint  *Endpoint
	list      *listing      // what is published of the server; nil: nothing
	heard     bool          // it was listed once, or it failed
	up        bool          // it is connected and listed, or its listing failed
	coming    bool          // it is up, or an attempt is under way or will be made
	retry     time.Time     // when the next attempt begins; in the past: it has, or there is none
	retired   bool          // it was taken out of the fleet: nothing changes any more
	listFault *Fault        // why what is published is not what the server has now; nil: it is
	lastFault *Fault        // why the last connection or attempt failed; nil: none did, or it is up
	grace     *time.Timer   // until what a lost server published is withdrawn
	changed   chan struct{} // closed and replaced at each change
}

// newSlot makes a slot that nobody looks after yet. It asks the fleet's options:
// call it with no lock held.
func newSlot(f *Fleet, server Server) *slot {
	s := &slot{
		fleet: f, server: server.clone(), shape: shapeOf(server.clone()), coming: true,
		done: make(chan struct{}), gone: make(chan struct{}), changed: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	var known []toolbox.Wire
	if f.opts.Known != nil {
		known = f.opts.Known(server.ID)
	}
	// To probe a process again may cost it seconds, or its life; to probe a URL costs nothing.
	if _, ok := server.Transport.(Stdio); ok && len(known) > 0 && known[0].Format == protocol.FormatLegacy {
		s.era = Legacy
	}
	s.endpoint = s.mint()
	s.endpoint.adopt(s.shape)
	s.list = s.endpoint.known(known)
	return s
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
	return s
}

// known is a listing of what is remembered of a server; nil where that is nothing.
func (e *Endpoint) known(rows []toolbox.Wire) *listing {
	if len(rows) == 0 {
		return nil
	}
	l := newListing()
	l.remembered = true
	for _, row := range rows {
		n := len(l.tools)
		if e.admit(l, row.JSON); len(l.tools) > n {
			l.tools[n].Wire.Format = row.Format // of the era in which it was listed
		}
	}
	return l.shaped(e.shape)
}

// mint makes the next endpoint.
func (s *slot) mint() *Endpoint {
	opts := EndpointOptions{}
	if s.fleet.opts.Endpoint != nil {
		if o := s.fleet.opts.Endpoint(s.config()); o != nil {
			opts = *o
		}
	}
	switch {
	case s.doubt:
		opts.Era = ""
	case s.era != "": // newer than what the options know
		opts.Era = s.era
	}
	if opts.Logger == nil {
		opts.Logger = s.fleet.opts.Logger
	}
	if opts.Memory == nil {
		opts.Memory = s.fleet.opts.Memory
	}
	relist := make(chan struct{}, 1)
	opts.toolsChanged = func() {
		select {
		case relist <- struct{}{}:
		default:
		}
	}
	s.relist = relist
	return NewEndpoint(s.server, &opts)
}

// run looks after the server until the slot is taken out.
func (s *slot) run() {
	defer close(s.done)
	defer func() { s.current().Close() }()
	s.wait()
	policy := s.fleet.opts.Restart
	pause := newBackoff(policy)
	for {
		e := s.current()
		s.change(func() []EventKind { return []EventKind{ServerConnecting} })
		lived := s.serve(e)
		if s.ctx.Err() != nil {
			s.finish(e)
			return
		}
		if lived >= policy.Healthy {
			pause.reset()
		}
		next := pause.next()
		s.lost(e, next)
		e.Close()
		if policy.Off {
			<-s.ctx.Done()
		}
		if !s.sleep(next) {
			return
		}
		e = s.mint()
		s.change(func() []EventKind {
			e.adopt(s.shape)
			s.endpoint = e
			return nil
		})
	}
}

// wait lets those go that had the id before. It is bounded: in the end a process is
// killed.
func (s *slot) wait() {
	for _, gone := range s.after {
		<-gone
	}
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	s.fleet.tellAdded(s)
}

// finish lets the calls of a slot that was taken out end, for a while.
func (s *slot) finish(e *Endpoint) {
	s.mu.Lock()
	drain := s.drain
	s.mu.Unlock()
	if drain == 0 {
		return
	}
	_, quiet := e.busy()
	late := time.NewTimer(drain)
	defer late.Stop()
	select {
	case <-quiet:
	case <-e.Done():
	case <-s.fleet.quit:
	case <-late.C:
		calls, _ := e.busy()
		s.fleet.opts.Logger.Warn("calls are cut off: their server was replaced or taken out", "server", s.server.ID, "calls", calls, "after", drain)
	}
}

// serve opens an endpoint, keeps its list fresh until it is dead, and says how
// long it lived.
func (s *slot) serve(e *Endpoint) time.Duration {
	if e.Open(s.ctx) != nil {
		return 0
	}
	start := time.Now()
	s.attend(e)
	return time.Since(start)
}

// lostWait is how long an endpoint whose connection broke may take to be dead:
// the exit of a process is waited for, which explains the death.
const lostWait = 2 * exitWait

// listGap is the least time between two listings: a server may change its list
// as often as it likes, and we, and all clients, look no more than half the time. Of
// one that changes it again and again the gap doubles, for each change is told to
// every client and written to every ledger.
const (
	listGap     = 100 * time.Millisecond
	freeChanges = 20               // until the gap doubles
	maxGapShift = 7                // 12.8 s
	listCalm    = 30 * time.Second // without a change everything is forgiven
)

// changes counts those of a list that follow each other closely.
type changes struct {
	n    int
	last time.Time
}

// gap is the least time until the next listing, after a change at a time.
func (c *changes) gap(now time.Time) time.Duration {
	if now.Sub(c.last) > listCalm {
		c.n = 0
	}
	c.n, c.last = c.n+1, now
	return listGap << min(max(0, c.n-freeChanges), maxGapShift)
}

// attend lists a ready server, and again whenever its list is stale. A failed
// listing is tried again after a pause; a server that says its list has changed
// when it has not is asked less often.
func (s *slot) attend(e *Endpoint) {
	pause, often := newBackoff(s.fleet.opts.Restart), changes{}
	for first := true; ; first = false {
		begun := time.Now()
		l, err := e.listed(s.ctx)
		if s.ctx.Err() != nil {
			return
		}
		var lost *lostError
		if errors.As(err, &lost) && !s.rest(e, lostWait) {
			return
		}
		changed := s.listedAs(e, l, err)
		switch {
		case err == nil && (changed || first):
			pause.reset()
			if !s.rest(e, max(often.gap(time.Now()), time.Since(begun))) {
				return
			}
		case !s.rest(e, pause.next()):
			return
		}
		if err != nil {
			continue
		}
		select {
		case <-s.relist:
		case <-e.Done():
			return
		case <-s.ctx.Done():
			return
		}
	}
}

// listedAs publishes what a listing gave, and reports whether that is new. A
// failed one leaves what was published before.
func (s *slot) listedAs(e *Endpoint, l *listing, err error) (isNew bool) {
	if err != nil && !e.Phase().Usable() {
		return false // its death is told elsewhere
	}
	kind := ServerReady
	log := s.fleet.opts.Logger.With("server", s.server.ID)
	s.change(func() []EventKind {
		if s.up {
			kind = ServerListed
		}
		s.up, s.heard, s.lastFault, s.listFault = true, true, nil, nil
		s.endGrace()
		if err != nil {
			errors.As(err, &s.listFault)
		} else {
			l = l.shaped(s.shape)
			isNew = !s.list.same(l)
			s.list = l
		}
		return []EventKind{kind}
	})
	switch {
	case err != nil:
		log.Warn("listing failed", "err", err)
	case kind == ServerReady:
		st := e.Status()
		log.Info("ready", "era", st.Era, "tools", st.Tools, "dur", st.Took)
	}
	return isNew
}

// lost notes that the endpoint is gone, and the pause until the next attempt. What was
// published stays for a while, if there is hope.
func (s *slot) lost(e *Endpoint, pause time.Duration) {
	st := e.Status()
	if st.Fault == nil {
		st.Fault = NewFault(NotConnected, s.server.ID, "its endpoint was closed", nil)
	}
	opened := st.Era != ""
	switch {
	case opened:
		s.era, s.doubt = st.Era, false
	case st.Fault.Kind == Timeout && (s.era == "" || s.doubt): // it may hang on the probe
		s.era, s.doubt = Legacy, false
	default:
		s.doubt = !s.doubt
	}
	if !opened && s.ctx.Err() == nil { // before whoever waits hears of it, and may close everything
		s.fleet.opts.Logger.Warn("not connected", "server", s.server.ID, "kind", st.Fault.Kind, "err", st.Fault)
	}
	s.change(func() []EventKind {
		had := s.list != nil
		s.up, s.heard, s.coming = false, true, !s.fleet.opts.Restart.Off
		s.lastFault, s.listFault = st.Fault, nil
		if s.coming {
			s.retry = time.Now().Add(pause)
		}
		switch {
		case !s.coming || s.fleet.opts.Grace == 0:
			s.list = nil
		case had && s.grace == nil:
			s.beginGrace()
		}
		if had && s.list == nil {
			return []EventKind{ServerFaulted, ServerWithdrawn}
		}
		return []EventKind{ServerFaulted}
	})
}

// beginGrace withdraws what is published after a while. Call it in change.
func (s *slot) beginGrace() {
	var mine *time.Timer
	s.graces.Add(1)
	mine = time.AfterFunc(s.fleet.opts.Grace, func() {
		defer s.graces.Done()
		s.change(func() []EventKind {
			if s.grace != mine {
				return nil // it is up, or lost again
			}
			s.grace, s.list = nil, nil
			return []EventKind{ServerWithdrawn}
		})
	})
	s.grace = mine
}

// endGrace keeps what is published. Call it in change.
func (s *slot) endGrace() {
	if s.grace != nil && s.grace.Stop() {
		s.graces.Done()
	}
	s.grace = nil
}

// change is the one way in which what stands in a slot changes. What the fleet
// publishes changes with it, at once, and then all hear of it who wait, watch or
// listen. In a slot that was taken out nothing changes.
func (s *slot) change(set func() []EventKind) {
	f := s.fleet
	f.mu.Lock()
	if s.retired {
		f.mu.Unlock()
		return
	}
	s.mu.Lock()
	list, heard, down := s.list, s.heard, s.isDown()
	if s.of != nil {
		s.list = nil
		s.inherit(s.of) // which stays, if it takes its place now and has not been listed
	}
	kinds := set()
	promoted := s.of != nil && s.heard
	if promoted {
		f.promote(s)
	}
	fresh := (promoted || s.list != list || s.heard != heard || s.isDown() != down) && f.rebuild()
	for _, kind := range kinds {
		s.tell(s.event(kind))
	}
	s.broadcast()
	s.mu.Unlock()
	f.mu.Unlock()
	if fresh {
		f.watchers.Notify()
	}
}

// tell tells of what happens to the slot, or keeps it until there is a slot to be
// seen. Call it with Fleet.mu held.
func (s *slot) tell(e Event) {
	if s.of != nil {
		s.untold = append(s.untold, e)
		return
	}
	s.fleet.events.tell(e) // which only queues it
}

// retire ends the slot's life as far as anybody can see: nobody waits for it
// any more, and no call begins. Those that are in flight have drain to end. Call it
// with Fleet.mu held; close must follow.
func (s *slot) retire(drain time.Duration) {
	s.mu.Lock()
	if calls, _ := s.endpoint.busy(); calls > 0 {
		s.drain = drain
	}
	s.retired, s.up, s.coming = true, false, false
	s.endGrace()
	s.broadcast()
	s.mu.Unlock()
	s.cancel()
}

// close waits for the end of all that a retired slot has started.
func (s *slot) close() {
	<-s.done
	s.graces.Wait()
}

// broadcast wakes all who wait for a change. Call it with mu held.
func (s *slot) broadcast() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// event is what is told of the slot. Call it in change.
func (s *slot) event(kind EventKind) Event {
	e := Event{Kind: kind, Server: s.server.ID, Status: s.statusNow()}
	switch kind {
	case ServerConnecting:
		e.Status.Phase = Connecting // it is about to be
	case ServerReady, ServerListed:
		if s.listFault == nil {
			e.Quarantined = s.list.rejected
		}
	}
	return e
}

// sleep reports whether d has passed, and not the slot's life. It is over as soon as
// one that was there before is gone, with what it held.
func (s *slot) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return s.ctx.Err() == nil
	case <-s.beside:
		s.beside = nil
		return s.ctx.Err() == nil
	case <-s.ctx.Done():
		return false
	}
}

// rest is sleep while e lives.
func (s *slot) rest(e *Endpoint, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-e.Done():
		return false
	case <-s.ctx.Done():
		return false
	}
}
