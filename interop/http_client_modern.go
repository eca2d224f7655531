package interop

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

// httpModern is streamable HTTP of 2026-07-28: a POST for each request, whose
// answer is the response, with or without notifications before it. There is no
// session. It dies when the server turns out to be gone, or of another era.
type httpModern struct {
	*httpLife
	server *httpServer
	nextID atomic.Int64
}

var _ conn = (*httpModern)(nil)

// errServerCancelled is the end of a request that the server ended itself: a
// subscription that it tears down (2026-07-28, basic/patterns/cancellation).
var errServerCancelled = errors.New("the server cancelled the request")

func newHTTPModern(s *httpServer) *httpModern {
	return &httpModern{httpLife: newHTTPLife(), server: s}
}

func (c *httpModern) call(ctx context.Context, x exchange) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.alive(); err != nil {
		return nil, err
	}
	id := c.nextID.Add(1)
	r, err := c.server.send(ctx, c.httpLife, http.MethodPost, c.headers(&x), httpRequestBody(id, x.method, x.params))
	if err != nil {
		return nil, c.judge(err)
	}
	if r.kind() == answerEvents {
		return c.stream(ctx, x, id, r)
	}
	result, err := c.server.once(ctx, c.httpLife, r, id)
	return result, c.judge(err)
}

func (c *httpModern) headers(x *exchange) http.Header {
	h := c.server.headers()
	h[httpKeyAccept], h[httpKeyType] = httpAcceptBoth, httpTypeJSON
	h[httpKeyVersion] = []string{protocol.VersionModern}
	h[protocol.HeaderMethod] = []string{x.method}
	if x.name != "" {
		h[protocol.HeaderName] = []string{protocol.HeaderText(x.name)}
	}
	for _, p := range x.header {
		h.Set(p.Name, protocol.HeaderText(p.Value.Reveal()))
	}
	return h
}

// stream takes the answer from an event stream. It has no deadline of its own:
// a subscription is a call that lasts.
func (c *httpModern) stream(ctx context.Context, x exchange, id int64, r *httpReply) (json.RawMessage, error) {
	s := eventStream{id: id, secrets: c.server.secrets, note: func(env *wire.Envelope) error {
		m := Message{Params: env.Params, Method: env.MethodName(), Era: Modern, Of: x.of}
		if m.Method == protocol.NoteCancelled && cancels(m.Params, id) {
			return errServerCancelled
		}
		if x.back != nil {
			_, _ = x.back(ctx, m)
		}
		return nil
	}}
	result, err, final := s.read(c.server.events(r))
	if !final {
		r.close()
		return nil, orContext(ctx, c.httpLife, err)
	}
	r.drain(c.httpLife)
	return result, c.judge(err)
}

// cancels reports whether the params of notifications/cancelled mean the request id.
func cancels(params json.RawMessage, id int64) bool {
	raw, _ := wire.Lookup(params, "requestId")
	var digits [20]byte
	return bytes.Equal(raw, strconv.AppendInt(digits[:0], id, 10))
}

// judge ends the connection where an error means that the next call can only
// fail too: nobody listens there, no MCP server is at the URL, or it no longer
// speaks our version. Whoever dials again finds out what it speaks now.
func (c *httpModern) judge(err error) error {
	var he *HTTPError
	var rpc *RPCError
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

// notify does nothing: a client says nothing but requests over modern HTTP.
func (c *httpModern) notify(context.Context, string, json.RawMessage) error { return nil }

func (c *httpModern) close() {
	c.end()
	c.server.close()
}
