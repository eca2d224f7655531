package host

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// sseSessionKey is the query parameter of an endpoint that names its session.
const sseSessionKey = "sessionId"

// SSEHandler serves MCP over HTTP+SSE, the transport of 2024-11-05, to clients that know no other:
// a GET opens a session and its stream, and what it calls its endpoint, on the same path, takes
// the client's messages. The session ends with the stream, and its calls with it.
//
// It has the same checks and bounds as [Host.Handler], and shares its sessions' table.
func (h *Host) SSEHandler() http.Handler { return handler(h.serveSSE) }

func (h *Host) serveSSE(w http.ResponseWriter, r *http.Request) *refusal {
	from, refused := h.letIn(w, r)
	if refused != nil {
		return refused
	}
	id := r.URL.Query().Get(sseSessionKey)
	switch {
	case r.Method == http.MethodPost && id != "":
		r.Header.Set(protocol.HeaderSession, id)
		m, refused := h.receive(w, r, from)
		if refused != nil {
			return refused
		}
		return h.postSSE(w, r, m, id)
	case r.Method == http.MethodGet:
		if refused := h.entered(w, from); refused != nil {
			return refused
		}
		defer h.leave(from)
		defer h.boundWrites(w)()
		stream, over := h.whileAdmitted(r, from.caller)
		defer over()
		return h.openSSE(w, stream, from)
	}
	w.Header().Set("Allow", "GET") // a client that tries streamable HTTP first goes on with a GET
	return refuse(http.StatusMethodNotAllowed, "method not allowed: a GET opens a stream, which says where messages go")
}

// openSSE serves a session for as long as its stream is open.
func (h *Host) openSSE(w http.ResponseWriter, r *http.Request, from client) *refusal {
	if !accepted(r.Header).stream {
		return refuse(http.StatusNotAcceptable, "GET needs Accept: text/event-stream")
	}
	stream := newOutlet(func(frame [][]byte) error {
		if frame == nil {
			return writeStream(w, []byte(":\n\n"))
		}
		return writeEvents(w, h.opts.Memory, eventOf("", frame))
	})
	s, refused := h.open(from, stream)
	if refused != nil {
		return refused
	}
	defer h.sessions.release(s)
	defer stream.close()
	defer h.sessions.drop(s)
	h.sessions.stream(s, 1)
	stream.mu.Lock() // the client may send its first message before this write has returned
	beginStream(w)
	err := writeStream(w, []byte("event: endpoint\ndata: "+endpointPath(r)+"?"+sseSessionKey+"="+s.id+"\n\n"))
	stream.mu.Unlock()
	if err == nil {
		h.attend(r, s, stream.broken, func() error { return s.sendNotes(stream) }, func() error { return stream.send(nil, nil) })
	}
	return nil
}

// attend sends what waits for a session as it comes, and something after each silence, until either fails, the client has left,
// gone is closed or the session ends.
func (h *Host) attend(r *http.Request, s *hostSession, gone <-chan struct{}, news, alive func() error) {
	var silence <-chan time.Time
	if h.opts.KeepAlive > 0 {
		t := time.NewTicker(h.opts.KeepAlive)
		defer t.Stop()
		silence = t.C
	}
	for {
		var err error
		select {
		case <-s.notes.signal:
			err = news()
		case <-silence:
			err = alive()
		case <-gone:
			return
		case <-r.Context().Done():
			return
		case <-s.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// endpointPath is the path that the client has asked for, whatever has been cut from it since:
// some clients do not resolve a reference without one.
func endpointPath(r *http.Request) string {
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
		return u.EscapedPath()
	}
	return r.URL.EscapedPath()
}

// postSSE takes a message of a session over HTTP+SSE. A request is answered on its stream, for which [Host.Close] waits.
func (h *Host) postSSE(w http.ResponseWriter, r *http.Request, m *posted, id string) *refusal {
	from := m.counted()
	if refused := h.entered(w, from); refused != nil {
		return refused
	}
	s, refused := h.use(id, m.from.caller, true)
	if refused != nil {
		h.leave(from)
		return refused
	}
	end := func() {
		h.sessions.release(s)
		h.leave(from)
	}
	if m.Kind() != wire.Request {
		defer end()
		s.take(r.Context(), m)
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	ctx, call, err := s.begin(context.WithoutCancel(r.Context()), m.ID)
	if err != nil {
		defer end()
		return refuseMessage(m.ID, frontError(http.StatusBadRequest, interop.CodeInvalidRequest, "%v", err))
	}
	reply := &outletReply{outlet: s.sse, id: m.ID}
	q := h.request(r, m, s, reply.say)
	go func() {
		defer end()
		reply.finish(s.serve(ctx, call, q))
	}()
	w.WriteHeader(http.StatusAccepted)
	return nil
}
