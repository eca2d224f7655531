package host

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
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
func (h *Host) SSEHandler() http.Handler { return http.HandlerFunc(h.serveSSE) }

func (h *Host) serveSSE(w http.ResponseWriter, r *http.Request) {
	from, ok := h.letIn(w, r)
	if !ok {
		return
	}
	id := r.URL.Query().Get(sseSessionKey)
	switch {
	case r.Method == http.MethodPost && id != "":
		r.Header.Set(protocol.HeaderSession, id)
		if m := h.receive(w, r, from.caller); m != nil {
			m.from = from
			h.postSSE(w, r, m, id)
		}
	case r.Method == http.MethodGet:
		if h.entered(w, from) {
			defer h.leave(from)
			defer h.boundWrites(w)()
			stream, over := h.whileAdmitted(r, from.caller)
			defer over()
			h.openSSE(w, stream, from)
		}
	default: // a client that tries streamable HTTP first goes on with a GET
		w.Header().Set("Allow", "GET")
		refuse(w, http.StatusMethodNotAllowed, interop.CodeInvalidRequest, "method not allowed: a GET opens a stream, which says where messages go")
	}
}

// openSSE serves a session for as long as its stream is open.
func (h *Host) openSSE(w http.ResponseWriter, r *http.Request, from client) {
	if !accepted(r.Header).stream {
		refuse(w, http.StatusNotAcceptable, interop.CodeInvalidRequest, "GET needs Accept: text/event-stream")
		return
	}
	stream := &sseStream{w: w, memory: h.opts.Memory, broken: make(chan struct{})}
	s := h.sessions.open(h, from, stream)
	if s == nil {
		refuse(w, http.StatusServiceUnavailable, interop.CodeInternal, "too many sessions are busy")
		return
	}
	defer h.sessions.release(s)
	defer stream.close()
	defer h.sessions.drop(s)
	h.sessions.stream(s, 1)
	beginStream(w)
	stream.write([]byte("event: endpoint\ndata: " + endpointPath(r) + "?" + sseSessionKey + "=" + s.id + "\n\n"))
	var beat <-chan time.Time
	if h.opts.KeepAlive > 0 {
		t := time.NewTicker(h.opts.KeepAlive)
		defer t.Stop()
		beat = t.C
	}
	for {
		select {
		case <-s.notes.signal:
			for _, m := range s.notes.take() {
				_ = stream.send(nil, sayFrame(m.ID, m.Method, [][]byte{m.Params}))
			}
		case <-beat:
			stream.write([]byte(":\n\n"))
		case <-stream.broken:
			return
		case <-r.Context().Done():
			return
		case <-s.done:
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

// postSSE takes a message of a session over HTTP+SSE. A request is answered on its stream.
func (h *Host) postSSE(w http.ResponseWriter, r *http.Request, m *posted, id string) {
	from := m.counted()
	if !h.entered(w, from) {
		return
	}
	s := h.sessions.use(h, id, m.from.caller)
	end := func() {
		if s != nil {
			h.sessions.release(s)
		}
		h.leave(from)
	}
	if s == nil || s.sse == nil {
		defer end()
		h.refuseSession(w, id, m.from.caller)
		return
	}
	if m.Kind() == wire.Request {
		h.requestSSE(w, r, m, s, end)
		return
	}
	defer end()
	if m.Kind() == wire.Response {
		s.answered(&m.Envelope)
	} else {
		h.front.notified(r.Context(), s.frontSession, interop.Message{Params: m.Params, Method: m.method, Era: interop.Legacy, Caller: m.from.caller})
	}
	w.WriteHeader(http.StatusAccepted)
}

// requestSSE begins a request, for which [Host.Close] waits: end is called when it is over.
func (h *Host) requestSSE(w http.ResponseWriter, r *http.Request, m *posted, s *hostSession, end func()) {
	key := callKey(m.ID)
	ctx, call, err := s.begin(context.WithoutCancel(r.Context()), key)
	if err != nil {
		defer end()
		writeJSON(w, http.StatusBadRequest, answerFrame(m.ID, frontError(0, interop.CodeInvalidRequest, "%v", err)))
		return
	}
	reply := &sseReply{stream: s.sse}
	q := &frontRequest{
		id: m.ID, params: m.Params, meta: m.meta, method: m.method, era: interop.Legacy, caller: m.from.caller,
		session: s.frontSession, header: h.forwarded(r), send: reply.say,
	}
	go func() {
		defer end()
		a := h.front.answer(ctx, q)
		s.finish(key, call) // who reads the answer may use the id again
		reply.finish(m.ID, a)
	}()
	w.WriteHeader(http.StatusAccepted)
}

// sseStream is all that a client is sent over HTTP+SSE.
type sseStream struct {
	memory *interop.Memory
	broken chan struct{} // closed when a write has failed

	mu   sync.Mutex // held while writing
	w    http.ResponseWriter
	over bool
}

func (c *sseStream) write(event ...[]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.writeEvent(event)
}

// send sends a message, unless it belongs to a request that has been answered.
func (c *sseStream) send(of *sseReply, frame [][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of != nil && of.over {
		return errReplyOver
	}
	return c.writeEvent(eventOf("", frame))
}

// writeEvent writes unless the stream is over, which it is once that fails. Call it with mu held.
func (c *sseStream) writeEvent(event [][]byte) error {
	if c.over {
		return errReplyOver
	}
	err := writeEvents(c.w, c.memory, event)
	if err != nil {
		c.over = true
		close(c.broken)
	}
	return err
}

// close waits for the write that is under way: what w is for is over.
func (c *sseStream) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// sseReply is the way back of one request.
type sseReply struct {
	stream *sseStream
	over   bool // guarded by stream.mu
}

func (r *sseReply) say(id json.RawMessage, method string, params ...[]byte) error {
	return r.stream.send(r, sayFrame(id, method, params))
}

func (r *sseReply) finish(id json.RawMessage, a frontAnswer) {
	r.stream.mu.Lock()
	defer r.stream.mu.Unlock()
	r.over = true
	if !a.none() {
		_ = r.stream.writeEvent(eventOf("", answerFrame(id, a)))
	}
}
