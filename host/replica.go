package host

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/indusagi/indus/host/internal/parked"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/replica"
	"github.com/indusagi/indus/toolbox"
)

// isForwarded reports whether another replica sent the request, which has authenticated its caller.
func isForwarded(r *http.Request) bool { return replica.From(r.Context()) != nil }

// elsewhere returns the token of a request that names state of another replica, if the caller may use the token. m is
// nil for a request without a message. A request that was forwarded stays here.
func (h *Host) elsewhere(r *http.Request, m *postedMessage, caller toolbox.Principal) (sealed.Token, bool) {
	if h.opts.Replica == nil || isForwarded(r) {
		return sealed.Token{}, false
	}
	if m != nil && m.modern {
		return h.opts.Keys.Elsewhere(strings.TrimPrefix(heldState(m), parked.Prefix), string(caller))
	}
	id, ok := protocol.OneHeader(r.Header, protocol.HeaderSession)
	if !ok || h.sessions.has(id) {
		return sealed.Token{}, false
	}
	t, ok := h.opts.Keys.Elsewhere(id, string(caller))
	return t, ok && t.Kind == sealed.Session
}

// heldState returns the state of a replica that a modern request names: the requestState, the id of its task or the
// first task that it follows. It returns "" if there is none.
func heldState(m *postedMessage) (state string) {
	switch {
	case protocol.MayRequireInput(m.method):
		state, _ = protocol.LookupString(m.Params, "requestState")
	case strings.HasPrefix(m.method, "tasks/"):
		state, _ = protocol.LookupString(m.Params, "taskId")
	case m.method == protocol.MethodListen:
		filter, _ := wire.Lookup(m.Params, "notifications")
		tasks, err := filterOf(filter, "taskIds")
		if err == nil && len(tasks) > 0 {
			state = tasks[0]
		}
	}
	return state
}

// forward sends a request to the replica that holds its state t, and relays the answer.
func (h *Host) forward(w http.ResponseWriter, r *http.Request, m *postedMessage, t *sealed.Token) *refusal {
	isStream := m == nil && r.Method == http.MethodGet || m != nil && m.method == protocol.MethodListen
	if isStream {
		stream, stop := h.reauthenticate(r, toolbox.Principal(t.Principal))
		defer stop()
		r = stream
	} else if h.front.requests.Enter() { // Drain waits for it
		defer h.front.requests.Leave()
	} else {
		return refuse(http.StatusServiceUnavailable, errDraining.Error())
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(h.ctx, func() { cancel(errHostClosed) })()
	q := replica.Request{To: t.Replica, Principal: t.Principal}
	if m != nil {
		q.Body = m.body
	}
	err := h.opts.Replica.Forward(w, r.WithContext(ctx), q)
	var lost *replica.Lost
	switch {
	case errors.Is(err, replica.ErrLate):
		h.opts.Logger.Warn("a request is not forwarded", "caller", t.Principal, "reason", err)
		setRetryAfter(w, time.Second)
		return refuse(http.StatusServiceUnavailable, "the replica that has this is busy, and nothing has run: ask again")
	case errors.Is(err, replica.ErrGone):
		h.opts.Logger.Debug("a request is not forwarded", "caller", t.Principal, "reason", err)
		return h.ownerGone(m, t)
	case errors.As(err, &lost):
		h.opts.Logger.Warn("a forwarded request was lost", "replica", t.Replica, "caller", t.Principal, "err", lost.Err)
		return h.answerLost(w, m, t, lost)
	}
	return nil
}

// ownerGone returns the answer to a request whose owner cannot be reached. The request did not run.
func (h *Host) ownerGone(m *postedMessage, t *sealed.Token) *refusal {
	if t.Kind == sealed.Session {
		return refuse(http.StatusNotFound, errNoSession)
	}
	text := "the call waited at the replica %s, which is gone: the call may have run, and it is not repeated; " +
		"send it again without inputResponses and requestState, if it may run twice"
	switch {
	case t.Kind == sealed.Task:
		text = "the replica %s, which had the task, is gone: the task may have run, and it is not repeated"
	case t.Kind == sealed.Approval, parked.WaitsForURL(t.Data):
		text = "the replica %s, which asked for this, is gone: nothing has run; " +
			"send the request again without inputResponses and requestState"
	}
	return refuseMessage(m.ID, frontError(http.StatusOK, interop.CodeInternal, m.method+": "+text, t.Replica))
}

// answerLost answers a request whose owner was lost while it answered.
func (h *Host) answerLost(w http.ResponseWriter, m *postedMessage, t *sealed.Token, lost *replica.Lost) *refusal {
	isRequest := m != nil && m.Kind() == wire.Request
	text := "the connection to the replica %s was lost: the call may have run, and it is not repeated"
	var a frontAnswer
	if isRequest {
		a = frontError(http.StatusOK, interop.CodeInternal, m.method+": "+text, t.Replica)
	}
	switch {
	case isRequest && !lost.Begun:
		return refuseMessage(m.ID, a)
	case !lost.Begun:
		return refuse(http.StatusBadGateway, "the connection to the replica was lost")
	case isRequest && lost.Event:
		_ = writeStream(w, eventOf("", answerFrame(m.ID, a))...)
	case !lost.Event:
		panic(http.ErrAbortHandler) // the client must not take a part for the whole
	}
	return nil
}
