package host

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// hostKeyVersion is the form under which net/http keeps headerVersion.
const hostKeyVersion = "Mcp-Protocol-Version"

// Handler serves MCP over streamable HTTP, both eras, on the path at which it is mounted. All handlers of one host
// share its sessions.
//
// Its http.Server must have no WriteTimeout, which would end streams. A ReadTimeout, for its other handlers, and a
// MaxHeaderBytes are recommended. To stop, close the host first and then shut the server down: a server waits for open
// streams.
func (h *Host) Handler() http.Handler { return handlerOf(h.serveHTTP) }

// handlerOf serves requests, and writes the refusals of requests that are not served.
func handlerOf(serve func(http.ResponseWriter, *http.Request) *refusal) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refused := serve(w, r); refused != nil && refused.body != nil {
			writeAnswer(w, nil, refused.status, refused.body)
		}
	})
}

// refusal is the answer to an HTTP request that is not served. The body is nil if the request has its answer already.
type refusal struct {
	status int
	body   [][]byte
}

// alreadyAnswered is returned for a request that has its answer already, such as a preflight.
var alreadyAnswered = &refusal{}

// refuse returns a refusal that concerns no message. Only an overload is the host's own failure.
func refuse(status int, text string) *refusal {
	code := int64(interop.CodeInvalidRequest)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		code = interop.CodeInternal
	}
	return &refusal{status, [][]byte{protocol.EncodeRefusal(code, text)}}
}

// refuseMessage returns a refusal of one message. The id is nil if it is not known.
func refuseMessage(id json.RawMessage, a frontAnswer) *refusal {
	return &refusal{a.status, answerFrame(id, a)}
}

func (h *Host) serveHTTP(w http.ResponseWriter, r *http.Request) *refusal {
	from, refused := h.authenticate(w, r)
	if refused != nil {
		return refused
	}
	caller := from.caller
	var m *postedMessage
	switch {
	case r.Method == http.MethodPost:
		m, refused = h.receive(w, r, from) // Close does not wait for a body
		if refused != nil {
			return refused
		}
		from = m.countedClient()
	case r.Method != http.MethodGet && r.Method != http.MethodDelete:
		w.Header().Set("Allow", "GET, POST, DELETE")
		return refuse(http.StatusMethodNotAllowed, "method not allowed: "+r.Method)
	case modernVersion(r.Header):
		w.Header().Set("Allow", "POST")
		return refuse(http.StatusMethodNotAllowed, "since "+protocol.VersionModern+" there is only POST")
	}
	if refused := h.enterHTTP(w, r, from); refused != nil {
		return refused
	}
	defer h.leave(from)
	defer h.boundWrites(w)()
	t, isElsewhere := h.elsewhere(r, m, caller)
	switch {
	case isElsewhere:
		return h.forward(w, r, m, &t)
	case m == nil:
		return h.serveSession(w, r, caller)
	case m.modern:
		return h.postModern(w, r, m)
	}
	return h.postLegacy(w, r, m)
}

// authenticate authenticates a request over HTTP, and returns the client that the limits of the host apply
// to.
func (h *Host) authenticate(w http.ResponseWriter, r *http.Request) (from client, refused *refusal) {
	if r.ContentLength != 0 {
		limitBodyRead(w, bodyWait)
	} else { // a ReadTimeout would end a stream
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	caller, refused := h.admit(w, r)
	return clientOf(caller, r.RemoteAddr), refused
}

// enterHTTP checks the rate of a client and calls enter, for a request over HTTP. A forwarded request was counted where
// the client sent it.
func (h *Host) enterHTTP(w http.ResponseWriter, r *http.Request, from client) *refusal {
	wait := time.Duration(0)
	isForwarded := isForwarded(r)
	if !isForwarded {
		wait = h.opts.Rates.wait(from)
	}
	err := errTooFast
	if wait == 0 {
		err = h.enter(from)
		if err == nil {
			return nil
		}
	}
	if err == errDraining && isForwarded && len(r.Header[protocol.HeaderSession]) > 0 {
		return refuse(http.StatusNotFound, errNoSession)
	}
	if err == errDraining {
		return refuse(http.StatusServiceUnavailable, err.Error())
	}
	setRetryAfter(w, wait)
	return refuse(http.StatusTooManyRequests, err.Error())
}

// setRetryAfter sets the header Retry-After, which has whole seconds.
func setRetryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
}

