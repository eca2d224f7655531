package interop

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/inflight"
)

// flight is a request in flight.
type flight = inflight.Request[*flightClient]

// flightClient is a Client as package inflight needs it. A nil *flightClient is no client.
type flightClient Client

// SessionID is part of [inflight.Client].
func (c *flightClient) SessionID() string {
	if c == nil {
		return ""
	}
	return c.Session
}

// Receives is part of [inflight.Client].
func (c *flightClient) Receives(method string, duringRequest bool) bool {
	if c == nil || duringRequest && c.Back == nil || !duringRequest && c.Always == nil {
		return false
	}
	return (*Client)(c).wantsNotification(method)
}

// wantsNotification reports whether c wants a notification. A modern client without a level wants no logs (2026-07-28,
// server/utilities/logging).
func (c *Client) wantsNotification(method string) bool {
	return method != protocol.NoteMessage || c.Era == Legacy || c.LogLevel != ""
}

// receiver returns the receiver of the messages that belong to a request. Each message resets the silence deadline. A
// message about a list or a resource concerns all clients, whichever stream it arrives on.
func (e *Endpoint) receiver(m Message, client *Client, token json.RawMessage, onMessage func()) conn.Receiver {
	return func(ctx context.Context, from conn.Message) (json.RawMessage, error) {
		onMessage()
		if conn.ConcernsAll(from.Method) {
			from.Of = 0
			return e.handleIncoming(ctx, from)
		}
		n := e.messageFrom(from)
		n.Of = m.Of
		if m.back == nil || client != nil && !client.wantsNotification(n.Method) || !e.maskParams(&n) {
			return nil, nil
		}
		if n.Method == protocol.NoteProgress && token != nil {
			params, err := wire.Rewrite(n.Params, wire.Edit{Key: "progressToken", Value: token})
			if err != nil {
				return nil, nil //nolint:nilerr // it names two tokens
			}
			n.Params = params
		}
		return m.back(ctx, n)
	}
}

// handleIncoming handles the server's requests, and the notifications that belong to no request of ours.
func (e *Endpoint) handleIncoming(ctx context.Context, from conn.Message) (json.RawMessage, error) {
	m := e.messageFrom(from)
	if !e.maskParams(&m) {
		return nil, nil
	}
	t := e.active.Find(m.Of)
	m.Of = 0
	if t != nil {
		m.Of = t.Exchange
	}
	switch {
	case m.Method == protocol.NoteAcknowledged: // late: the subscription is the endpoint's own
		return nil, nil
	case m.ID != nil && e.opts.onQuestion != nil:
		return e.relayQuestion(ctx, t, m)
	case m.ID != nil:
	case e.concernsAll(m.Method):
		e.recordChange(m)
	case e.opts.broadcast != nil:
		if c := e.active.SessionClient(m.Method); c != nil {
			return c.Always(ctx, m)
		}
		e.opts.broadcast(m)
	}
	if e.opts.Receive != nil && e.opts.onQuestion == nil {
		if m.ID != nil {
			defer e.active.PauseDeadlines()() // a person may be asked
		}
		return e.opts.Receive(ctx, m)
	}
	return nil, &RPCError{Code: CodeMethodNotFound, Message: "method not found: " + m.Method}
}

// concernsAll reports whether a notification is for all clients. A notification about a task on a connection of one
// client or principal is not.
func (e *Endpoint) concernsAll(method string) bool {
	isTask := strings.HasPrefix(method, "notifications/tasks")
	return conn.ConcernsAll(method) || isTask && e.opts.onQuestion == nil && !e.opts.private
}

// requestFor returns the only request in flight that a notification without a request can belong to. It returns 0 if
// there is none, or if the connection belongs to no fleet. Then its only user receives everything.
func (e *Endpoint) requestFor(method string) uint64 {
	if e.opts.broadcast == nil || e.concernsAll(method) {
		return 0
	}
	return e.active.NotificationTarget(method)
}

// recordChange records a change of a list, a resource or a task.
func (e *Endpoint) recordChange(m Message) {
	if m.Method == protocol.NoteToolsChanged {
		e.invalidateList()
	}
	if e.opts.broadcast != nil {
		e.opts.broadcast(m)
	}
}

// errRetired ends a question without an answer, because a person may take longer than the server stays in the fleet.
var errRetired = errors.New("the server that asks was taken out of the configuration, or replaced")

// withRetirement returns a context that also ends when the endpoint's server leaves its fleet. stop must follow.
func (e *Endpoint) withRetirement(ctx context.Context) (until context.Context, stop func()) {
	if e.opts.retired == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(e.opts.retired, func() { cancel(errRetired) })
	return ctx, func() { unwatch(); cancel(nil) }
}

// relayQuestion passes a server's question to the client of a lane. A client is never asked for a capability that it
// has not declared.
func (e *Endpoint) relayQuestion(ctx context.Context, t *flight, m Message) (json.RawMessage, error) {
	if err := protocol.CheckClientRequest(e.opts.Capabilities, m.Method, m.Params); err != nil {
		return nil, err
	}
	var session *flightClient
	h := e.opts.habits
	if m.Method == protocol.MethodRoots { // roots belong to the session, and outlive any request
		h = nil
		if t == nil {
			session = e.active.SessionClient(m.Method)
		}
	}
	guessed := false
	if t == nil && session == nil {
		var err error
		if t, session, guessed, err = e.active.Attribute(ctx, m.Method, h); err != nil {
			return nil, err
		}
	}
	askCtx, stop := e.withRetirement(ctx)
	defer stop()
	var ask Peer
	to := m
	switch {
	case session != nil:
		ask = session.Always
	case t != nil && t.Client != nil:
		client := (*Client)(t.Client)
		if client.Back == nil || protocol.CheckClientRequest(client.capabilitiesFor(Legacy), m.Method, m.Params) != nil {
			// Another client has opened the connection.
			return nil, &RPCError{Code: CodeMethodNotFound, Message: "method not found: " + m.Method}
		}
		to.Of, to.Caller = t.Exchange, t.Caller
		ask = client.Back
		var cancel context.CancelFunc
		askCtx, cancel = context.WithCancel(askCtx)
		defer cancel()
		defer context.AfterFunc(t.Ctx, cancel)()
	default:
		why := m.Method + ": there is no request under way that this could belong to"
		return nil, &RPCError{Code: CodeInternal, Message: why}
	}
	release := e.active.PauseDeadlines()
	e.opts.onQuestion()
	result, err := ask(askCtx, to)
	release()
	if err != nil && guessed && t.Ctx.Err() != nil && ctx.Err() == nil { // another request of the client asks
		return e.relayQuestion(ctx, nil, m)
	}
	return result, err
}
