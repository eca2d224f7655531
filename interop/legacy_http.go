package interop

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/indusagi/indus/internal/protocol"
)

const (
	// httpLeaveWait bounds the goodbye to a session, which is best effort.
	httpLeaveWait = 2 * time.Second
	// httpLeaveAtOnce bounds how many calls are cancelled at once then.
	httpLeaveAtOnce = 16
)

// httpLegacy is streamable HTTP up to 2025-11-25: a session that initialize
// begins, a POST for each message, and where the server has something to tell
// outside of calls, a standing GET stream. It dies with its session.
type httpLegacy struct {
	*httpLife           // of calls, streams and answers
	posts     *httpLife // of messages that have no answer: the last of them say goodbye
	server    *httpServer
	receive   Peer
	gap       func() // nil: nobody cares
	nextID    atomic.Int64
	session   atomic.Pointer[legacySession]
	leaving   sync.Once

	queue   *inbox        // what the server tells outside of calls
	asked   chan struct{} // slots for the server's requests
	refused chan struct{} // slots for telling it that there are too many

	table     sync.Mutex
	calls     map[int64]bool                // in flight, by id; true: the server is told when they end
	sinks     map[int64]*legacySink         // by progress token
	answering map[string]context.CancelFunc // the server's requests, by their ids
}

var _ conn = (*httpLegacy)(nil)

// legacySession is what every message after initialize carries.
type legacySession struct{ id, version string }

// sessionGoneError is the death of a connection whose session the server no
// longer knows.
type sessionGoneError struct{ cause error }

func (e *sessionGoneError) Error() string {
	return "the server has ended the bridge's session with it: " + e.cause.Error()
}
func (e *sessionGoneError) Unwrap() error { return e.cause }

func newHTTPLegacy(s *httpServer, receive Peer, gap func()) *httpLegacy {
	c := &httpLegacy{
		httpLife: newHTTPLife(), posts: newHTTPLife(), server: s, receive: receive, gap: gap, queue: newInbox(),
		asked: make(chan struct{}, maxAsked), refused: make(chan struct{}, maxAsked),
		calls: map[int64]bool{}, sinks: map[int64]*legacySink{}, answering: map[string]context.CancelFunc{},
	}
	c.session.Store(&legacySession{})
	c.spawn(func(context.Context) { c.queue.run(c.deliver) })
	return c
}

// headers is those of a message in the session.
func (c *httpLegacy) headers(accept []string) http.Header {
	h := c.server.headers()
	h[httpKeyAccept] = accept
	s := c.session.Load()
	if s.id != "" {
		h[protocol.HeaderSession] = []string{s.id}
	}
	if s.version != "" {
		h[httpKeyVersion] = []string{s.version}
	}
	return h
}

// open shakes hands.
func (c *httpLegacy) open(ctx context.Context, info Info, version string) (handshake, error) {
	x := exchange{method: protocol.MethodInitialize, params: initializeParams(info, version), quiet: true}
	result, err := c.call(ctx, x)
	if err != nil {
		return handshake{}, err
	}
	h, err := parseInitialize(result)
	if err != nil {
		return handshake{}, err
	}
	c.session.Store(&legacySession{id: c.session.Load().id, version: h.version})
	if err := c.notify(ctx, protocol.NoteInitialized, nil); err != nil {
		return handshake{}, err
	}
	if tellsOutsideOfCalls(h.capabilities) {
		c.spawn(c.stand)
	}
	return h, nil
}

func (c *httpLegacy) call(ctx context.Context, x exchange) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.alive(); err != nil {
		return nil, err
	}
	id := c.nextID.Add(1)
	sink := &legacySink{ctx: ctx, back: x.back, of: x.of}
	c.watch(id, &x, sink)
	defer c.unwatch(id, &x, sink)
	result, err := c.exchange(ctx, x, id, sink)
	if err != nil && err == ctx.Err() && !x.quiet {
		c.tellCancelled(id, context.Cause(ctx))
	}
	if x.method == protocol.MethodInitialize { // there is no session yet that could be over
		return result, err
	}
	return result, c.judge(err)
}