// serveSession serves a legacy session's GET or DELETE.
func (h *Host) serveSession(w http.ResponseWriter, r *http.Request, caller toolbox.Principal) *refusal {
	s, refused := h.requestedSession(r, caller)
	if refused != nil {
		return refused
	}
	defer h.sessions.release(s)
	if r.Method == http.MethodGet {
		if h.leaves() {
			return refuse(http.StatusNotFound, errNoSession)
		}
		r, stop := h.reauthenticate(r, caller)
		defer stop()
		return h.serveStream(w, r, s)
	}
	h.sessions.drop(s)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// modernVersion reports whether the headers of a request belong to a stateless revision. That is 2026-07-28, or an
// unknown revision if the request has the headers of stateless revisions.
func modernVersion(h http.Header) bool {
	v, _ := protocol.OneHeader(h, hostKeyVersion)
	unknown := v != "" && !slices.Contains(protocol.LegacyVersions(), v)
	return v == protocol.VersionModern ||
		unknown && len(h[protocol.HeaderMethod]) > 0 && len(h[protocol.HeaderSession]) == 0
}

// requestedSession returns the legacy session that a request names. The session is busy until it is released.
func (h *Host) requestedSession(r *http.Request, caller toolbox.Principal) (*hostSession, *refusal) {
	version, ok := protocol.OneHeader(r.Header, hostKeyVersion)
	if len(r.Header[hostKeyVersion]) > 0 && (!ok || !slices.Contains(protocol.LegacyVersions(), version)) {
		return nil, refuse(http.StatusBadRequest, "unsupported "+protocol.HeaderVersion)
	}
	id, ok := protocol.OneHeader(r.Header, protocol.HeaderSession)
	if !ok {
		text := "the " + protocol.HeaderSession + " header is missing: send initialize first"
		return nil, refuse(http.StatusBadRequest, text)
	}
	return h.acquireSession(id, caller, false)
}

// acquireSession returns a caller's session, which is busy until it is released. The id of a session over HTTP+SSE is
// part of URLs, so it is not valid for other sessions.
func (h *Host) acquireSession(id string, caller toolbox.Principal, sse bool) (*hostSession, *refusal) {
	s := h.sessions.acquire(h, id, caller)
	if s != nil && (s.sse != nil) == sse {
		return s, nil
	}
	if s != nil {
		h.sessions.release(s)
	}
	_, reason := h.opts.Keys.Open(id, sealed.Want{Kind: sealed.Session, Principal: string(caller)})
	if reason == nil {
		reason = errSessionGone
	}
	h.opts.Logger.Debug("a session is not here", "caller", caller, "reason", reason)
	return nil, refuse(http.StatusNotFound, errNoSession)
}

var errSessionGone = errors.New("it has ended, or belongs to another path")

// errNoSession is the text of a refusal after which clients begin a new session.
const errNoSession = "session not found"

// openSession creates a busy session.
func (h *Host) openSession(from client, sse *outlet) (*hostSession, *refusal) {
	if s := h.sessions.open(h, from, sse); s != nil {
		return s, nil
	}
	return nil, refuse(http.StatusServiceUnavailable, "too many sessions are busy")
}

// serveStream streams the messages of a session, or resumes a stream that its client has lost.
func (h *Host) serveStream(w http.ResponseWriter, r *http.Request, s *hostSession) *refusal {
	if !parseAccept(r.Header).stream {
		return refuse(http.StatusNotAcceptable, "GET needs Accept: text/event-stream")
	}
	if !h.sessions.addStreams(s, 1) {
		return refuse(http.StatusConflict, "too many streams in this session")
	}
	defer h.sessions.addStreams(s, -1)
	if s.events == nil {
		h.streamNotes(w, r, s, streamName{}, 0)
		return nil
	}
	name, after, err := lastEvent(r.Header)
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, err.Error())
	case name == streamName{}:
		h.streamNotes(w, r, s, s.events.begin(notesStream, nil), 0)
		return nil
	}
	return h.resume(w, r, s, name, after)
}

// leaves reports whether the sessions of this replica accept no more requests. Then a client gets 404, after which it
// begins a session at another replica and knows that nothing ran.
func (h *Host) leaves() bool { return h.opts.Replica != nil && h.front.requests.IsClosed() }

// newRequest returns the request of a message. s is the session that it belongs to, or nil.
func (h *Host) newRequest(r *http.Request, m *postedMessage, s *hostSession, send sender) *frontRequest {
	q := &frontRequest{
		id: m.ID, params: m.Params, meta: m.meta, method: m.method, era: interop.Modern, caller: m.from.caller,
		header: h.forwarded(r), send: send,
	}
	q.client.Address = m.address
	if s != nil {
		q.era, q.session = interop.Legacy, s.frontSession
	}
	return q
}

