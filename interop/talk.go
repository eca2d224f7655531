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
	"github.com/indusagi/indus/toolbox"
)

// talk is a request in flight, during which the server may send messages and questions.
type talk struct {
	ctx    context.Context // ends with the request
	client *Client         // its client; nil if there is none to notify
	caller toolbox.Principal
	of     uint64 // Message.Of of the request
	limits *callDeadlines
	// subject is the kind of the request, see [habits]. It is empty if the kind is not recorded.
	subject string
}

// hears reports whether the client of t wants a notification that names no request.
func (t *talk) hears(method string) bool {
	return t.client != nil && t.client.Back != nil && t.client.hears(method)
}

// hears reports whether c wants a notification. A modern client without a level wants no logs (2026-07-28,
// server/utilities/logging).
func (c *Client) hears(method string) bool {
	return method != protocol.NoteMessage || c.Era == Legacy || c.LogLevel != ""
}

// talks holds the requests in flight on one connection. Over stdio, a message of the server does not name its request,
// and a connection may have many callers.
type talks struct {
	mu      sync.Mutex
	last    uint64
	open    map[uint64]*talk
	known   bool // there was a request with a client
	used    bool // the connection was used, by first
	first   toolbox.Principal
	several bool          // there were callers besides first
	asking  int           // questions that wait for an answer
	cuts    []cutTalk     // requests that ended without a reply; the server may still work on them, and ask
	left    chan struct{} // closed by the next leave; nil if no question waits for it
	sole    *Client       // the only client of the connection, as of its last request; nil if there is none, or several
	begun   chan struct{} // closed by the first join; nil if no question waits for it
}

// cutTalk is a request that ended without a reply.
type cutTalk struct {
	of      uint64
	at      time.Time
	session string // of its client
}

const (
	// causeWait bounds the wait of a question until it can belong to only one request.
	causeWait = 10 * time.Second
	// cutMemory is how long a question may belong to a request that ended without a reply.
	cutMemory = time.Minute
	// maxCuts bounds how many such requests are remembered. The newest are kept.
	maxCuts = 64
)

// beginWait is how long a question that arrives before any request waits for the first request, for which the
// connection was made.
const beginWait = 5 * time.Second

// uses records a caller that uses the connection without a request of its own. Messages of the server then may concern
// that caller, and no other receives them.
func (l *talks) uses(caller toolbox.Principal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.usedBy(caller)
}

// usedBy is uses with mu held.
func (l *talks) usedBy(caller toolbox.Principal) {
	if !l.used {
		l.used, l.first = true, caller
	}
	l.several = l.several || caller != l.first
}

// begin waits until there is or was a request.
func (l *talks) begin(ctx context.Context) {
	l.mu.Lock()
	if l.last > 0 {
		l.mu.Unlock()
		return
	}
	if l.begun == nil {
		l.begun = make(chan struct{})
	}
	begun := l.begun
	l.mu.Unlock()
	select {
	case <-begun:
	case <-time.After(beginWait):
	case <-ctx.Done():
	}
}

// join records a request in flight and returns its number, until leave.
func (l *talks) join(t *talk) (of uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[uint64]*talk{}
	}
	l.last++
	l.open[l.last] = t
	if l.begun != nil {
		close(l.begun)
		l.begun = nil
	}
	l.use(t.caller, t.client)
	return l.last
}

// expect records the client of the connection, before the server can ask, or for requests that belong to no client.
func (l *talks) expect(caller toolbox.Principal, c *Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c != nil {
		l.use(caller, c)
	}
}

// use records a user of the connection. c is nil if there is no client to notify. Call it with mu held.
func (l *talks) use(caller toolbox.Principal, c *Client) {
	if c != nil || caller != "" { // otherwise it is for all
		l.usedBy(caller)
	}
	switch {
	case c == nil:
	case !l.known:
		l.known, l.sole = true, c
	default:
		if l.sole != nil && (l.several || c.Session == "" || c.Session != l.sole.Session) {
			l.sole = nil
		} else if l.sole != nil {
			l.sole = c
		}
	}
}

func (l *talks) leave(of uint64, answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !answered {
		cut := cutTalk{of: of, at: time.Now()}
		if c := l.open[of].client; c != nil {
			cut.session = c.Session
		}
		l.cuts = append(l.cuts[max(0, len(l.cuts)+1-maxCuts):], cut)
	}
	delete(l.open, of)
	if l.left != nil {
		close(l.left)
		l.left = nil
	}
}

