package interop

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/listing"
)

// lostWait bounds the wait until an endpoint with a broken connection has ended. It includes the
// wait for the exit of the process, which explains the loss.
const lostWait = 2 * conn.ExitWait

// listGap is the least time between two list requests. A server may change its list as often as it
// likes. The fleet and its clients spend at most half of the time on listing, and list ever less
// often, because each change is written to every ledger.
const listGap = 100 * time.Millisecond

// supervise connects the server, keeps its list fresh, and reconnects it after each loss, until the
// member is retired.
func (m *member) supervise() {
	defer func() {
		var ending sync.WaitGroup
		ending.Go(m.lanes.Close)
		m.state.Load().endpoint.Close()
		ending.Wait()
	}()
	for _, closed := range m.predecessors { // bounded, because in the end a process is killed
		<-closed
	}
	m.fleet.mu.Lock()
	m.fleet.reportAdded(m)
	m.fleet.mu.Unlock()
	m.startIdle()
	policy := m.fleet.opts.Restart
	pause := newBackoff(policy)
	unsure := false // m.era may be wrong
	for m.awaitNeeded() {
		e := m.state.Load().endpoint
		m.update(func(*state) []EventKind { return []EventKind{ServerConnecting} })
		lifetime := m.serve(e)
		if m.state.Load().endpoint != e { // it is idle
			e.Close()
			unsure = false
			pause.reset()
			continue
		}
		if m.ctx.Err() != nil {
			m.awaitCalls(e)
			return
		}
		if lifetime >= policy.Healthy {
			pause.reset()
		}
		next := pause.next()
		switch st := m.recordLoss(e, next); {
		case st.Era != "":
			m.learnEra(e)
			unsure = false
		case st.Fault.Kind == Timeout && (m.era == "" || unsure): // it may hang on the probe
			m.era, unsure = Legacy, false
		default: // the remembered era may be wrong, so the attempts use it and omit it in turn
			unsure = !unsure
		}
		e.Close()
		if policy.Off {
			<-m.ctx.Done()
		}
		if !m.sleep(next) {
			return
		}
		e = m.newEndpoint(m.state.Load().config, unsure)
		m.update(func(s *state) []EventKind {
			e.configure(s.config) // it may have changed meanwhile
			s.endpoint = e
			return nil
		})
	}
}

// awaitCalls waits for the calls of a retired member, at most as long as drain.
func (m *member) awaitCalls(e *Endpoint) {
	m.fleet.mu.Lock()
	drain := m.drain
	m.fleet.mu.Unlock()
	calls, drained := e.pendingCalls()
	if drain == 0 || calls == 0 {
		return
	}
	select {
	case <-drained:
	case <-e.Done():
	case <-m.fleet.quit:
	case <-time.After(drain):
		calls, _ = e.pendingCalls()
		m.fleet.opts.Logger.Warn("calls are cut off: their server was replaced or taken out",
			"server", m.server.ID, "calls", calls, "after", drain)
	}
}

// serve opens an endpoint, keeps its list fresh until it is lost or idle, and returns how long it
// lived. A failed listing is tried again after a pause. A server that reports changes without a
// change is listed less often.
func (m *member) serve(e *Endpoint) (lifetime time.Duration) {
	if e.Open(m.ctx) != nil {
		return 0
	}
	start := time.Now()
	failures, pace := newBackoff(m.fleet.opts.Restart), watch.Pace{}
	unused := idleness{unusedSince: start, lastCheck: start}
	for first := true; ; first = false {
		begun := time.Now()
		l, err := e.currentListing(m.ctx)
		if m.ctx.Err() != nil {
			break
		}
		if _, lost := errors.AsType[*conn.LostError](err); lost && !m.waitConnected(e, lostWait) {
			break
		}
		wait := time.Duration(0)
		if changed := m.publishListing(e, l, err); err == nil && (changed || first) {
			failures.reset()
			wait = max(listGap, pace.Pause(time.Now()), time.Since(begun))
		} else {
			wait = failures.next()
		}
		if !m.waitConnected(e, wait) || err == nil && !m.awaitStale(e, &unused) {
			break
		}
	}
	return time.Since(start)
}