// postModern serves a message of 2026-07-28, which stands alone.
func (h *Host) postModern(w http.ResponseWriter, r *http.Request, m *postedMessage) *refusal {
	switch m.Kind() {
	case wire.Notification:
		w.WriteHeader(http.StatusAccepted)
		return nil
	case wire.Response:
		return refuse(http.StatusBadRequest, "a client sends no responses")
	}
	reply := &hostReply{w: w, id: m.ID, keepAliveInterval: h.opts.KeepAlive, accepts: m.accepts, memory: h.opts.Memory}
	q := h.newRequest(r, m, nil, reply.sendMessage)
	if a := h.checkModernPost(r, q, m.version); !a.isEmpty() {
		return refuseMessage(m.ID, a)
	}
	if m.method == protocol.MethodListen {
		if !m.accepts.stream {
			return refuse(http.StatusNotAcceptable, "subscriptions/listen needs Accept: text/event-stream")
		}
		stream, stop := h.reauthenticate(r, m.from.caller)
		defer stop()
		h.sessions.streams.Add(1)
		defer h.sessions.streams.Add(-1)
		r = stream
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(h.ctx, func() { cancel(errHostClosed) })()
	reply.failed = func() { cancel(errCallDropped) }
	reply.open()
	reply.finish(h.front.answer(ctx, q))
	return nil
}

// checkModernPost returns an error if a request over HTTP is not valid in 2026-07-28.
func (h *Host) checkModernPost(r *http.Request, q *frontRequest, version string) frontAnswer {
	header := r.Header
	mismatch := func(reason string) frontAnswer {
		return frontError(http.StatusBadRequest, protocol.CodeHeaderMismatch, "header mismatch: %s", reason)
	}
	if version != "" {
		switch got, ok := protocol.OneHeader(header, hostKeyVersion); {
		case !ok:
			return mismatch("the " + protocol.HeaderVersion + " header is missing")
		case got != version:
			return mismatch("the " + protocol.HeaderVersion + " header and _meta name different versions")
		}
	}
	if a := checkModern(q.meta); !a.isEmpty() {
		return a
	}
	if err := checkStandardHeaders(header, q.method, q.params); err != nil {
		return mismatch(err.Error())
	}
	if c, ok := h.front.backend.(HeaderChecker); ok {
		m := interop.Message{ID: q.id, Params: q.params, Method: q.method, Era: interop.Modern, Caller: q.caller}
		if err := c.CheckHeader(r.Context(), m, header); err != nil {
			return mismatch(err.Error())
		}
	}
	return frontAnswer{}
}

// postLegacy serves a message within its session, which initialize opens.
func (h *Host) postLegacy(w http.ResponseWriter, r *http.Request, m *postedMessage) (refused *refusal) {
	var s *hostSession
	opens := m.method == protocol.MethodInitialize && len(r.Header[protocol.HeaderSession]) == 0
	if opens {
		s, refused = h.openSession(m.from, nil)
	} else {
		s, refused = h.requestedSession(r, m.from.caller)
	}
	if refused != nil {
		return refused
	}
	defer h.sessions.release(s)
	isEntered := !opens && m.Kind() == wire.Request && h.opts.Replica != nil
	if isEntered { // Drain waits for the request, or it does not run and the client begins a new session
		if !h.front.requests.Enter() {
			return refuse(http.StatusNotFound, errNoSession)
		}
		defer h.front.requests.Leave()
	}
	if m.Kind() != wire.Request {
		s.handleMessage(r.Context(), m)
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	// A disconnected client has not cancelled its request (2025-11-25, basic/transports).
	ctx, call, err := s.begin(context.WithoutCancel(r.Context()), m.ID)
	switch {
	case err == errDuplicateID:
		return refuseMessage(m.ID, frontError(http.StatusBadRequest, interop.CodeInvalidRequest, "%v", err))
	case err != nil:
		return refuse(http.StatusNotFound, errNoSession)
	case opens:
		w.Header().Set(protocol.HeaderSession, s.id)
	}
	reply := &hostReply{w: w, id: m.ID, keepAliveInterval: h.opts.KeepAlive, accepts: m.accepts, memory: h.opts.Memory}
	s.keepEvents(reply, r, m.method)
	reply.open()
	q := h.newRequest(r, m, s, reply.sendMessage)
	q.isLive, q.disconnected, q.isEntered = reply.isLive, r.Context().Done(), isEntered
	a := s.serve(ctx, call, q)
	// A legacy client reads the error in the body. With another status, some of them end their connection or wait for
	// ever (python-sdk#1010).
	a.status = http.StatusOK
	if m.method == protocol.MethodInitialize && a.err != nil && s.agreedVersion() == "" {
		w.Header().Del(protocol.HeaderSession)
		h.sessions.drop(s)
	}
	reply.finish(a)
	return nil
}
