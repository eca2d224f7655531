package interop

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/lane"
	"github.com/indusagi/indus/toolbox"
)

// activeRequest is a request in flight, during which the server may send messages and questions.
type activeRequest struct {
	ctx      context.Context // ends with the request
	client   *Client         // its client; nil if there is none to notify
	caller   toolbox.Principal
	exchange uint64 // Message.Of of the request
	limits   *conn.CallDeadlines
	// subject is the kind of the request, see [habits]. It is empty if the kind is not recorded.
	subject string
}

// wantsNotification reports whether the client of t wants a notification that names no request.
func (t *activeRequest) wantsNotification(method string) bool {
	return t.client != nil && t.client.Back != nil && t.client.wantsNotification(method)
}

// wantsNotification reports whether c wants a notification. A modern client without a level wants no logs (2026-07-28,
// server/utilities/logging).
func (c *Client) wantsNotification(method string) bool {
	return method != protocol.NoteMessage || c.Era == Legacy || c.LogLevel != ""
}

// activeRequests holds the requests in flight on one connection. Over stdio, a message of the server does not name its
// request, and a connection may have many callers.
type activeRequests struct {
	mu            sync.Mutex
	lastNumber    uint64
	open          map[uint64]*activeRequest
	hadClient     bool // there was a request with a client
	used          bool // the connection was used, by firstCaller
	firstCaller   toolbox.Principal
	manyCallers   bool               // there were callers besides firstCaller
	openQuestions int                // questions that wait for an answer
	unreplied     []unrepliedRequest // requests that ended without a reply; the server may still work on them, and ask
	ended         chan struct{}      // closed by the next unregister; nil if no question waits for it
	soleClient    *Client            // the only client, as of its last request; nil if there is none, or several
	started       chan struct{}      // closed by the first register; nil if no question waits for it
}

// unrepliedRequest is a request that ended without a reply.
type unrepliedRequest struct {
	number  uint64
	ended   time.Time
	session string // of its client
}

const (
	// attributionWait bounds the wait of a question until it can belong to only one request.
	attributionWait = 10 * time.Second
	// unrepliedMemory is how long a question may belong to a request that ended without a reply.
	unrepliedMemory = time.Minute
	// maxUnreplied bounds how many such requests are remembered. The newest are kept.
	maxUnreplied = 64
)

// firstRequestWait is how long a question that arrives before any request waits for the first request, for which the
// connection was made.
const firstRequestWait = 5 * time.Second

// addCaller records a caller that uses the connection without a request of its own. Messages of the server then may
// concern that caller, and no other receives them.
func (l *activeRequests) addCaller(caller toolbox.Principal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addCallerLocked(caller)
}

// addCallerLocked is addCaller with mu held.
func (l *activeRequests) addCallerLocked(caller toolbox.Principal) {
	if !l.used {
		l.used, l.firstCaller = true, caller
	}
	l.manyCallers = l.manyCallers || caller != l.firstCaller
}

// awaitFirst waits until there is or was a request.
func (l *activeRequests) awaitFirst(ctx context.Context) {
	l.mu.Lock()
	if l.lastNumber > 0 {
		l.mu.Unlock()
		return
	}
	if l.started == nil {
		l.started = make(chan struct{})
	}
	started := l.started
	l.mu.Unlock()
	select {
	case <-started:
	case <-time.After(firstRequestWait):
	case <-ctx.Done():
	}
}

// register records a request in flight and returns its number, until unregister.
func (l *activeRequests) register(t *activeRequest) (number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[uint64]*activeRequest{}
	}
	l.lastNumber++
	l.open[l.lastNumber] = t
	if l.started != nil {
		close(l.started)
		l.started = nil
	}
	l.recordUse(t.caller, t.client)
	return l.lastNumber
}

// expectClient records the client of the connection, before the server can ask, or for requests that belong to no
// client.
func (l *activeRequests) expectClient(caller toolbox.Principal, c *Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c != nil {
		l.recordUse(caller, c)
	}
}

// recordUse records a user of the connection. c is nil if there is no client to notify. Call it with mu held.
func (l *activeRequests) recordUse(caller toolbox.Principal, c *Client) {
	if c != nil || caller != "" { // otherwise it is for all
		l.addCallerLocked(caller)
	}
	switch {
	case c == nil:
	case !l.hadClient:
		l.hadClient, l.soleClient = true, c
	default:
		if l.soleClient != nil && (l.manyCallers || c.Session == "" || c.Session != l.soleClient.Session) {
			l.soleClient = nil
		} else if l.soleClient != nil {
			l.soleClient = c
		}
	}
}

func (l *activeRequests) unregister(number uint64, answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !answered {
		cut := unrepliedRequest{number: number, ended: time.Now()}
		if c := l.open[number].client; c != nil {
			cut.session = c.Session
		}
		l.unreplied = append(l.unreplied[max(0, len(l.unreplied)+1-maxUnreplied):], cut)
	}
	delete(l.open, number)
	if l.ended != nil {
		close(l.ended)
		l.ended = nil
	}
}

// hasUnreplied reports whether a question may arrive for a request that is over.
func (l *activeRequests) hasUnreplied() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.unreplied) > 0
}

