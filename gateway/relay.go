package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/ledger"
)

// Questions of a server during a request take one of four ways, by the eras of client and server:
//
//	client  server
//	legacy  legacy  Client.Back takes the question, as it is (interop: a lane)
//	legacy  modern  Client.Back is asked for each part of an input_required (interop: rounds)
//	modern  modern  input_required passes; its requestState is sealed: typed, below
//	modern  legacy  Client.Back parks the request, which is answered with an input_required: package host
//
// On a view of several servers each question names the server that asks.

// stateTime is the validity of a server's requestState. It is long because a person may take a while to answer.
const stateTime = 24 * time.Hour

// severalKey marks contexts in which questions name their server.
type severalKey struct{}

// viewKey is the context key of the view that handles a request. Tokens that are sealed in the context belong to it.
type viewKey struct{}

// viewOf returns the name of the view that handles the request.
func viewOf(ctx context.Context) string {
	if v, ok := ctx.Value(viewKey{}).(*view); ok {
		return v.name
	}
	return ""
}

// handling is the signature of the functions with which a view handles a request.
type handling func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error)

// relayed passes a request to next so that servers can ask the client that sent it.
func (v *view) relayed(ctx context.Context, m interop.Message, back interop.Peer, next handling) (json.RawMessage, error) {
	if m.Client == nil {
		return next(ctx, m, back)
	}
	if v.gateway.opts.SignIn != nil && (m.Era != interop.Modern || protocol.MayRequireInput(m.Method)) {
		next = v.gateway.signingIn(m.Client, next)
	}
	if protocol.AcceptsRequests(m.Client.Capabilities) && v.scope.server == "" {
		ctx = context.WithValue(ctx, severalKey{}, true)
		m.Client = reachedBy(m.Client, namingPeer)
	}
	if m.Era == interop.Legacy && !v.exact {
		m.Client = reachedBy(m.Client, v.taskPeer(m.Caller))
	}
	return next(ctx, m, back)
}

// badState returns the error for a requestState that is not valid for the request.
func badState(why error) error {
	return &interop.RPCError{Code: interop.CodeInvalidParams, Message: "requestState: " + why.Error()}
}

// endpoints returns the options for each server's connections: the options of others with upstream, typed and the tap.
func (g *Gateway) endpoints(others func(interop.Server) *interop.EndpointOptions) func(interop.Server) *interop.EndpointOptions {
	return func(s interop.Server) *interop.EndpointOptions {
		var e interop.EndpointOptions
		if others != nil {
			if o := others(s); o != nil {
				e = *o
			}
		}
		if s.ID != g.opts.Transparent {
			of := originOf(s)
			e.Around, e.Typed = append(slices.Clip(e.Around), g.upstream(of)), g.typed(of)
		}
		if g.opts.Tap != nil {
			e.Tap = g.tapServer(s.ID)
		}
		return &e
	}
}

// origin identifies the server that a sealed token belongs to: its name and the fingerprint of its configuration. After
// a reload the name may belong to another server.
type origin struct{ server, runs string }

func originOf(s interop.Server) origin {
	return origin{s.ID, ledger.Fingerprint(interop.Server{ID: s.ID, Transport: s.Transport, Identity: s.Identity})}
}

// seal returns the data of a token: the origin, the view of ctx and the server's own bytes.
func (o origin) seal(ctx context.Context, own []byte) []byte {
	return append([]byte(o.server+"\x00"+o.runs+"\x00"+viewOf(ctx)+"\x00"), own...)
}

// errOtherView is returned for a token that was made in another view. Tokens do not pass from one view to another.
var errOtherView = errors.New("it was made in another view")

// openOrigin undoes seal, for a request to the same view.
func openOrigin(ctx context.Context, data []byte) (of origin, own string, err error) {
	of.server, own, _ = strings.Cut(string(data), "\x00")
	of.runs, own, _ = strings.Cut(own, "\x00")
	in, own, ok := strings.Cut(own, "\x00")
	if !ok || in != viewOf(ctx) {
		return origin{}, "", errOtherView
	}
	return of, own, nil
}