// wereCut reports whether a question may arrive for a request that is over.
func (l *talks) wereCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.cuts) > 0
}

// number returns the request in flight with that number, or nil if there is none.
func (l *talks) number(of uint64) *talk {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[of]
}

// listener returns the newest request in flight, if a notification without a request can belong only to its client. It
// returns 0 if there is none. On a connection of several callers it returns 0, because the notification may concern
// another caller.
func (l *talks) listener(method string) (newest uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.several {
		return 0
	}
	for of, t := range l.open {
		switch {
		case !t.hears(method):
		case newest != 0 && l.sole == nil:
			return 0
		default:
			newest = max(newest, of)
		}
	}
	return newest
}

// session returns the receiver of a notification that belongs to no request, or arrived too late for it. It is the
// receiver of the only client of the connection, or nil if there is none.
func (l *talks) session(method string) Peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.several || l.sole == nil || !l.sole.hears(method) {
		return nil
	}
	return l.sole.Always
}

// candidates holds the requests that a question without a request can belong to.
type candidates struct {
	newest   *talk
	calls    int      // how many are in flight
	clients  int      // their clients; each request without a session counts as one
	subjects []string // their kinds
	fewer    <-chan struct{}
}

// candidates returns the candidates among the requests up to last, which was the newest when the question arrived. A
// request that ended without a reply counts for a while.
func (l *talks) candidates(last uint64) (c candidates) {
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
	for of, t := range l.open {
		if of > last {
			continue
		}
		c.calls++
		if t.client == nil {
			count("")
		} else {
			count(t.client.Session)
		}
		if t.subject != "" {
			c.subjects = append(c.subjects, t.subject)
		}
		if of > number {
			c.newest, number = t, of
		}
	}
	for _, cut := range l.cuts {
		if c.calls > 0 && cut.of <= last && time.Since(cut.at) < cutMemory {
			count(cut.session)
		}
	}
	if l.left == nil {
		l.left = make(chan struct{})
	}
	c.fewer = l.left
	return c
}

// errNoCause refuses a question that names no request if more than one client may have caused it.
var errNoCause = &RPCError{Code: CodeInternal,
	Message: "several requests are under way, and it is not known which of them this belongs to; the next such call has a connection of its own: call again"}

// cause returns the request, or the session, that a question without a request belongs to. It is the only client that
// uses the connection, or the only request in flight. If there are several, cause waits until the others have ended,
// because the request that asks cannot end without an answer. If more than one is left after a while, the question is
// refused. h records which requests ask. guessed reports that other requests of the same client may have asked instead.
func (l *talks) cause(ctx context.Context, h *habits) (t *talk, session Peer, guessed bool, err error) {
	l.mu.Lock()
	last := l.last
	if l.sole != nil && l.sole.Always != nil && len(l.open) != 1 {
		defer l.mu.Unlock()
		return nil, l.sole.Always, false, nil
	}
	l.mu.Unlock()
	c := l.candidates(last)
	if h != nil {
		settle := h.asked(c.subjects)
		defer func() { settle(c.subjects) }()
	}
	for late := time.After(causeWait); c.clients > 1; c = l.candidates(last) {
		select {
		case <-c.fewer:
		case <-late:
			return nil, nil, false, errNoCause
		case <-ctx.Done():
			return nil, nil, false, ctx.Err()
		}
	}
	if c.calls > 1 && c.newest.client.Always != nil {
		return nil, c.newest.client.Always, false, nil
	}
	return c.newest, nil, c.calls > 1, nil
}

// hold pauses the silence deadline of all requests in flight while the server waits for an answer.
func (l *talks) hold() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking++
	var releases []func()
	for _, t := range l.open {
		releases = append(releases, t.limits.hold())
	}
	return func() {
		l.mu.Lock()
		l.asking--
		l.mu.Unlock()
		for _, release := range releases {
			release()
		}
	}
}

// isHeld reports whether the server waits for an answer.
func (l *talks) isHeld() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asking > 0
}

