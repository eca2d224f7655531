package host

import (
	"context"
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

// Handler serves MCP over streamable HTTP, both eras, on whatever path it is
// mounted at. All handlers of one host share its sessions.
//
// A server that serves it must have no WriteTimeout, which would end streams; a
// ReadTimeout is good for its other handlers, and a MaxHeaderBytes. To stop, close the
// host first and then shut the server down: a server waits for open streams.
func (h *Host) Handler() http.Handler { return http.HandlerFunc(h.serveHTTP) }

func (h *Host) serveHTTP(w http.ResponseWriter, r *http.Request) {
	from, ok := h.letIn(w, r)
	if !ok {
		return
	}
	caller := from.caller
	var m *posted
	switch {
	case r.Method == http.MethodPost:
		if m = h.receive(w, r, caller); m == nil { // Close does not wait for a body
			return
		}
		m.from = from
		from = m.counted()
	case r.Method != http.MethodGet && r.Method != http.MethodDelete:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, interop.CodeInvalidRequest, "method not allowed: "+r.Method)
		return
	case modernVersion(r.Header):
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, interop.CodeInvalidRequest, "since "+protocol.VersionModern+" there is only POST")
		return
	}
	if !h.entered(w, from) {
		return
	}
	defer h.leave(from)
	defer h.boundWrites(w)()
	switch {
	case m == nil:
		h.serveSession(w, r, caller)
	case m.modern:
		h.postModern(w, r, m)
	default:
		h.postLegacy(w, r, m)
	}
}

// letIn is who sends a request over HTTP, and for whose bounds it counts; false where it is answered already.
func (h *Host) letIn(w http.ResponseWriter, r *http.Request) (from client, ok bool) {
	if r.ContentLength != 0 {
		boundRest(w, bodyWait)
	} else { // a ReadTimeout would end a stream
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	caller, ok := h.admit(w, r)
	return clientOf(caller, r.RemoteAddr), ok
}

// entered is enter for a request over HTTP; false after a refusal.
func (h *Host) entered(w http.ResponseWriter, from client) bool {
	wait := h.opts.Rates.wait(from)
	err := errTooFast
	if wait == 0 {
		if err = h.enter(from); err == nil {
			return true
		}
	}
	status := http.StatusServiceUnavailable
	if err == errBusy || err == errTooFast {
		status = http.StatusTooManyRequests
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	}
	refuse(w, status, interop.CodeInternal, err.Error())
	return false
}

// serveSession serves a legacy session's GET or DELETE.
func (h *Host) serveSession(w http.ResponseWriter, r *http.Request, caller toolbox.Principal) {
	s := h.session(w, r, caller)
	if s == nil {
		return
	}
	defer h.sessions.release(s)
	if r.Method == http.MethodGet {
		r, over := h.whileAdmitted(r, caller)
		defer over()
		h.get(w, r, s)
		return
	}
	h.sessions.drop(s)
	w.WriteHeader(http.StatusNoContent)
}

// modernVersion reports whether a request's headers are of a stateless revision: ours, or
// one that we do not know with the headers that only these have.
func modernVersion(h http.Header) bool {
	v, _ := headerValue(h, hostKeyVersion)
	unknown := v != "" && !slices.Contains(protocol.LegacyVersions(), v)
	return v == protocol.VersionModern || unknown && len(h[protocol.HeaderMethod]) > 0 && len(h[protocol.HeaderSession]) == 0
}

// session is the legacy session that a request names, busy until it is
// released; nil after a refusal.
func (h *Host) session(w http.ResponseWriter, r *http.Request, caller toolbox.Principal) *hostSession {
	if v, ok := headerValue(r.Header, hostKeyVersion); len(r.Header[hostKeyVersion]) > 0 && (!ok || !slices.Contains(protocol.LegacyVersions(), v)) {
		refuse(w, http.StatusBadRequest, interop.CodeInvalidRequest, "unsupported "+protocol.HeaderVersion)
		return nil
	}
	id, ok := headerValue(r.Header, protocol.HeaderSession)
	if !ok {
		refuse(w, http.StatusBadRequest, interop.CodeInvalidRequest, "the "+protocol.HeaderSession+" header is missing: send initialize first")
		return nil
	}
	s := h.sessions.use(h, id, caller)
	if s != nil && s.sse != nil { // its id stands in URLs, and is good for nothing else
		h.sessions.release(s)
		s = nil
	}
	if s == nil {
		h.refuseSession(w, id, caller)
	}
	return s
}

func (h *Host) refuseSession(w http.ResponseWriter, id string, caller toolbox.Principal) {
	why, text := foreignSession(&h.opts, id, caller), "session not found"
	h.opts.Logger.Debug("a session is not here", "caller", caller, "reason", why)
	if why == errSessionForeign {
		text += ": " + why.Error()
	}
	refuse(w, http.StatusNotFound, interop.CodeInvalidRequest, text)
}

// get streams a session's news, or goes on with a stream that its client has lost.
func (h *Host) get(w http.ResponseWriter, r *http.Request, s *hostSession) {
	if !accepted(r.Header).stream {
		refuse(w, http.StatusNotAcceptable, interop.CodeInvalidRequest, "GET needs Accept: text/event-stream")
		return
	}
	if !h.sessions.stream(s, 1) {
		refuse(w, http.StatusConflict, interop.CodeInvalidRequest, "too many streams in this session")
		return
	}
	defer h.sessions.stream(s, -1)
	if s.kept == nil {
		h.streamNews(w, r, s, streamName{}, 0)
		return
	}
	name, after, err := lastEvent(r.Header)
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, interop.CodeInvalidRequest, err.Error())
	case name == streamName{}:
		h.streamNews(w, r, s, s.kept.begin(newsStream, nil), 0)
	default:
		h.resume(w, r, s, name, after)
	}
}