// request returns the request in flight with that number, or nil if there is none.
func (l *activeRequests) request(number uint64) *activeRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[number]
}

// notificationTarget returns the newest request in flight, if a notification without a request can belong only to its
// client. It returns 0 if there is none. On a connection of several callers it returns 0, because the notification may
// concern another caller.
func (l *activeRequests) notificationTarget(method string) (newest uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.manyCallers {
		return 0
	}
	for number, t := range l.open {
		switch {
		case !t.wantsNotification(method):
		case newest != 0 && l.soleClient == nil:
			return 0
		default:
			newest = max(newest, number)
		}
	}
	return newest
}

// sessionPeer returns the receiver of a notification that belongs to no request, or arrived too late for it. It is the
// receiver of the only client of the connection, or nil if there is none.
func (l *activeRequests) sessionPeer(method string) Peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.manyCallers || l.soleClient == nil || !l.soleClient.wantsNotification(method) {
		return nil
	}
	return l.soleClient.Always
}

// candidates holds the requests that a question without a request can belong to.
type candidates struct {
	newest   *activeRequest
	inFlight int      // how many are in flight
	clients  int      // their clients; each request without a session counts as one
	subjects []string // their kinds
	changed  <-chan struct{}
}

// candidates returns the candidates among the requests up to last, which was the newest when the question arrived. A
// request that ended without a reply counts for a while.
func (l *activeRequests) candidates(last uint64) (c candidates) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var number uint64
	sessions := map[string]bool{}
	count := func(session string) {
		if session == "" || !sessions[session] {
			c.clients++
		}
		sessions[session] = true
	}
	for id, t := range l.open {
		if id > last {
			continue
		}
		c.inFlight++
		if t.client == nil {
			count("")
		} else {
			count(t.client.Session)
		}
		if t.subject != "" {
			c.subjects = append(c.subjects, t.subject)
		}
		if id > number {
			c.newest, number = t, id
		}
	}
	for _, cut := range l.unreplied {
		if c.inFlight > 0 && cut.number <= last && time.Since(cut.ended) < unrepliedMemory {
			count(cut.session)
		}
	}
	if l.ended == nil {
		l.ended = make(chan struct{})
	}
	c.changed = l.ended
	return c
}

// errAmbiguousQuestion refuses a question that names no request if more than one client may have caused it.
var errAmbiguousQuestion = &RPCError{Code: CodeInternal,
	Message: "several requests are under way, and it is not known which of them this belongs to; " +
		"the next such call has a connection of its own: call again"}

// attribute returns the request, or the session, that a question without a request belongs to. It is the only client
// that uses the connection, or the only request in flight. If there are several, attribute waits until the others have
// ended, because the request that asks cannot end without an answer. If more than one is left after a while, the
// question is refused. h records which requests ask. guessed reports that other requests of the same client may have
// asked instead.
func (l *activeRequests) attribute(
	ctx context.Context, h *lane.Habits,
) (request *activeRequest, session Peer, guessed bool, err error) {
	l.mu.Lock()
	last := l.lastNumber
	if l.soleClient != nil && l.soleClient.Always != nil && len(l.open) != 1 {
		defer l.mu.Unlock()
		return nil, l.soleClient.Always, false, nil
	}
	l.mu.Unlock()
	c := l.candidates(last)
	if h != nil {
		settle := h.RecordQuestion(c.subjects)
		defer func() { settle(c.subjects) }()
	}
	for late := time.After(attributionWait); c.clients > 1; c = l.candidates(last) {
		select {
		case <-c.changed:
		case <-late:
			return nil, nil, false, errAmbiguousQuestion
		case <-ctx.Done():
			return nil, nil, false, ctx.Err()
		}
	}
	if c.inFlight > 1 && c.newest.client.Always != nil {
		return nil, c.newest.client.Always, false, nil
	}
	return c.newest, nil, c.inFlight > 1, nil
}

// pauseDeadlines pauses the silence deadline of all requests in flight while the server waits for an answer.
func (l *activeRequests) pauseDeadlines() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.openQuestions++
	var releases []func()
	for _, t := range l.open {
		releases = append(releases, t.limits.Pause())
	}
	return func() {
		l.mu.Lock()
		l.openQuestions--
		l.mu.Unlock()
		for _, release := range releases {
			release()
		}
	}
}

// hasOpenQuestion reports whether the server waits for an answer.
func (l *activeRequests) hasOpenQuestion() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.openQuestions > 0
}

// receiver returns the receiver of the messages that belong to a request. Each message resets the silence deadline. A
// message about a list or a resource concerns all clients, whichever stream it arrives on.
func (e *Endpoint) receiver(m Message, client *Client, token json.RawMessage, onMessage func()) conn.Receiver {
	return func(ctx context.Context, from conn.Message) (json.RawMessage, error) {
		onMessage()
		if conn.ConcernsAll(from.Method) {
			from.Of = 0
			return e.handleIncoming(ctx, from)
		}
		n := e.messageFrom(from)
		n.Of = m.Of
		if m.back == nil || client != nil && !client.wantsNotification(n.Method) || !e.maskParams(&n) {
			return nil, nil
		}
		if n.Method == protocol.NoteProgress && token != nil {
			params, err := wire.Rewrite(n.Params, wire.Edit{Key: "progressToken", Value: token})
			if err != nil {
				return nil, nil //nolint:nilerr // it names two tokens
			}
			n.Params = params
		}
		return m.back(ctx, n)
	}
}

