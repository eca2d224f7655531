package gateway

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/gateway/internal/naming"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
)

// Tapped is a message that passes the gateway, as Options.Tap receives it: from a client as the host read it, from a
// server as it passes over the connection. Messages that the host answers itself are not shown: handshakes, pings,
// subscriptions, and requests with answers for a waiting call. Handshakes of servers are not shown either.
type Tapped struct {
	// Exchange is equal for a request and its reply, and unique otherwise. 0 means a notification.
	Exchange uint64
	// Client reports whether the message passes between a client and the gateway. Otherwise the peer is a server.
	Client bool
	// Sent reports whether the gateway sends the message. Otherwise the gateway received it.
	Sent bool
	// Server is the other end of the connection. For a client's message it is the server of its view, "" if there are
	// several.
	Server string
	// Session is the client's legacy session or stdio connection. "" means that it has none.
	Session string
	// Message is the request or notification. The receiver does not own the bytes in Message, Result and Err.
	Message interop.Message
	// Answer reports whether this is the reply to Message: Result or Err. If neither is set, the request was refused.
	Answer bool
	Result json.RawMessage
	Err    error
}

// tap shows a message. The function that it returns shows the reply.
func (g *Gateway) tap(t Tapped) (answered func(json.RawMessage, error)) {
	if !protocol.IsNote(t.Message.Method) {
		t.Exchange = g.exchanges.Add(1)
	}
	g.opts.Tap(t)
	return func(result json.RawMessage, err error) {
		t.Sent, t.Answer, t.Result, t.Err = !t.Sent, true, result, err
		g.opts.Tap(t)
	}
}

// tapServer returns the interop.EndpointOptions.Tap for a server.
func (g *Gateway) tapServer(id string) func(bool, interop.Message) func(json.RawMessage, error) {
	return func(sent bool, m interop.Message) func(json.RawMessage, error) {
		return g.tap(Tapped{Sent: sent, Server: id, Message: m})
	}
}

// tappedView is a view that shows the messages of its clients to Options.Tap.
type tappedView struct{ *view }

// Handle implements [host.Backend].
func (v tappedView) Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	shown := Tapped{Client: true, Server: v.scope.server}
	if m.Client != nil {
		shown.Session = m.Client.Session
		m.Client = naming.WrapPeers(m.Client, func(next interop.Peer) interop.Peer { return v.tapPeer(shown, true, next) })
	}
	if back != nil {
		back = v.tapPeer(shown, true, back)
	}
	return v.tapPeer(shown, false, func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		return v.view.Handle(ctx, m, back)
	})(ctx, m)
}

// tapPeer wraps a peer that takes messages from a client, or to a client, and shows these messages to Options.Tap.
func (v tappedView) tapPeer(shown Tapped, sent bool, next interop.Peer) interop.Peer {
	return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		shown := shown
		shown.Sent, shown.Message = sent, m
		answered := v.gateway.tap(shown)
		result, err := next(ctx, m)
		if !protocol.IsNote(m.Method) {
			answered(result, err)
		}
		return result, err
	}
}

// Watch implements [host.Backend].
func (v tappedView) Watch(notify func(interop.Message)) (stop func()) {
	return v.view.Watch(func(m interop.Message) {
		v.gateway.tap(Tapped{Client: true, Sent: true, Server: v.scope.server, Message: m})
		notify(m)
	})
}
