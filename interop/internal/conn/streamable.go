package conn

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// streamable carries a session over streamable HTTP up to 2025-11-25, with a POST for each message. If the server may
// send messages outside of calls, there is also a standing GET stream. The connection dies with the server's session.
type streamable struct {
	s      *session
	server *httpServer
	id     atomic.Pointer[string] // of the server's session; nil: none
	worked atomic.Bool            // the server has answered a request in the session
	asking sync.Mutex             // held during a check of the session
}

var _ carrier = (*streamable)(nil)

// standWait bounds the wait for the standing stream, if the server may ask questions on the connection.
const standWait = 500 * time.Millisecond

// openStreamable shakes hands.
func openStreamable(ctx context.Context, server *httpServer, version string) (Conn, Handshake, error) {
	s := newSession(server.opts, httpLeaveWait)
	c := &streamable{s: s, server: server}
	s.carrier = c
	h, err := s.initialize(ctx, version)
	if err != nil {
		s.Close()
		return nil, Handshake{}, err
	}
	h.Asks = c.id.Load() != nil
	if asks := server.opts.Capabilities != nil; asks || declaresStream(h.Capabilities) {
		answered := make(chan struct{})
		s.spawn(func(ctx context.Context) { c.keepStanding(ctx, sync.OnceFunc(func() { close(answered) })) })
		if asks { // some servers ask only there, already during the first call
			select {
			case <-answered:
			case <-time.After(standWait): // some servers answer only with the first event
			case <-ctx.Done():
			}
		}
	}
	return s, h, nil
}

// headers returns the headers of a message in the session.
func (c *streamable) headers(accept []string) http.Header {
	h := c.server.headers(accept)
	if id := c.id.Load(); id != nil {
		h[protocol.HeaderSession] = []string{*id}
	}
	if handshake := c.s.handshake.Load(); handshake != nil {
		h[httpKeyVersion] = []string{handshake.Version}
	}
	return h
}

func (c *streamable) send(ctx context.Context, e wire.Envelope, p *pending) error {
	switch {
	case p == nil:
		return c.endIfFatal(c.server.deliver(ctx, c.s.transport, c.headers(httpAcceptBoth), e))
	case p.request.quiet: // there is no session yet that could have ended, or the request checks the session
		return c.exchange(ctx, e, p)
	}
	err := c.exchange(ctx, e, p)
	if err == nil && !c.worked.Load() {
		c.worked.Store(true)
	}
	return c.endIfLost(ctx, err, p)
}

// exchange posts a request and receives its answer, in the goroutine of the call.
func (c *streamable) exchange(ctx context.Context, e wire.Envelope, p *pending) error {
	r, err := c.server.send(ctx, c.s.lifetime, http.MethodPost, c.headers(httpAcceptBoth), wire.EncodeEnvelope(e))
	if err != nil {
		return err
	}
	if p.request.Method == protocol.MethodInitialize && r.StatusCode/100 == 2 {
		if err := c.storeSessionID(r.Header.Get(protocol.HeaderSession)); err != nil {
			r.close()
			return err
		}
	}
	s := c.events(e.ID, p)
	return s.answer(ctx, c.s.lifetime, p, r, func(cut error) (*httpReply, error) { return c.resume(ctx, s, cut) })
}

// storeSessionID stores the session's id. Only visible ASCII is allowed.
func (c *streamable) storeSessionID(id string) error {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return &ProtocolError{"a session id that is no visible ASCII", nil}
		}
	}
	if id != "" {
		c.id.Store(&id)
	}
	return nil
}

// leave deletes the session.
func (c *streamable) leave(ctx context.Context) {
	if c.id.Load() == nil {
		return
	}
	if r, err := c.server.send(ctx, c.s.transport, http.MethodDelete, c.headers(httpAcceptBoth), nil); err == nil {
		r.close()
	}
}

func (c *streamable) close() { c.server.close() }

// endIfFatal ends the connection if an error means that the session or the server is gone. Then the message did not
// run, unless its answer had begun. A 400 that is only assumed to mean the end of a session may come from a tool. A
// [*LostError] has the refusal of another message as its cause.
func (c *streamable) endIfFatal(err error) error {
	var he *HTTPError
	_, begun := errors.AsType[*CutError](err)
	switch {
	case err == nil, errors.As(err, new(*LostError)):
		return err
	case errors.As(err, &he):
		if !c.isSessionOver(he, err) {
			return err
		}
		if _, isSession := errors.AsType[*SessionError](err); !isSession && c.id.Load() != nil {
			err = &SessionError{err}
		}
		begun = begun || he.Status != http.StatusNotFound && !namesSession(he)
	case !errors.Is(err, syscall.ECONNREFUSED):
		return err
	}
	if !begun {
		return c.s.rejectCall(err)
	}
	c.s.die(err)
	return err
}

// namesSession reports whether an answer complains about the session's id.
func namesSession(he *HTTPError) bool {
	body := strings.ToLower(he.Body)
	return strings.Contains(body, "session id") || strings.Contains(body, "session-id")
}

// isSessionOver reports whether an answer means that the session has ended. The specification requires 404. Many
// restarted servers send 400 with a text about sessions. A 404 with "method not found" is an answer of its own.
func (c *streamable) isSessionOver(he *HTTPError, err error) bool {
	var rpc *protocol.RPCError
	switch he.Status {
	case http.StatusNotFound:
		return !errors.As(err, &rpc) || rpc.Code != protocol.CodeMethodNotFound
	case http.StatusBadRequest:
		return c.id.Load() != nil && strings.Contains(strings.ToLower(he.Body), "session")
	}
	return false
}
