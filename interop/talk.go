package interop

import (
	"cmp"
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

// talk is a request under way, while which the server may say and ask things.
type talk struct {
	ctx    context.Context // ends with it
	client *Client         // whose it is; nil: nobody's who could be told
	caller toolbox.Principal
	of     uint64 // Message.Of of the request
	limits *callDeadlines
}

// hears reports whether the client of t wants a notification that names no request.
func (t *talk) hears(method string) bool {
	return t.client != nil && t.client.Back != nil && t.client.hears(method)
}

// hears reports whether c wants a notification: a modern client without a level wants no
// logs (2026-07-28, server/utilities/logging).
func (c *Client) hears(method string) bool {
	return method != protocol.NoteMessage || c.Era == Legacy || c.LogLevel != ""
}

// talks are the requests under way on one connection. Over stdio nothing in a message of the
// server's says for which of them it is, and a connection may have many callers.
type talks struct {
	mu      sync.Mutex
	last    uint64
	open    map[uint64]*talk
	known   bool // there was one with a client
	used    bool // somebody's was: first's
	first   toolbox.Principal
	several bool          // there were callers beside first
	asking  int           // questions that wait for an answer
	cut     bool          // a request of a client's was left without an answer: the server may still be at it, and ask
	sole    *Client       // who alone has used the connection, as of its last request; nil: nobody, or many
	begun   chan struct{} // closed by the first join; nil: nobody waits for it
}

// beginWait is how long a question that comes before any request is kept for the first one, for
// which the connection was made.
const beginWait = 5 * time.Second

// expect notes whose connection it is going to be, before the server is there to ask.
func (l *talks) expect(caller toolbox.Principal, c *Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.sole = true, c
	l.usedBy(caller)
}

// uses notes for whom the connection is used otherwise than by a request of his: what the server says of it
// is nobody else's.
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

// join notes a request under way under a number of its own, until leave.
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

// subscribes notes that a client has the connection do something for it, in requests that are nobody's.
func (l *talks) subscribes(caller toolbox.Principal, c *Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c != nil {
		l.use(caller, c)
	}
}

// use notes who uses the connection; c is nil: no client that could be told. Call it with mu held.
func (l *talks) use(caller toolbox.Principal, c *Client) {
	if c != nil || caller != "" { // else it is for all
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
	delete(l.open, of)
	l.cut = l.cut || !answered
}

// wereCut reports whether a question may come for a request that is over.
func (l *talks) wereCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

// number is the request under way that has a number; nil: none.
func (l *talks) number(of uint64) *talk {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[of]
}

// listener is the newest request under way that a notification can only be for which names none; 0:
// there is none. On a connection that has had several callers none is: what it is about may be another's.
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

// session takes a notification that came too late for its request, or for none: that of the client
// which alone has used the connection. nil: there is none.
func (l *talks) session(method string) Peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.several || l.sole == nil || !l.sole.hears(method) {
		return nil
	}
	return l.sole.Always
}

// asked is who is asked what names no request: the only one under way, else
// the session of the client that alone has used the connection, else, of a principal's own, the newest under way whose
// client may be asked: clients that cannot be share the connection.
func (l *talks) asked(private bool, may func(*talk) bool) (*talk, Peer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sole != nil && len(l.open) != 1 {
		return nil, l.sole.Always
	}
	if len(l.open) == 1 || private {
		newest, able := uint64(0), uint64(0)
		for of, t := range l.open {
			if newest = max(newest, of); may(t) {
				able = max(able, of)
			}
		}
		return l.open[cmp.Or(able, newest)], nil
	}
	return nil, nil
}

// hold stops the silence of all requests under way: the server waits for an answer.
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

// receiver passes on what belongs to a request: each message is a sign of life. What is
// about a list or a resource is everybody's, on whatever stream it comes.
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

// received takes the server's requests, and notifications that belong to no request of ours.
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

// concernsAll reports a notification that is everybody's. Of tasks those on a connection of one client or principal are its own.
func (e *Endpoint) concernsAll(method string) bool {
	return conn.ConcernsAll(method) || e.opts.lane == nil && !e.opts.private && strings.HasPrefix(method, "notifications/tasks")
}

// belongs is the request under way that a notification can only be for that names none; 0:
// none, or it is not a fleet's connection, whose one user takes everything.
func (e *Endpoint) belongs(method string) uint64 {
	if e.opts.outside == nil || e.concernsAll(method) {
		return 0
	}
	return e.talks.listener(method)
}

// changed notes that a list, a resource or a task has changed.
func (e *Endpoint) changed(m Message) {
	if m.Method == protocol.NoteToolsChanged {
		e.listChanged()
	}
	if e.opts.outside != nil {
		e.opts.outside(m)
	}
}

// errRetired is why a question ends without an answer: a person may take longer than its server has.
var errRetired = errors.New("the server that asks was taken out of the configuration, or replaced")

// untilRetired is ctx, until the endpoint's server leaves its fleet. stop must follow.
func (e *Endpoint) untilRetired(ctx context.Context) (until context.Context, stop func()) {
	if e.opts.retired == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(e.opts.retired, func() { cancel(errRetired) })
	return ctx, func() { unwatch(); cancel(nil) }
}

// question asks the client of a lane what its server asks. A client is never asked what it
// has not declared.
func (e *Endpoint) question(ctx context.Context, t *talk, m Message) (json.RawMessage, error) {
	if err := protocol.MayAsk(e.opts.Capabilities, m.Method, m.Params); err != nil {
		return nil, err
	}
	may := func(t *talk) bool { // of a principal's connection, which another client of its own may have opened
		return !e.opts.private || t.client != nil && protocol.MayAsk(t.client.declaredTo(Legacy), m.Method, m.Params) == nil
	}
	ask := Peer(nil)
	if t == nil && m.Method == "roots/list" { // these are the session's, and outlive any request
		ask = e.talks.session(m.Method)
	}
	if t == nil && ask == nil {
		e.talks.begin(ctx)
		t, ask = e.talks.asked(e.opts.private, may)
	}
	ctx, retired := e.untilRetired(ctx)
	defer retired()
	if t != nil && t.client != nil {
		if !may(t) {
			return nil, &RPCError{Code: CodeMethodNotFound, Message: "method not found: " + m.Method}
		}
		m.Of, m.Caller, ask = t.of, t.caller, t.client.Back
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(t.ctx, cancel)()
	}
	if ask == nil {
		return nil, &RPCError{Code: CodeInternal, Message: m.Method + ": there is no request under way that this could belong to"}
	}
	defer e.talks.hold()()
	e.opts.lane()
	return ask(ctx, m)
}