// refuse answers an HTTP request that is not served.
func refuse(w http.ResponseWriter, status int, code int64, message string) {
	writeJSON(w, status, [][]byte{protocol.EncodeRefusal(code, message)})
}

// postModern serves a message of 2026-07-28: it stands for itself.
func (h *Host) postModern(w http.ResponseWriter, r *http.Request, m *posted) {
	switch m.Kind() {
	case wire.Notification:
		w.WriteHeader(http.StatusAccepted)
		return
	case wire.Response:
		refuse(w, http.StatusBadRequest, interop.CodeInvalidRequest, "a client sends no responses")
		return
	}
	reply := &hostReply{w: w, id: m.ID, beat: h.opts.KeepAlive, takes: m.takes, memory: h.opts.Memory}
	q := &frontRequest{id: m.ID, params: m.Params, meta: m.meta, method: m.method, era: interop.Modern, caller: m.from.caller, header: h.forwarded(r), send: reply.say}
	if a := h.checkModernPost(r.Header, q, m.version); !a.none() {
		writeJSON(w, a.status, answerFrame(m.ID, a))
		return
	}
	if m.method == protocol.MethodListen && !m.takes.stream {
		refuse(w, http.StatusNotAcceptable, interop.CodeInvalidRequest, "subscriptions/listen needs Accept: text/event-stream")
		return
	}
	if m.method == protocol.MethodListen {
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
}

// checkModernPost says why a request over HTTP is none of 2026-07-28.
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
func (h *Host) postLegacy(w http.ResponseWriter, r *http.Request, m *posted) {
	var s *hostSession
	if m.method == protocol.MethodInitialize && len(r.Header[protocol.HeaderSession]) == 0 {
		if s = h.sessions.open(h, m.from, nil); s == nil {
			refuse(w, http.StatusServiceUnavailable, interop.CodeInternal, "too many sessions are busy")
			return
		}
		w.Header().Set(protocol.HeaderSession, s.id)
	} else if s = h.session(w, r, m.from.caller); s == nil {
		return
	}
	defer h.sessions.release(s)
	switch m.Kind() {
	case wire.Notification:
		h.front.notified(r.Context(), s.frontSession, interop.Message{Params: m.Params, Method: m.method, Era: interop.Legacy, Caller: m.from.caller})
		w.WriteHeader(http.StatusAccepted)
		return
	case wire.Response:
		s.answered(&m.Envelope)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	key := callKey(m.ID)
	// A client that goes away has not cancelled (2025-11-25, basic/transports).
	ctx, call, err := s.begin(context.WithoutCancel(r.Context()), key)
	if err != nil {
		w.Header().Del(protocol.HeaderSession)
		if err == errTwice {
			writeJSON(w, http.StatusBadRequest, answerFrame(m.ID, frontError(0, interop.CodeInvalidRequest, "%v", err)))
		} else {
			refuse(w, http.StatusNotFound, interop.CodeInvalidRequest, "session not found")
		}
		return
	}
	reply := &hostReply{w: w, id: m.ID, beat: h.opts.KeepAlive, takes: m.takes, memory: h.opts.Memory}
	s.keep(reply, r, m.method)
	reply.open()
	a := h.front.answer(ctx, &frontRequest{
		id: m.ID, params: m.Params, meta: m.meta, method: m.method, era: interop.Legacy, caller: m.from.caller,
		session: s.frontSession, header: h.forwarded(r), send: reply.say, live: reply.live, gone: r.Context().Done(),
	})
	s.finish(key, call)      // who reads the answer may use the id again
	a.status = http.StatusOK // a legacy client reads the error in the body
	if m.method == protocol.MethodInitialize && a.err != nil && s.agreed() == "" {
		w.Header().Del(protocol.HeaderSession)
		h.sessions.drop(s)
	}
	reply.finish(a)
}
