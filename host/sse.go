package host

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// sseSessionKey is the query parameter with the session in the URL of an endpoint.
const sseSessionKey = "sessionId"

// SSEHandler serves MCP over HTTP+SSE, the transport of 2024-11-05, to clients that know no other transport. A GET
// opens a session and its stream. The endpoint that the stream names, on the same path, receives the client's messages.
// The session and its calls end with the stream.
//
// It has the same checks and bounds as [Host.Handler], and shares its table of sessions.
func (h *Host) SSEHandler() http.Handler { return handlerOf(h.serveSSE) }

func (h *Host) serveSSE(w http.ResponseWriter, r *http.Request) *refusal {
	from, refused := h.authenticate(w, r)
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
		if refused := h.enterHTTP(w, r, from); refused != nil {
			return refused
		}
		defer h.leave(from)
		defer h.boundWrites(w)()
		stream, stop := h.reauthenticate(r, from.caller)
		defer stop()
		return h.openSSE(w, stream, from)
	}
	w.Header().Set("Allow", "GET") // a client that tries streamable HTTP first continues with a GET
	return refuse(http.StatusMethodNotAllowed,
		"method not allowed: a GET opens a stream, which names the address for messages")
}

// openSSE serves a session while its stream is open.
func (h *Host) openSSE(w http.ResponseWriter, r *http.Request, from client) *refusal {
	if !parseAccept(r.Header).stream {
		return refuse(http.StatusNotAcceptable, "GET needs Accept: text/event-stream")
	}
	stream := newOutlet(func(frame [][]byte) error {
		if frame == nil {
			return writeStream(w, []byte(":\n\n"))
		}
		return writeEvents(w, h.opts.Memory, eventOf("", frame))
	})
	s, refused := h.openSession(from, stream)
	if refused != nil {
		return refused
	}
	defer h.sessions.release(s)
	defer stream.close()
	defer h.sessions.drop(s)
	h.sessions.addStreams(s, 1)
	defer h.sessions.addStreams(s, -1)
	stream.mu.Lock() // the client may send its first message before this write has returned
	beginStream(w)
	err := writeStream(w, []byte("event: endpoint\ndata: "+endpointPath(r)+"?"+sseSessionKey+"="+s.id+"\n\n"))
	stream.mu.Unlock()
	if err == nil {
		send := func() error { return s.sendNotes(stream) }
		h.serveNotes(r, s, stream.broken, send, func() error { return stream.send(nil, nil) })
	}
	return nil
}

// serveNotes sends the waiting messages of a session, and a keep-alive after each silence. It returns if a write fails,
// the client has disconnected, stop is closed or the session ends.
func (h *Host) serveNotes(r *http.Request, s *hostSession, stop <-chan struct{}, send, keepAlive func() error) {
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
			err = send()
		case <-silence:
			err = keepAlive()
		case <-stop:
			return
		case <-r.Context().Done():
			return
		case <-s.life.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// endpointPath returns the path of the original request, before any prefix was stripped. Behind a proxy, which may have
// removed a prefix too, it is only the last part of the path. No form is right for every client. The SDKs of
// TypeScript, Python and Go resolve all references. The SDK of Java resolves them against the host, and the SDK of
// Kotlin against the directory. The SDK of Rust reads a path as one from the root.
func endpointPath(r *http.Request) string {
	path := r.URL.EscapedPath()
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
		path = u.EscapedPath()
	}
	if isProxied(r) {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	return path
}

// isProxied reports whether a request came through a proxy: by its headers, or by a Host without the port of the
// connection.
func isProxied(r *http.Request) bool {
	for _, key := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Prefix"} {
		if len(r.Header[key]) > 0 {
			return true
		}
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return local != nil && local.Port != 80 && local.Port != 443 && hostName(r.Host) == strings.Trim(r.Host, "[]")
}

// postSSE accepts a message of a session over HTTP+SSE. A request is answered on the session's stream. [Host.Close]
// waits for that.
func (h *Host) postSSE(w http.ResponseWriter, r *http.Request, m *postedMessage, id string) *refusal {
	from := m.countedClient()
	if refused := h.enterHTTP(w, r, from); refused != nil {
		return refused
	}
	if t, ok := h.elsewhere(r, nil, m.from.caller); ok {
		defer h.leave(from)
		return h.forward(w, r, m, &t)
	}
	s, refused := h.acquireSession(id, m.from.caller, true)
	if refused == nil && m.Kind() == wire.Request && h.leaves() {
		h.sessions.release(s)
		refused = refuse(http.StatusNotFound, errNoSession)
	}
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
		s.handleMessage(r.Context(), m)
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	ctx, call, err := s.begin(context.WithoutCancel(r.Context()), m.ID)
	if err != nil {
		defer end()
		return refuseMessage(m.ID, frontError(http.StatusBadRequest, interop.CodeInvalidRequest, "%v", err))
	}
	reply := &outletReply{outlet: s.sse, id: m.ID}
	q := h.newRequest(r, m, s, reply.sendMessage)
	go func() {
		defer end()
		reply.finish(s.serve(ctx, call, q))
	}()
	w.WriteHeader(http.StatusAccepted)
	return nil
}
