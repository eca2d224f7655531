package interop

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/interop/internal/conn"
)

// tappedConn is a connection that reports all its messages to EndpointOptions.Tap.
type tappedConn struct {
	conn.Conn
	endpoint *Endpoint
}

// Call implements [conn.Conn].
func (t tappedConn) Call(ctx context.Context, r conn.Request) (json.RawMessage, error) {
	answered := t.endpoint.opts.Tap(true, Message{Method: r.Method, Params: r.Params, Server: t.endpoint.server.ID})
	if r.Receive != nil {
		r.Receive = t.endpoint.tapReceiver(r.Receive)
	}
	result, err := t.Conn.Call(ctx, r)
	answered(result, err)
	return result, err
}

// tapReceiver returns a receiver that reports its messages to Tap.
func (e *Endpoint) tapReceiver(next conn.Receiver) conn.Receiver {
	if e.opts.Tap == nil {
		return next
	}
	return func(ctx context.Context, from conn.Message) (json.RawMessage, error) {
		m := e.messageFrom(from)
		m.Params = e.secrets.JSON(m.Params)
		answered := e.opts.Tap(false, m)
		result, err := next(ctx, from)
		if m.ID != nil {
			answered(result, err)
		}
		return result, err
	}
}
