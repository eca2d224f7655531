package interop

import (
	"context"
	"encoding/json"
	"time"

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

// Trace is called at the steps by which an endpoint connects over stdio, to find the
// step that failed. (For a server at a URL, EndpointOptions.HTTPClient shows the same.)
// Nil functions are not called. The others may be called from several goroutines at once
// and must not block.
type Trace struct {
	// Started reports the server's process once it runs. It is called for a second
	// process if the first failed after it was asked for its era. stderr returns the end
	// of the output of that process on stderr, at most 8 KiB, safe for a terminal. It
	// may be called at any time, even after the process has ended.
	Started func(pid int, stderr func() string)
	// Answered reports the result of server/discover or initialize, and how long it
	// took. For a reply that arrives too late, err is set too.
	Answered func(method string, took time.Duration, err error)
	// Noise reports the beginning of a line on stdout that is not a JSON object, and so
	// not a message. It is safe for a terminal. [EndpointStatus.Noise] also counts JSON
	// objects that are not messages.
	Noise func(line string)
}
