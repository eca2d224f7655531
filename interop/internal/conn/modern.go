package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"syscall"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// modern carries a session over streamable HTTP of 2026-07-28. Each request is a POST. Its answer is the response, with
// or without notifications before it. The server has no session. The connection dies if the server is gone or of
// another era.
type modern struct {
	s      *session
	server *httpServer
}

var _ carrier = (*modern)(nil)

func newModern(server *httpServer) *session {
	s := newSession(server.opts, 0)
	s.carrier = &modern{s, server}
	return s
}

// send posts a request and receives its answer, in the goroutine of the call. An event stream has no deadline of its
// own, because a subscription is a long call. Notifications are not sent: a request is cancelled by closing its stream.
func (c *modern) send(ctx context.Context, e wire.Envelope, p *pending) error {
	if p == nil {
		return nil
	}
	r, err := c.server.send(ctx, c.s.lifetime, http.MethodPost, c.headers(p.request), wire.EncodeEnvelope(e))
	if err != nil {
		return c.endIfFatal(err)
	}
	s := &eventStream{id: e.ID, server: c.server, session: c.s, onNotification: func(env *wire.Envelope) error {
		m := Message{Params: env.Params, Method: env.MethodName(), Era: protocol.Modern}
		if id, _ := wire.Lookup(m.Params, "requestId"); m.Method == protocol.NoteCancelled && bytes.Equal(id, e.ID) {
			return errServerCancelled
		}
		p.add(m)
		p.deliver()
		return nil
	}}
	return c.endIfFatal(s.answer(ctx, c.s.lifetime, p, r, nil))
}

func (c *modern) leave(context.Context) {}

func (c *modern) close() { c.server.close() }

func (c *modern) headers(x *Request) http.Header {
	h := c.server.headers(httpAcceptBoth)
	h[httpKeyVersion] = []string{protocol.VersionModern}
	h[protocol.HeaderMethod] = []string{x.Method}
	if x.Name != "" {
		h[protocol.HeaderName] = []string{protocol.HeaderText(x.Name)}
	}
	if len(x.ParamHeaders) > 0 {
		args, _ := wire.Lookup(x.Params, "arguments")
		for _, p := range x.ParamHeaders {
			if value, ok := paramText(args, p.Path); ok {
				h.Set(protocol.HeaderParam+p.Name, protocol.HeaderText(value))
			}
		}
	}
	return h
}

// paramText returns the argument at a path. It returns false if there is none that fits in a header.
func paramText(value json.RawMessage, path []string) (text string, ok bool) {
	for _, key := range path {
		value, ok = wire.Lookup(value, key)
		if !ok {
			return "", false
		}
	}
	return protocol.PrimitiveText(value)
}

// endIfFatal ends the connection if an error means that the next call must fail too. There is no server, no MCP server
// at the URL, or the server no longer supports the version. The next dial finds out its version again. A [*LostError]
// has the refusal of another message as its cause.
func (c *modern) endIfFatal(err error) error {
	if errors.As(err, new(*LostError)) {
		return err
	}
	rpc, answered := errors.AsType[*protocol.RPCError](err)
	fatal := answered && rpc.Code == protocol.CodeUnsupportedVersion
	if !answered {
		status := statusOf(err)
		fatal = status == http.StatusNotFound || status == http.StatusMethodNotAllowed || errors.Is(err, syscall.ECONNREFUSED)
	}
	if fatal {
		return c.s.rejectCall(err)
	}
	return err
}
