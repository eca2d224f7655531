package host

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/indusagi/indus/internal/protocol"
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
			writeJSON(w, refused.status, refused.body)
		}
	})
}

// refusal is the answer to an HTTP request that is not served. The body is nil if the request has its answer already.
type refusal struct {
	status int
	body   [][]byte
}

// answered is returned for a request that has its answer already, such as a preflight.
var answered = &refusal{}

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
	from, refused := h.letIn(w, r)
	if refused != nil {
		return refused
	}
	caller := from.caller
	var m *posted
	switch {
	case r.Method == http.MethodPost:
		if m, refused = h.receive(w, r, from); refused != nil { // Close does not wait for a body
			return refused
		}
		from = m.counted()
	case r.Method != http.MethodGet && r.Method != http.MethodDelete:
		w.Header().Set("Allow", "GET, POST, DELETE")
		return refuse(http.StatusMethodNotAllowed, "method not allowed: "+r.Method)
	case modernVersion(r.Header):
		w.Header().Set("Allow", "POST")
		return refuse(http.StatusMethodNotAllowed, "since "+protocol.VersionModern+" there is only POST")
	}
	if refused := h.entered(w, from); refused != nil {
		return refused
	}
	defer h.leave(from)
	defer h.boundWrites(w)()
	switch {
	case m == nil:
		return h.serveSession(w, r, caller)
	case m.modern:
		return h.postModern(w, r, m)
	}
	return h.postLegacy(w, r, m)
}

// letIn authenticates a request over HTTP, and returns the client that the limits of the host apply
// to.
func (h *Host) letIn(w http.ResponseWriter, r *http.Request) (from client, refused *refusal) {
	if r.ContentLength != 0 {
		boundRest(w, bodyWait)
	} else { // a ReadTimeout would end a stream
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	caller, refused := h.admit(w, r)
	return clientOf(caller, r.RemoteAddr), refused
}

// entered checks the rate of a client and calls enter, for a request over HTTP.
func (h *Host) entered(w http.ResponseWriter, from client) *refusal {
	wait := h.opts.Rates.wait(from)
	err := errTooFast
	if wait == 0 {
		if err = h.enter(from); err == nil {
			return nil
		}
	}
	if err == errDraining {
		return refuse(http.StatusServiceUnavailable, err.Error())
	}
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	return refuse(http.StatusTooManyRequests, err.Error())
}

// serveSession serves a legacy session's GET or DELETE.
func (h *Host) serveSession(w http.ResponseWriter, r *http.Request, caller toolbox.Principal) *refusal {
	s, refused := h.session(r, caller)
	if refused != nil {
		return refused
	}
	defer h.sessions.release(s)
	if r.Method == http.MethodGet {
		r, over := h.whileAdmitted(r, caller)
		defer over()
		return h.get(w, r, s)
	}
	h.sessions.drop(s)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// modernVersion reports whether the headers of a request belong to a stateless revision. That is 2026-07-28, or an
// unknown revision if the request has the headers of stateless revisions.
func modernVersion(h http.Header) bool {
	v, _ := headerValue(h, hostKeyVersion)
	unknown := v != "" && !slices.Contains(protocol.LegacyVersions(), v)
	return v == protocol.VersionModern || unknown && len(h[protocol.HeaderMethod]) > 0 && len(h[protocol.HeaderSession]) == 0
}

// session returns the legacy session that a request names. The session is busy until it is released.
func (h *Host) session(r *http.Request, caller toolbox.Principal) (*hostSession, *refusal) {
	if v, ok := headerValue(r.Header, hostKeyVersion); len(r.Header[hostKeyVersion]) > 0 && (!ok || !slices.Contains(protocol.LegacyVersions(), v)) {
		return nil, refuse(http.StatusBadRequest, "unsupported "+protocol.HeaderVersion)
	}
	id, ok := headerValue(r.Header, protocol.HeaderSession)
	if !ok {
		text := "the " + protocol.HeaderSession + " header is missing: send initialize first"
		return nil, refuse(http.StatusBadRequest, text)
	}
	return h.use(id, caller, false)
}

// use returns a caller's session, which is busy until it is released. The id of a session over HTTP+SSE is part of
// URLs, so it is not valid for other sessions.
func (h *Host) use(id string, caller toolbox.Principal, sse bool) (*hostSession, *refusal) {
	s := h.sessions.use(h, id, caller)
	if s != nil && (s.sse != nil) == sse {
		return s, nil
	}
	if s != nil {
		h.sessions.release(s)
	}
	why, text := foreignSession(&h.opts, id, caller), errNoSession
	h.opts.Logger.Debug("a session is not here", "caller", caller, "reason", why)
	if why == errSessionForeign {
		text += ": " + why.Error()
	}
	return nil, refuse(http.StatusNotFound, text)
}

// errNoSession is the text of a refusal after which clients begin a new session.
const errNoSession = "session not found"

// open creates a busy session.
func (h *Host) open(from client, sse *outlet) (*hostSession, *refusal) {
	if s := h.sessions.open(h, from, sse); s != nil {
		return s, nil
	}
	return nil, refuse(http.StatusServiceUnavailable, "too many sessions are busy")
}

// get streams the messages of a session, or resumes a stream that its client has lost.
func (h *Host) get(w http.ResponseWriter, r *http.Request, s *hostSession) *refusal {
	if !accepted(r.Header).stream {
		return refuse(http.StatusNotAcceptable, "GET needs Accept: text/event-stream")
	}
	if !h.sessions.stream(s, 1) {
		return refuse(http.StatusConflict, "too many streams in this session")
	}
	defer h.sessions.stream(s, -1)
	if s.kept == nil {
		h.streamNews(w, r, s, streamName{}, 0)
		return nil
	}
	name, after, err := lastEvent(r.Header)
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, err.Error())
	case name == streamName{}:
		h.streamNews(w, r, s, s.kept.begin(newsStream, nil), 0)
		return nil
	}
	return h.resume(w, r, s, name, after)
}