// handleIncoming handles the server's requests, and the notifications that belong to no request of ours.
func (e *Endpoint) handleIncoming(ctx context.Context, from conn.Message) (json.RawMessage, error) {
	m := e.messageFrom(from)
	if !e.maskParams(&m) {
		return nil, nil
	}
	t := e.active.request(m.Of)
	m.Of = 0
	if t != nil {
		m.Of = t.exchange
	}
	switch {
	case m.Method == protocol.NoteAcknowledged: // late: the subscription is the endpoint's own
		return nil, nil
	case m.ID != nil && e.opts.onQuestion != nil:
		return e.relayQuestion(ctx, t, m)
	case m.ID != nil:
	case e.concernsAll(m.Method):
		e.recordChange(m)
	case e.opts.broadcast != nil:
		if always := e.active.sessionPeer(m.Method); always != nil {
			return always(ctx, m)
		}
		e.opts.broadcast(m)
	}
	if e.opts.Receive != nil && e.opts.onQuestion == nil {
		if m.ID != nil {
			defer e.active.pauseDeadlines()() // a person may be asked
		}
		return e.opts.Receive(ctx, m)
	}
	return nil, &RPCError{Code: CodeMethodNotFound, Message: "method not found: " + m.Method}
}

// concernsAll reports whether a notification is for all clients. A notification about a task on a connection of one
// client or principal is not.
func (e *Endpoint) concernsAll(method string) bool {
	isTask := strings.HasPrefix(method, "notifications/tasks")
	return conn.ConcernsAll(method) || isTask && e.opts.onQuestion == nil && !e.opts.private
}

// requestFor returns the only request in flight that a notification without a request can belong to. It returns 0 if
// there is none, or if the connection belongs to no fleet. Then its only user receives everything.
func (e *Endpoint) requestFor(method string) uint64 {
	if e.opts.broadcast == nil || e.concernsAll(method) {
		return 0
	}
	return e.active.notificationTarget(method)
}

// recordChange records a change of a list, a resource or a task.
func (e *Endpoint) recordChange(m Message) {
	if m.Method == protocol.NoteToolsChanged {
		e.invalidateList()
	}
	if e.opts.broadcast != nil {
		e.opts.broadcast(m)
	}
}

// errRetired ends a question without an answer, because a person may take longer than the server stays in the fleet.
var errRetired = errors.New("the server that asks was taken out of the configuration, or replaced")

// withRetirement returns a context that also ends when the endpoint's server leaves its fleet. stop must follow.
func (e *Endpoint) withRetirement(ctx context.Context) (until context.Context, stop func()) {
	if e.opts.retired == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(e.opts.retired, func() { cancel(errRetired) })
	return ctx, func() { unwatch(); cancel(nil) }
}

// relayQuestion passes a server's question to the client of a lane. A client is never asked for a capability that it
// has not declared.
func (e *Endpoint) relayQuestion(ctx context.Context, t *activeRequest, m Message) (json.RawMessage, error) {
	if err := protocol.CheckClientRequest(e.opts.Capabilities, m.Method, m.Params); err != nil {
		return nil, err
	}
	ask := Peer(nil)
	h := e.opts.habits
	if m.Method == "roots/list" { // roots belong to the session, and outlive any request
		h = nil
		if t == nil {
			ask = e.active.sessionPeer(m.Method)
		}
	}
	guessed := false
	if t == nil && ask == nil {
		e.active.awaitFirst(ctx)
		var err error
		if t, ask, guessed, err = e.active.attribute(ctx, h); err != nil {
			return nil, err
		}
	}
	askCtx, stop := e.withRetirement(ctx)
	defer stop()
	to := m
	if t != nil && t.client != nil {
		if t.client.Back == nil || protocol.CheckClientRequest(t.client.capabilitiesFor(Legacy), m.Method, m.Params) != nil {
			// Another client has opened the connection.
			return nil, &RPCError{Code: CodeMethodNotFound, Message: "method not found: " + m.Method}
		}
		to.Of, to.Caller = t.exchange, t.caller
		ask = t.client.Back
		var cancel context.CancelFunc
		askCtx, cancel = context.WithCancel(askCtx)
		defer cancel()
		defer context.AfterFunc(t.ctx, cancel)()
	}
	if ask == nil {
		why := m.Method + ": there is no request under way that this could belong to"
		return nil, &RPCError{Code: CodeInternal, Message: why}
	}
	release := e.active.pauseDeadlines()
	e.opts.onQuestion()
	result, err := ask(askCtx, to)
	release()
	if err != nil && guessed && t.ctx.Err() != nil && ctx.Err() == nil { // another request of the client asks
		return e.relayQuestion(ctx, nil, m)
	}
	return result, err
}