// publishListing publishes the result of a list request, and reports whether the list changed. A failed
// request keeps the previous list.
func (m *member) publishListing(e *Endpoint, l *listing.List, err error) (changed bool) {
	if err != nil && !e.Phase().Usable() {
		return false // recordLoss reports it
	}
	kind := ServerReady
	m.update(func(s *state) []EventKind {
		if s.up {
			kind = ServerListed
		}
		isNew := !s.up
		s.up, s.settled = true, true
		s.connectFault, s.listFault = nil, nil
		m.stopWithdrawal(s)
		if err != nil {
			errors.As(err, &s.listFault)
		} else {
			l = l.WithConfig(s.config)
			changed = !s.list.Equal(l)
			s.list = l
		}
		if isNew || changed { // the variants may have changed too, even without a notification of the server
			s.changes++
		}
		return []EventKind{kind}
	})
	if kind == ServerReady {
		e.reportListChanges() // earlier notifications are not repeated
		m.fleet.subscriptions.wakeServer(m.server.ID)
	}
	log := m.fleet.opts.Logger.With("server", m.server.ID)
	switch {
	case err != nil:
		log.Warn("listing failed", "err", err)
	case kind == ServerReady:
		st := e.Status()
		log.Info("ready", "era", st.Era, "tools", st.Tools, "dur", st.Took)
	}
	return changed
}

// recordLoss records the loss of the endpoint, and the pause until the next attempt. The published list
// stays for a while if another attempt will follow. lost returns the endpoint's status with a Fault
// that is not nil.
func (m *member) recordLoss(e *Endpoint, pause time.Duration) EndpointStatus {
	st := e.Status()
	if st.Fault == nil {
		st.Fault = NewFault(NotConnected, m.server.ID, "its endpoint was closed", nil)
	}
	if st.Era == "" && m.ctx.Err() == nil { // before waiting callers see it, because they may close everything
		m.fleet.opts.Logger.Warn("not connected", "server", m.server.ID, "kind", st.Fault.Kind, "err", st.Fault)
	}
	m.update(func(s *state) []EventKind {
		s.up, s.settled, s.trying = false, true, !m.fleet.opts.Restart.Off
		s.connectFault, s.listFault = st.Fault, nil
		if s.trying {
			s.retry = time.Now().Add(pause)
		}
		switch {
		case s.list == nil:
		case !s.trying || m.fleet.opts.Grace == 0:
			s.list, s.variants = nil, nil
			return []EventKind{ServerFaulted, ServerWithdrawn}
		case s.withdrawal == nil:
			m.startWithdrawal(s)
		}
		return []EventKind{ServerFaulted}
	})
	return st
}

// sleep waits for d, and reports whether the member is not retired. It returns early if an earlier
// member has closed and released its resources, or if [Fleet.Retry] requests another attempt.
func (m *member) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-m.drained:
		m.drained = nil
	case <-m.retryNow:
	case <-m.ctx.Done():
	}
	return m.ctx.Err() == nil
}

// waitConnected waits for d, and reports whether e is still connected and the member is not retired.
func (m *member) waitConnected(e *Endpoint, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-e.Done():
	case <-m.ctx.Done():
	}
	return false
}

// awaitStale waits until the list of e is stale. It returns false if e is lost or the member is
// retired or idle.
func (m *member) awaitStale(e *Endpoint, unused *idleness) bool {
	for {
		s := m.state.Load()
		_, after := m.idleSettings(s.config)
		select {
		case <-e.opts.stale:
			return true
		case <-unused.nextCheck(after):
			if unused.hasExpired(m, e, after) && m.becomeIdle(e) {
				return false
			}
		case <-s.changed: // the configuration may have changed
		case <-e.Done():
			return false
		case <-m.ctx.Done():
			return false
		}
	}
}

// backoff is a pause that doubles, up to a cap.
type backoff struct{ first, max, pause time.Duration }

func newBackoff(r Restart) *backoff { return &backoff{r.First, r.Max, r.First} }

func (b *backoff) reset() { b.pause = b.first }

// next returns the next pause. It is shorter at random by up to a half, so that many clients of one
// lost peer do not reconnect at the same moment.
func (b *backoff) next() time.Duration {
	d := b.pause
	b.pause = min(2*b.pause, b.max)
	return d - rand.N(d/2+1)
}