// upstream wraps the requests that go to a server for a client. It seals the state of a request and the ids of tasks
// for that client, and opens them when they come back.
func (g *Gateway) upstream(of origin) func(next interop.Peer) interop.Peer {
	return func(next interop.Peer) interop.Peer {
		return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
			c := interop.ClientOf(ctx)
			if c == nil {
				return next(ctx, m)
			}
			result, err := g.passOn(ctx, c.Era, of, m, next)
			if err != nil && ctx.Value(severalKey{}) != nil {
				err = nameURLs(of.server, err)
			}
			return result, err
		}
	}
}

func (g *Gateway) passOn(ctx context.Context, era interop.Era, of origin, m interop.Message, next interop.Peer) (json.RawMessage, error) {
	switch {
	case isTask(m.Method):
		return g.upstreamTask(ctx, of, m, next)
	case era == interop.Modern && protocol.MayRequireInput(m.Method):
		params, used, err := g.openState(ctx, of, m)
		if err != nil {
			return nil, err
		}
		m.Params = params
		result, err := next(ctx, m)
		used(err)
		return result, err
	}
	result, err := next(ctx, m)
	if err != nil || era == interop.Modern || m.Method != protocol.MethodToolsCall || !bytes.Contains(m.Params, []byte(`"task"`)) {
		return result, err
	}
	if _, wanted := wire.Lookup(m.Params, "task"); wanted {
		if _, created := wire.Lookup(result, "task"); created {
			return g.sealCreated(ctx, of, m, result, "task", "taskId")
		}
	}
	return result, nil
}

// typed seals the results to modern clients that ask for input or create a task.
func (g *Gateway) typed(of origin) func(context.Context, interop.Message, string, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, m interop.Message, kind string, result json.RawMessage) (json.RawMessage, error) {
		switch kind {
		case "input_required":
			return g.sealState(ctx, of, m, result)
		case "task":
			return g.sealCreated(ctx, of, m, result, "taskId")
		}
		return result, nil
	}
}

// openState returns the params of a request with the server's own state in place of the sealed one. The state counts as
// used, unless used is called with an error that does not come from the server.
func (g *Gateway) openState(ctx context.Context, of origin, m interop.Message) (params json.RawMessage, used func(error), err error) {
	state, err := protocol.OneMember(m.Params, "requestState")
	if err != nil {
		return nil, nil, badState(err)
	}
	if state == nil {
		return m.Params, func(error) {}, nil
	}
	text, _ := wire.Unquote(state)
	t, err := g.opts.Host.Keys.Open(text, sealed.Want{Kind: sealed.RequestState, Principal: string(m.Caller), Digest: requestDigest(m)})
	if err != nil {
		return nil, nil, badState(err)
	}
	owner, own, err := openOrigin(ctx, t.Data)
	if err == nil && owner != of {
		err = errors.New("another server has this name now; send the request again without it")
	}
	if err != nil {
		return nil, nil, badState(err)
	}
	if params, err = wire.Rewrite(m.Params, wire.Edit{Key: "requestState", Value: json.RawMessage(own)}); err != nil {
		return nil, nil, err
	}
	used, first := g.used.take(m.Caller, text, t.Expires)
	if !first {
		return nil, nil, badState(errStateUsed)
	}
	return params, used, nil
}

// sealState returns a server's input_required result with its state sealed for the client.
func (g *Gateway) sealState(ctx context.Context, of origin, m interop.Message, result json.RawMessage) (json.RawMessage, error) {
	var edits []wire.Edit
	if state, ok := wire.Lookup(result, "requestState"); ok {
		edits = append(edits, wire.Edit{Key: "requestState", Value: wire.Quote(g.opts.Host.Keys.Seal(sealed.Token{
			Kind: sealed.RequestState, Principal: string(m.Caller), Digest: requestDigest(m), Expires: time.Now().Add(stateTime),
			Data: of.seal(ctx, state),
		}))})
	}
	if requests, ok := wire.Lookup(result, "inputRequests"); ok && ctx.Value(severalKey{}) != nil {
		named, err := nameRequests(of.server, requests)
		if err != nil {
			return nil, interop.NewFault(interop.Protocol, of.server, m.Method, err)
		}
		edits = append(edits, wire.Edit{Key: "inputRequests", Value: named})
	}
	out, err := wire.Rewrite(result, edits...)
	if err != nil { // a member stands twice
		return nil, interop.NewFault(interop.Protocol, of.server, m.Method, err)
	}
	return out, nil
}
