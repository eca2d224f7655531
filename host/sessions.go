package host

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// frontSession is the state of a client beyond one request. On stdio and other duplex streams it is the whole
// connection, of either era. Over HTTP it is a legacy session.
type frontSession struct {
	front         *front
	name          string // interop.Client's Session
	transport     string // see Options.SessionEnded
	began         time.Time
	always        interop.Peer    // interop.Client's Always
	life          context.Context // interop.Client's Life
	endLife       context.CancelFunc
	notes         *noteQueue       // for a legacy client, once it is initialized
	subscriptions *subscriptionSet // its subscriptions
	// listWait is how long the first tools/list waits for servers; 0: not at all.
	listWait time.Duration
	settled  sync.Once // the first tools/list has waited
	// maxQuestions bounds the open questions to the client. streaming reports whether the client has a stream outside
	// of its requests. If it is nil, the transport has no such stream.
	maxQuestions int
	streaming    func() bool

	mu             sync.Mutex
	version        string          // of the legacy handshake; "" before it
	caps           json.RawMessage // capabilities of the handshake; nil: none
	clientName     string          // interop.Client's Name, of the handshake
	clientVersion  string          // interop.Client's Version, of the handshake
	level          string          // of log messages, set by logging/setLevel; "": all
	calls          map[string]*inFlight
	answering      []*frontRequest          // requests of a legacy client that are being answered, the newest last
	lastQuestionID int64                    // number of questions so far
	questions      map[string]*openQuestion // by callKey of their ids; nil before the first
	refusalCause   error                    // why no more answers arrive; nil while they may
	endCause       error                    // why the session ended; nil while it lives
}

func newFrontSession(f *front) *frontSession {
	s := &frontSession{
		front: f, name: rand.Text(), transport: "http", began: time.Now(), notes: newNoteQueue(),
		calls: map[string]*inFlight{}, maxQuestions: maxQuestions,
	}
	s.life, s.endLife = context.WithCancel(context.Background())
	s.always = s.sendOutside
	s.subscriptions = newSubscriptionSet(f, s.notes)
	return s
}

// storeHandshake stores the version, the capabilities and the client's name of a handshake. The last handshake counts.
func (s *frontSession) storeHandshake(version string, caps json.RawMessage, c *interop.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clientName, s.clientVersion = c.Name, c.Version
	s.version, s.caps = version, bytes.Clone(declaredCapabilities(caps)) // keep only this part of the handshake
}

// agreedVersion returns the version of the handshake, or "" before it.
func (s *frontSession) agreedVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// initialized begins to collect notifications for a legacy client.
func (s *frontSession) initialized() {
	if s.agreedVersion() == "" {
		return
	}
	s.front.subscribe(s.notes, nil)
	if s.ended() != nil {
		s.front.unsubscribe(s.notes)
	}
}

// ended returns why the session ended, or nil while it lives.
func (s *frontSession) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endCause
}

var errDuplicateID = errors.New("a request with this id is in flight")

// inFlight is a running call.
type inFlight struct {
	key    string
	cancel context.CancelCauseFunc
}

// begin adds a call to the calls in flight. serve must follow. The error is errDuplicateID or the reason why the
// session ended.
func (s *frontSession) begin(ctx context.Context, id json.RawMessage) (context.Context, *inFlight, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	call := &inFlight{callKey(id), cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.endCause
	if _, duplicate := s.calls[call.key]; duplicate && err == nil {
		err = errDuplicateID
	}
	if err != nil {
		cancel(err)
		return nil, nil, err
	}
	s.calls[call.key] = call
	return ctx, call, nil
}

// serve answers the request of a call and ends the call. A client that reads the answer may use the id again.
func (s *frontSession) serve(ctx context.Context, call *inFlight, r *frontRequest) frontAnswer {
	a := s.front.answer(ctx, r)
	s.mu.Lock()
	if s.calls[call.key] == call {
		delete(s.calls, call.key)
	}
	s.mu.Unlock()
	call.cancel(nil)
	return a
}

// cancelCall cancels a call for the client if it is in flight. After it, the id may be used again.
func (s *frontSession) cancelCall(key, reason string) {
	s.mu.Lock()
	call := s.calls[key]
	delete(s.calls, key)
	s.mu.Unlock()
	if call != nil {
		call.cancel(&droppedError{cmp.Or(protocol.Printable(reason, maxReason), errCallDropped.Error())})
	}
}

// maxReason bounds the part of a client's cancellation reason that is passed on, in bytes.
const maxReason = 300

// droppedError is errCallDropped with the client's own text.
type droppedError struct{ reason string }

func (e *droppedError) Error() string        { return e.reason }
func (e *droppedError) Is(target error) bool { return target == errCallDropped }

// end cancels all calls. The session accepts no more calls. Only the first cause counts.
func (s *frontSession) end(cause error) {
	s.mu.Lock()
	if s.endCause != nil {
		s.mu.Unlock()
		return
	}
	s.endCause = cause
	calls := slices.Collect(maps.Values(s.calls))
	s.mu.Unlock()
	s.front.unsubscribe(s.notes)
	s.refuseQuestions(cause)
	s.front.exchanges.CancelSession(s.name, errSessionEnded)
	s.subscriptions.end()
	for _, call := range calls {
		call.cancel(cause)
	}
	s.endLife()
	version := s.agreedVersion()
	refused := version == "" && (s.transport == "http" || s.transport == "sse") // there was no handshake
	if ended := s.front.sessionEnded; ended != nil && !refused {
		ended(version, s.transport, time.Since(s.began))
	}
}

// settle makes the first list of a session wait for servers that have not answered yet. Lists that are requested
// meanwhile wait too.
func (s *frontSession) settle(ctx context.Context, p toolbox.Principal) {
	b, ok := s.front.backend.(Settler)
	if !ok || s.listWait <= 0 {
		return
	}
	s.settled.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, s.listWait)
		defer cancel()
		b.Settle(ctx, p)
	})
}

