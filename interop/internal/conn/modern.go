package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// modern is streamable HTTP of 2026-07-28: a POST for each request, whose
// answer is the response, with or without notifications before it. There is no
// session. It dies when the server turns out to be gone, or of another era.
type modern struct {
	*lifetime
	server *httpServer
	nextID atomic.Int64
}

var _ Conn = (*modern)(nil)

func newModern(s *httpServer) *modern {
	return &modern{lifetime: newLifetime(), server: s}
}

// Noise implements [Conn].
func (c *modern) Noise() int { return 0 }

// Unasked implements [Conn]: the server sends no requests.
func (c *modern) Unasked(context.Context) {}

// Notify implements [Conn].
func (c *modern) Notify(context.Context, string, json.RawMessage) error { return nil }

// Call implements [Conn].
func (c *modern) Call(ctx context.Context, x Request) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.alive(); err != nil {
		return nil, err
	}
	id := strconv.AppendInt(nil, c.nextID.Add(1), 10)
	e := wire.Envelope{ID: id, Method: wire.Quote(x.Method), Params: x.Params}
	r, err := c.server.send(ctx, c.lifetime, http.MethodPost, c.headers(&x), wire.EncodeEnvelope(e))
	if err != nil {
		return nil, c.judge(err)
	}
	if r.kind() == answerEvents {
		return c.stream(ctx, x, id, r)
	}
	result, err := c.server.once(ctx, c.lifetime, r, id)
	return result, c.judge(err)
}

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

// paramText is the argument at a path; false where there is none that a header can hold.
func paramText(value json.RawMessage, path []string) (text string, ok bool) {
	for _, key := range path {
		if value, ok = wire.Lookup(value, key); !ok {
			return "", false
		}
	}
	return protocol.PrimitiveText(value)
}

// stream takes the answer from an event stream. It has no deadline of its own:
// a subscription is a call that lasts.
func (c *modern) stream(ctx context.Context, x Request, id json.RawMessage, r *httpReply) (json.RawMessage, error) {
	s := eventStream{id: id, server: c.server, note: func(env *wire.Envelope) error {
		m := Message{Params: env.Params, Method: env.MethodName(), Era: protocol.Modern, Of: x.Of}
		if m.Method == protocol.NoteCancelled && bytes.Equal(requestID(m.Params), id) {
			return errServerCancelled
		}
		if x.Receive != nil {
			_, _ = x.Receive(ctx, m)
		}
		return nil
	}}
	result, err, final := s.read(r, c.server.events(r))
	if !final {
		r.close()
		return nil, orContext(ctx, c.lifetime, err)
	}
	r.drain(c.lifetime)
	return result, c.judge(err)
}

func requestID(params json.RawMessage) json.RawMessage {
	id, _ := wire.Lookup(params, "requestId")
	return id
}

// judge ends the connection where an error means that the next call can only
// fail too: nobody listens there, no MCP server is at the URL, or it no longer
// speaks our version. Whoever dials again finds out what it speaks now.
func (c *modern) judge(err error) error {
	var he *HTTPError
	var rpc *protocol.RPCError
	switch {
	case err == nil:
	case errors.As(err, &rpc):
		if rpc.Code == protocol.CodeUnsupportedVersion {
			return c.rejected(err)
		}
	case errors.As(err, &he):
		if he.Status == http.StatusNotFound || he.Status == http.StatusMethodNotAllowed {
			return c.rejected(err)
		}
	case errors.Is(err, syscall.ECONNREFUSED):
		return c.rejected(err)
	}
	return err
}

// Close implements [Conn].
func (c *modern) Close() {
	c.end()
	c.server.close()
}
