package host

import (
	"container/list"
	"crypto/rand"
	"encoding/hex"
	"net/netip"
	"sync"
	"time"

	"github.com/indusagi/indus/toolbox"
)

// maxSessionStreams bounds the GET streams of one session.
const maxSessionStreams = 16

// hostSession is a legacy session over HTTP.
type hostSession struct {
	*frontSession
	id     string
	client client        // whose bounds it counts for
	done   chan struct{} // closed when the session ends

	// What follows belongs to the table's lock.
	place   *list.Element
	busy    int // requests and streams that are open
	streams int
	seen    time.Time // when it was last busy
}

// hostSessions is the table of legacy sessions over HTTP, the one that was busy
// longest ago first.
type hostSessions struct {
	front *front
	idle  time.Duration // 0: sessions do not expire
	limit int           // below 0: no bound
	each  int           // of one client; below 0: no bound

	mu     sync.Mutex
	byID   map[string]*hostSession
	counts map[client]int
	order  *list.List
	sweep  *time.Timer // nil: none is set
	closed bool
}

func newHostSessions(f *front, o *Options) *hostSessions {
	return &hostSessions{
		front: f, idle: o.SessionIdle, limit: o.MaxSessions, each: o.MaxClientSessions,
		byID: map[string]*hostSession{}, counts: map[client]int{}, order: list.New(),
	}
}

// client is whose bounds a request counts for: a principal at an address. Whoever has
// one address of IPv6 has all of its network of 64 bits. The zero client has no bounds.
type client struct {
	addr   netip.Prefix
	caller toolbox.Principal
}

func clientOf(caller toolbox.Principal, remote string) client {
	c := client{caller: caller}
	if at, err := netip.ParseAddrPort(remote); err == nil {
		addr := at.Addr().Unmap().WithZone("")
		c.addr, _ = addr.Prefix(min(addr.BitLen(), 64))
	}
	return c
}

// open makes a busy session for caller; nil where there is no room for it. Where a bound
// is reached, the client's own stalest session makes room, or that of the client who
// has most: nobody loses theirs to one who opens many.
func (t *hostSessions) open(c client) *hostSession {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	s := &hostSession{
		frontSession: newFrontSession(t.front), id: hex.EncodeToString(id[:]), client: c,
		done: make(chan struct{}), busy: 1, seen: time.Now(),
	}
	t.mu.Lock()
	var evicted *hostSession
	if t.full(c) {
		most := c
		for other, n := range t.counts {
			if n > t.counts[most] && !t.fullOf(c) {
				most = other
			}
		}
		if evicted = t.stalest(&most); evicted != nil {
			t.remove(evicted)
		}
	}
	ok := !t.closed && !t.full(c)
	if ok {
		t.byID[s.id] = s
		t.counts[c]++
		s.place = t.order.PushBack(s)
		t.schedule()
	}
	t.mu.Unlock()
	if evicted != nil {
		evicted.end(errSessionEnded)
	}
	if !ok {
		return nil
	}
	return s
}

// full reports a bound that the client's next session would pass; fullOf, the client's
// own. Call them with mu held.
func (t *hostSessions) full(c client) bool {
	return t.limit >= 0 && t.order.Len() >= t.limit || t.fullOf(c)
}

func (t *hostSessions) fullOf(c client) bool {
	return t.each >= 0 && t.counts[c] >= t.each
}

// use is a caller's session, busy until release; nil where it has none of that id.
func (t *hostSessions) use(id string, caller toolbox.Principal) *hostSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil || s.client.caller != caller {
		return nil
	}
	s.busy++
	return s
}

func (t *hostSessions) release(s *hostSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.busy--
	s.seen = time.Now()
	if t.byID[s.id] == s {
		t.order.MoveToBack(s.place)
		t.schedule()
	}
}

// stream counts a GET stream of a session; false where it has too many.
func (t *hostSessions) stream(s *hostSession, n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > 0 && s.streams >= maxSessionStreams {
		return false
	}
	s.streams += n
	return true
}

// drop ends a session.
func (t *hostSessions) drop(s *hostSession) {
	t.mu.Lock()
	t.remove(s)
	t.mu.Unlock()
	s.end(errSessionEnded)
}

// close ends all sessions and takes no new ones.
func (t *hostSessions) close(cause error) {
	t.mu.Lock()
	t.closed = true
	all := make([]*hostSession, 0, len(t.byID))
	for _, s := range t.byID {
		all = append(all, s)
	}
	for _, s := range all {
		t.remove(s)
	}
	if t.sweep != nil {
		t.sweep.Stop()
	}
	t.mu.Unlock()
	for _, s := range all {
		s.end(cause)
	}
}

// remove takes a session off the table. Call it with mu held.
func (t *hostSessions) remove(s *hostSession) {
	if t.byID[s.id] == s {
		delete(t.byID, s.id)
		if t.counts[s.client]--; t.counts[s.client] == 0 {
			delete(t.counts, s.client)
		}
		t.order.Remove(s.place)
		close(s.done)
	}
}

// stalest is the session of a client, nil: of all, that has been idle for longest; nil
// where all are busy. Call it with mu held.
func (t *hostSessions) stalest(of *client) *hostSession {
	for e := t.order.Front(); e != nil; e = e.Next() {
		if s := e.Value.(*hostSession); s.busy == 0 && (of == nil || s.client == *of) {
			return s
		}
	}
	return nil
}

// schedule sets the timer for the next expiry. Call it with mu held.
func (t *hostSessions) schedule() {
	if t.idle <= 0 || t.sweep != nil || t.closed {
		return
	}
	if s := t.stalest(nil); s != nil {
		t.sweep = time.AfterFunc(time.Until(s.seen.Add(t.idle)), t.expire)
	}
}

// expire ends the sessions whose time is over.
func (t *hostSessions) expire() {
	t.mu.Lock()
	t.sweep = nil
	var over []*hostSession
	for e := t.order.Front(); e != nil; {
		s := e.Value.(*hostSession)
		e = e.Next()
		if s.busy > 0 {
			continue
		}
		if time.Since(s.seen) < t.idle {
			break
		}
		t.remove(s)
		over = append(over, s)
	}
	t.schedule()
	t.mu.Unlock()
	for _, s := range over {
		s.end(errSessionEnded)
	}
}