// handleNotification handles a client's notification. address is [interop.Client].Address.
func (f *front) handleNotification(ctx context.Context, s *frontSession, m interop.Message, address string) {
	switch m.Method {
	case protocol.NoteInitialized:
		s.initialized()
	case protocol.NoteCancelled:
		if id, ok := wire.Lookup(m.Params, "requestId"); ok {
			reason, _ := protocol.LookupString(m.Params, "reason")
			s.cancelCall(callKey(id), reason)
		}
	default:
		q := &frontRequest{
			params: m.Params, method: m.Method, era: m.Era, caller: m.Caller,
			session: s, send: func(json.RawMessage, string, ...[]byte) error { return errReplySent },
		}
		q.questionsClosed = true
		q.client.Address = address
		q.describeClient()
		_, _ = f.callBackend(ctx, q, m.Method, m.Params)
	}
}

// handleMessage handles a notification or a response that a client sent over HTTP.
func (s *frontSession) handleMessage(ctx context.Context, m *postedMessage) {
	if m.Kind() == wire.Response {
		s.receiveResponse(&m.Envelope)
		return
	}
	note := interop.Message{Params: m.Params, Method: m.method, Era: interop.Legacy, Caller: m.from.caller}
	s.front.handleNotification(ctx, s, note, m.address)
}

// maxSessionStreams bounds the GET streams of one session.
const maxSessionStreams = 16

// hostSession is a legacy session over HTTP.
type hostSession struct {
	*frontSession
	id     string
	client client         // counted for the bounds of this client
	events *sessionEvents // nil: no events are kept
	sse    *outlet        // the stream of a session over HTTP+SSE, which ends with it; otherwise nil

	// The following are guarded by the lock of hostSessions.
	element  *list.Element
	busy     int // open requests and streams
	streams  int
	lastBusy time.Time // when it was last busy
}

// hostSessions is the table of legacy sessions over HTTP. The session that was busy longest ago is first. Hosts that
// stand beside one another share one table.
type hostSessions struct {
	keys         *Keys
	replay       *Replay
	idle         time.Duration // 0: sessions do not expire
	maxTotal     int           // below 0: no bound
	maxPerClient int           // of one client; below 0: no bound

	pipes   atomic.Int64 // connections that are no HTTP
	streams atomic.Int64 // open streams, of sessions and of subscriptions/listen

	mu     sync.Mutex
	byID   map[string]*hostSession
	counts map[client]int
	order  *list.List
	sweep  *time.Timer // nil: not set
}

func newHostSessions(o *Options) *hostSessions {
	return &hostSessions{
		keys: o.Keys, replay: o.Replay, idle: o.SessionIdle,
		maxTotal: o.MaxSessions, maxPerClient: o.MaxClientSessions,
		byID: map[string]*hostSession{}, counts: map[client]int{}, order: list.New(),
	}
}

// client is the key for the bounds of requests. It is a principal, whatever its address, or an address if there is no
// principal. Of an IPv6 address, it is the network of 64 bits. The zero client has no bounds.
type client struct {
	addr   netip.Prefix
	caller toolbox.Principal
}

func clientOf(caller toolbox.Principal, remote string) client {
	c := client{caller: caller}
	if at, err := netip.ParseAddrPort(remote); err == nil && caller == "" {
		addr := at.Addr().Unmap().WithZone("")
		c.addr, _ = addr.Prefix(min(addr.BitLen(), 64))
	}
	return c
}