// receiver returns the receiver of the messages that belong to a request. Each message resets the silence deadline. A
// message about a list or a resource concerns all clients, whichever stream it arrives on.
func (e *Endpoint) receiver(m Message, client *Client, token json.RawMessage, heard func()) conn.Receiver {
	return func(ctx context.Context, from conn.Message) (json.RawMessage, error) {
		heard()
		if conn.ConcernsAll(from.Method) {
			from.Of = 0
			return e.received(ctx, from)
		}
		n := e.receivedFrom(from)
		n.Of = m.Of
		if m.back == nil || client != nil && !client.hears(n.Method) || !e.discreet(&n) {
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

// received handles the server's requests, and the notifications that belong to no request of ours.
func (e *Endpoint) received(ctx context.Context, from conn.Message) (json.RawMessage, error) {
	m := e.receivedFrom(from)
	if !e.discreet(&m) {
		return nil, nil
	}
	t := e.talks.number(m.Of)
	if m.Of = 0; t != nil {
		m.Of = t.of
	}
	switch {
	case m.Method == protocol.NoteAcknowledged: // late: the subscription is the endpoint's own
		return nil, nil
	case m.ID != nil && e.opts.lane != nil:
		return e.question(ctx, t, m)
	case m.ID != nil:
	case e.concernsAll(m.Method):
		e.changed(m)
	case e.opts.outside != nil:
		if always := e.talks.session(m.Method); always != nil {
			return always(ctx, m)
		}
		e.opts.outside(m)
	}
	if e.opts.Receive != nil && e.opts.lane == nil {
		if m.ID != nil {
			defer e.talks.hold()() // a person may be asked
		}
		return e.opts.Receive(ctx, m)
	}
	return nil, &RPCError{Code: CodeMethodNotFound, Message: "method not found: " + m.Method}
}

// concernsAll reports whether a notification is for all clients. A notification about a task on a connection of one
// client or principal is not.
func (e *Endpoint) concernsAll(method string) bool {
	return conn.ConcernsAll(method) || e.opts.lane == nil && !e.opts.private && strings.HasPrefix(method, "notifications/tasks")
}

// belongs returns the only request in flight that a notification without a request can belong to. It returns 0 if there
// is none, or if the connection belongs to no fleet. Then its only user receives everything.
func (e *Endpoint) belongs(method string) uint64 {
	if e.opts.outside == nil || e.concernsAll(method) {
		return 0
	}
	return e.talks.listener(method)
}

// changed records a change of a list, a resource or a task.
func (e *Endpoint) changed(m Message) {
	if m.Method == protocol.NoteToolsChanged {
		e.listChanged()
	}
	if e.opts.outside != nil {
		e.opts.outside(m)
	}
}

// errRetired ends a question without an answer, because a person may take longer than the server stays in the fleet.
var errRetired = errors.New("the server that asks was taken out of the configuration, or replaced")

// untilRetired returns a context that also ends when the endpoint's server leaves its fleet. stop must follow.
func (e *Endpoint) untilRetired(ctx context.Context) (until context.Context, stop func()) {
	if e.opts.retired == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(e.opts.retired, func() { cancel(errRetired) })
	return ctx, func() { unwatch(); cancel(nil) }
}

// question passes a server's question to the client of a lane. A client is never asked for a capability that it has not
// declared.
func (e *Endpoint) question(ctx context.Context, t *talk, m Message) (json.RawMessage, error) {
	if err := protocol.CheckClientRequest(e.opts.Capabilities, m.Method, m.Params); err != nil {
		return nil, err
	}
	ask := Peer(nil)
	h := e.opts.habits
	if m.Method == "roots/list" { // roots belong to the session, and outlive any request
		if h = nil; t == nil {
			ask = e.talks.session(m.Method)
		}
	}
	guessed := false
	if t == nil && ask == nil {
		e.talks.begin(ctx)
		var err error
		if t, ask, guessed, err = e.talks.cause(ctx, h); err != nil {
			return nil, err
		}
	}
	asking, retired := e.untilRetired(ctx)
	defer retired()
	to := m
	if t != nil && t.client != nil {
		if t.client.Back == nil || protocol.CheckClientRequest(t.client.declaredTo(Legacy), m.Method, m.Params) != nil {
			return nil, &RPCError{Code: CodeMethodNotFound, Message: "method not found: " + m.Method} // another client has opened the connection
		}
		to.Of, to.Caller, ask = t.of, t.caller, t.client.Back
		var cancel context.CancelFunc
		asking, cancel = context.WithCancel(asking)
		defer cancel()
		defer context.AfterFunc(t.ctx, cancel)()
	}
	if ask == nil {
		return nil, &RPCError{Code: CodeInternal, Message: m.Method + ": there is no request under way that this could belong to"}
	}
	release := e.talks.hold()
	e.opts.lane()
	result, err := ask(asking, to)
	release()
	if err != nil && guessed && t.ctx.Err() != nil && ctx.Err() == nil { // another request of the client asks
		return e.question(ctx, nil, m)
	}
	return result, err
}
