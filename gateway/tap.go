package gateway

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/interop"
)

// Tapped is a message that goes over the gateway, as Options.Tap is shown it: one of a client's as the
// host has read it, one of a server's as it goes over the connection. What the host answers itself
// (handshakes, pings, subscriptions, and the requests that bring a modern client's answers to a call that waits for them) is not among them, nor are the servers' handshakes.
type Tapped struct {
	// Exchange is the same of a request and of its answer, and of nothing else. 0: a notification.
	Exchange uint64
	// Client: it goes between a client and the gateway; otherwise between the gateway and a server.
	Client bool
	// Sent: the gateway sends it; otherwise it has received it.
	Sent bool
	// Server is the one at the other end, or of a client's message that whose view it is; "": any.
	Server string
	// Session is the client's legacy session or its stdio connection; "": it has none.
	Session string
	// Message is the request or notification. It and the others hold bytes that are not the receiver's.
	Message interop.Message
	// Answer: it is the answer to Message, which is Result or Err; neither is a refusal.
	Answer bool
	Result json.RawMessage
	Err    error
}

// tap shows a message, and then its answer.
func (g *Gateway) tap(t Tapped) (answered func(json.RawMessage, error)) {
	if !isNote(t.Message.Method) {
		t.Exchange = g.tapped.Add(1)
	}
	g.opts.Tap(t)
	return func(result json.RawMessage, err error) {
		t.Sent, t.Answer, t.Result, t.Err = !t.Sent, true, result, err
		g.opts.Tap(t)
	}
}

// tapServer is interop.EndpointOptions.Tap for a server.
func (g *Gateway) tapServer(id string) func(bool, interop.Message) func(json.RawMessage, error) {
	return func(sent bool, m interop.Message) func(json.RawMessage, error) {
		return g.tap(Tapped{Sent: sent, Server: id, Message: m})
	}
}

// tappedView is a view of whose clients' messages Options.Tap is shown.
type tappedView struct{ *view }

// Handle implements [host.Backend].
func (v tappedView) Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	shown := Tapped{Client: true, Server: v.scope.server}
	if m.Client != nil {
		shown.Session = m.Client.Session
		m.Client = reachedBy(m.Client, func(next interop.Peer) interop.Peer { return v.tapPeer(shown, true, next) })
	}
	if back != nil {
		back = v.tapPeer(shown, true, back)
	}
	return v.tapPeer(shown, false, func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		return v.view.Handle(ctx, m, back)
	})(ctx, m)
}

// tapPeer is a way of a client's messages, or to a client, of which Options.Tap is shown what goes it.
func (v tappedView) tapPeer(shown Tapped, sent bool, next interop.Peer) interop.Peer {
	return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		shown := shown
		shown.Sent, shown.Message = sent, m
		answered := v.gateway.tap(shown)
		result, err := next(ctx, m)
		if !isNote(m.Method) {
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
