package host

import (
	"context"
	"net/http"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

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
	q := &frontRequest{id: m.ID, params: m.Params, method: m.method, era: interop.Modern, caller: m.from.caller, note: reply.note}
	if a := h.checkModernPost(r.Header, q, m.version); !a.none() {
		writeJSON(w, a.status, answerFrame(m.ID, a))
		return
	}
	if m.method == protocol.MethodListen && !m.takes.stream {
		refuse(w, http.StatusNotAcceptable, interop.CodeInvalidRequest, "subscriptions/listen needs Accept: text/event-stream")
		return
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
	meta := metaOf(q.params)
	if version != "" {
		switch got, ok := headerValue(header, hostKeyVersion); {
		case !ok:
			return mismatch("the " + protocol.HeaderVersion + " header is missing")
		case got != version:
			return mismatch("the " + protocol.HeaderVersion + " header and _meta name different versions")
		}
	}
	if a := checkModern(meta); !a.none() {
		return a
	}
	if err := checkStandard(header, q.method, q.params); err != nil {
		return mismatch(err.Error())
	}
	if c, ok := h.front.backend.(headerChecker); ok {
		if err := c.CheckHeader(interop.Message{ID: q.id, Params: q.params, Method: q.method, Era: interop.Modern, Caller: q.caller}, header); err != nil {
			return mismatch(err.Error())
		}
	}
	return frontAnswer{}
}

// headerChecker is a backend that compares headers with params; see [NewFront].
type headerChecker interface {
	CheckHeader(m interop.Message, h http.Header) error
}

// postLegacy serves a message within its session, which initialize opens.
func (h *Host) postLegacy(w http.ResponseWriter, r *http.Request, m *posted) {
	var s *hostSession
	if m.method == protocol.MethodInitialize && len(r.Header[protocol.HeaderSession]) == 0 {
		if s = h.sessions.open(m.from); s == nil {
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
		h.front.hear(r.Context(), s.frontSession, interop.Message{Params: m.Params, Method: m.method, Era: interop.Legacy, Caller: m.from.caller})
		w.WriteHeader(http.StatusAccepted)
		return
	case wire.Response:
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
	reply.open()
	a := h.front.answer(ctx, &frontRequest{
		id: m.ID, params: m.Params, method: m.method, era: interop.Legacy, caller: m.from.caller,
		session: s.frontSession, note: reply.note,
	})
	s.finish(key, call)      // who reads the answer may use the id again
	a.status = http.StatusOK // a legacy client reads the error in the body
	if m.method == protocol.MethodInitialize && a.err != nil && s.agreed() == "" {
		w.Header().Del(protocol.HeaderSession)
		h.sessions.drop(s)
	}
	reply.finish(a)
}