// request returns the request of a message. s is the session that it belongs to, or nil.
func (h *Host) request(r *http.Request, m *posted, s *hostSession, send sender) *frontRequest {
	q := &frontRequest{
		id: m.ID, params: m.Params, meta: m.meta, method: m.method, era: interop.Modern, caller: m.from.caller,
		header: h.forwarded(r), send: send,
	}
	if s != nil {
		q.era, q.session = interop.Legacy, s.frontSession
	}
	return q
}

// postModern serves a message of 2026-07-28, which stands alone.
func (h *Host) postModern(w http.ResponseWriter, r *http.Request, m *posted) *refusal {
	switch m.Kind() {
	case wire.Notification:
		w.WriteHeader(http.StatusAccepted)
		return nil
	case wire.Response:
		return refuse(http.StatusBadRequest, "a client sends no responses")
	}
	reply := &hostReply{w: w, id: m.ID, beat: h.opts.KeepAlive, takes: m.takes, memory: h.opts.Memory}
	q := h.request(r, m, nil, reply.say)
	if a := h.checkModernPost(r.Header, q, m.version); !a.none() {
		return refuseMessage(m.ID, a)
	}
	if m.method == protocol.MethodListen {
		if !m.takes.stream {
			return refuse(http.StatusNotAcceptable, "subscriptions/listen needs Accept: text/event-stream")
		}
		stream, over := h.whileAdmitted(r, m.from.caller)
		defer over()
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
func (h *Host) checkModernPost(header http.Header, q *frontRequest, version string) frontAnswer {
	mismatch := func(why string) frontAnswer {
		return frontError(http.StatusBadRequest, protocol.CodeHeaderMismatch, "header mismatch: %s", why)
	}
	if version != "" {
		switch got, ok := headerValue(header, hostKeyVersion); {
		case !ok:
			return mismatch("the " + protocol.HeaderVersion + " header is missing")
		case got != version:
			return mismatch("the " + protocol.HeaderVersion + " header and _meta name different versions")
		}
	}
	if a := checkModern(q.meta); !a.none() {
		return a
	}
	if err := checkStandard(header, q.method, q.params); err != nil {
		return mismatch(err.Error())
	}
	if c, ok := h.front.backend.(HeaderChecker); ok {
		if err := c.CheckHeader(interop.Message{ID: q.id, Params: q.params, Method: q.method, Era: interop.Modern, Caller: q.caller}, header); err != nil {
			return mismatch(err.Error())
		}
	}
	return frontAnswer{}
}

// postLegacy serves a message within its session, which initialize opens.
func (h *Host) postLegacy(w http.ResponseWriter, r *http.Request, m *posted) (refused *refusal) {
	var s *hostSession
	opens := m.method == protocol.MethodInitialize && len(r.Header[protocol.HeaderSession]) == 0
	if opens {
		s, refused = h.open(m.from, nil)
	} else {
		s, refused = h.session(r, m.from.caller)
	}
	if refused != nil {
		return refused
	}
	defer h.sessions.release(s)
	if m.Kind() != wire.Request {
		s.take(r.Context(), m)
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	// A disconnected client has not cancelled its request (2025-11-25, basic/transports).
	ctx, call, err := s.begin(context.WithoutCancel(r.Context()), m.ID)
	switch {
	case err == errTwice:
		return refuseMessage(m.ID, frontError(http.StatusBadRequest, interop.CodeInvalidRequest, "%v", err))
	case err != nil:
		return refuse(http.StatusNotFound, errNoSession)
	case opens:
		w.Header().Set(protocol.HeaderSession, s.id)
	}
	reply := &hostReply{w: w, id: m.ID, beat: h.opts.KeepAlive, takes: m.takes, memory: h.opts.Memory}
	s.keep(reply, r, m.method)
	reply.open()
	q := h.request(r, m, s, reply.say)
	q.live, q.gone = reply.live, r.Context().Done()
	a := s.serve(ctx, call, q)
	a.status = http.StatusOK // a legacy client reads the error in the body
	if m.method == protocol.MethodInitialize && a.err != nil && s.agreed() == "" {
		w.Header().Del(protocol.HeaderSession)
		h.sessions.drop(s)
	}
	reply.finish(a)
	return nil
}