func (c *httpLegacy) exchange(ctx context.Context, x exchange, id int64, sink *legacySink) (json.RawMessage, error) {
	h := c.headers(httpAcceptBoth)
	h[httpKeyType] = httpTypeJSON
	r, err := c.server.send(ctx, c.httpLife, http.MethodPost, h, httpRequestBody(id, x.method, x.params))
	if err != nil {
		return nil, err
	}
	if x.method == protocol.MethodInitialize && r.StatusCode/100 == 2 {
		if err := c.begin(r.Header.Get(protocol.HeaderSession)); err != nil {
			r.close()
			return nil, err
		}
	}
	if r.kind() == answerEvents {
		return c.stream(ctx, id, sink, r)
	}
	return c.server.once(ctx, c.httpLife, r, id)
}

// begin keeps the session's id, of which only visible ASCII is allowed.
func (c *httpLegacy) begin(id string) error {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return &protocolError{"a session id that is no visible ASCII", nil}
		}
	}
	c.session.Store(&legacySession{id: id})
	return nil
}

// tellCancelled says that nobody waits any more, and does not wait itself.
func (c *httpLegacy) tellCancelled(id int64, reason error) {
	c.posts.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, noteTimeout)
		defer cancel()
		_ = c.notify(ctx, protocol.NoteCancelled, cancelledParams(id, reason))
	})
}

func (c *httpLegacy) notify(ctx context.Context, method string, params json.RawMessage) error {
	return c.post(ctx, httpNoteBody(method, params))
}

// post sends a message that has no answer.
func (c *httpLegacy) post(ctx context.Context, body []byte) error {
	h := c.headers(httpAcceptBoth)
	h[httpKeyType] = httpTypeJSON
	r, err := c.server.send(ctx, c.posts, http.MethodPost, h, body)
	if err != nil {
		return c.judge(err)
	}
	if r.StatusCode/100 == 2 { // 202 by the book; what its body says is nothing to us
		r.drain(c.posts)
		return nil
	}
	defer r.close()
	return c.judge(c.server.failure(r))
}

// judge ends the connection where an error means that its session is over, or
// that nobody is there any more. What was sent did then not run, unless its answer had
// begun; a 400 that is only taken for the end of a session may be a tool's.
func (c *httpLegacy) judge(err error) error {
	var he *HTTPError
	var cut *cutError
	begun := errors.As(err, &cut)
	switch {
	case err == nil:
	case errors.As(err, &he):
		if !c.over(he, err) {
			break
		}
		if c.session.Load().id != "" {
			err = &sessionGoneError{err}
		}
		if !begun && (he.Status == http.StatusNotFound || namesSession(he)) {
			return c.rejected(err)
		}
		c.die(err)
	case errors.Is(err, syscall.ECONNREFUSED):
		if !begun {
			return c.rejected(err)
		}
		c.die(err)
	}
	return err
}

// namesSession reports whether an answer complains of the session's id.
func namesSession(he *HTTPError) bool {
	body := strings.ToLower(he.Body)
	return strings.Contains(body, "session id") || strings.Contains(body, "session-id")
}

// over reports whether an answer says that the session is: 404 by the book, and
// 400 with a word about sessions by many servers that were started anew. A 404
// that carries "method not found" is an answer of its own.
func (c *httpLegacy) over(he *HTTPError, err error) bool {
	var rpc *RPCError
	switch he.Status {
	case http.StatusNotFound:
		return !errors.As(err, &rpc) || rpc.Code != CodeMethodNotFound
	case http.StatusBadRequest:
		return c.session.Load().id != "" && strings.Contains(strings.ToLower(he.Body), "session")
	}
	return false
}