// open creates a busy session of a host for a client. If a bound is reached, it evicts an idle session. At the client's
// own bound, it is the client's stalest session. At the bound of all, it is the stalest one of the client with the most
// sessions. So a client that opens many cannot evict sessions of others. It returns nil if there is no room.
func (t *hostSessions) open(h *Host, c client, sse *outlet) *hostSession {
	// The id is sealed, so that a peer without the session can see its principal and its replica. A request finds its
	// session only in the table, so no id is opened for that.
	id := t.keys.Seal(sealed.Token{Kind: sealed.Session, Principal: string(c.caller)})
	s := &hostSession{
		frontSession: newFrontSession(h.front), id: id, client: c, events: t.replay.newSessionEvents(c), sse: sse,
		busy: 1, lastBusy: time.Now(),
	}
	if sse != nil {
		s.transport = "sse"
	}
	s.streaming = func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return s.streams > 0
	}
	t.mu.Lock()
	var evicted *hostSession
	if t.isFull(c) {
		largest := c
		for other, n := range t.counts {
			if n > t.counts[largest] && !t.isClientFull(c) {
				largest = other
			}
		}
		evicted = t.stalest(&largest)
		if evicted != nil {
			t.remove(evicted)
		}
	}
	ok := h.ctx.Err() == nil && !t.isFull(c)
	if ok {
		t.byID[s.id] = s
		t.counts[c]++
		s.element = t.order.PushBack(s)
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

// isFull reports whether one more session of the client would exceed a bound. isClientFull checks only the client's own
// bound. Call them with mu held.
func (t *hostSessions) isFull(c client) bool {
	return t.maxTotal >= 0 && t.order.Len() >= t.maxTotal || t.isClientFull(c)
}

func (t *hostSessions) isClientFull(c client) bool {
	return t.maxPerClient >= 0 && t.counts[c] >= t.maxPerClient
}

// acquire returns a caller's session with a host, which is busy until release. It returns nil if there is no such
// session.
func (t *hostSessions) acquire(h *Host, id string, caller toolbox.Principal) *hostSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil || s.client.caller != caller || s.front != h.front {
		return nil
	}
	s.busy++
	return s
}

// has reports whether a session is in the table.
func (t *hostSessions) has(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id] != nil
}

func (t *hostSessions) release(s *hostSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.busy--
	s.lastBusy = time.Now()
	if t.byID[s.id] == s {
		t.order.MoveToBack(s.element)
		t.schedule()
	}
}

// addStreams adds n to the GET streams of a session. It returns false if there are too many.
func (t *hostSessions) addStreams(s *hostSession, n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > 0 && s.streams >= maxSessionStreams {
		return false
	}
	s.streams += n
	t.streams.Add(int64(n))
	return true
}

// counted returns the number of sessions and of streams.
func (t *hostSessions) counted() (sessions, streams int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.order.Len() + int(t.pipes.Load()), int(t.streams.Load())
}

// drop ends a session.
func (t *hostSessions) drop(s *hostSession) {
	t.mu.Lock()
	t.remove(s)
	t.mu.Unlock()
	s.end(errSessionEnded)
}

// close ends all sessions of a host. Its context has ended, so the host opens no new ones.
func (t *hostSessions) close(h *Host, cause error) {
	t.mu.Lock()
	var all []*hostSession
	for _, s := range t.byID {
		if s.front == h.front {
			all = append(all, s)
		}
	}
	for _, s := range all {
		t.remove(s)
	}
	if t.sweep != nil && t.order.Len() == 0 {
		t.sweep.Stop()
		t.sweep = nil
	}
	t.mu.Unlock()
	for _, s := range all {
		s.end(cause)
	}
}

// remove removes a session from the table. Call it with mu held.
func (t *hostSessions) remove(s *hostSession) {
	if t.byID[s.id] == s {
		delete(t.byID, s.id)
		t.counts[s.client]--
		if t.counts[s.client] == 0 {
			delete(t.counts, s.client)
		}
		t.order.Remove(s.element)
		if s.events != nil {
			s.events.end()
		}
	}
}

// stalest returns the session of a client that has been idle longest. If owner is nil, it searches all clients. It
// returns nil if all sessions are busy. Call it with mu held.
func (t *hostSessions) stalest(owner *client) *hostSession {
	for e := t.order.Front(); e != nil; e = e.Next() {
		if s := e.Value.(*hostSession); s.busy == 0 && (owner == nil || s.client == *owner) {
			return s
		}
	}
	return nil
}

// schedule sets the timer for the next expiry. Call it with mu held.
func (t *hostSessions) schedule() {
	if t.idle <= 0 || t.sweep != nil {
		return
	}
	if s := t.stalest(nil); s != nil {
		t.sweep = time.AfterFunc(time.Until(s.lastBusy.Add(t.idle)), t.expire)
	}
}

// expire ends the sessions that were idle for too long.
func (t *hostSessions) expire() {
	t.mu.Lock()
	t.sweep = nil
	var expired []*hostSession
	for e := t.order.Front(); e != nil; {
		s := e.Value.(*hostSession)
		e = e.Next()
		if s.busy > 0 {
			continue
		}
		if time.Since(s.lastBusy) < t.idle {
			break
		}
		t.remove(s)
		expired = append(expired, s)
	}
	t.schedule()
	t.mu.Unlock()
	for _, s := range expired {
		s.end(errSessionEnded)
	}
}
