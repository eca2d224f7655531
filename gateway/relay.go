package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/gateway/internal/definition"
	"github.com/indusagi/indus/gateway/internal/naming"
	"github.com/indusagi/indus/internal/canonical"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// Questions of a server during a request take one of four ways, by the eras of client and server:
//
//	client  server
//	legacy  legacy  Client.Back takes the question, as it is (interop: a lane)
//	legacy  modern  Client.Back is asked for each part of an input_required (interop: rounds)
//	modern  modern  input_required passes; its requestState is sealed: sealResults, below
//	modern  legacy  Client.Back parks the request, which is answered with an input_required: package host
//
// On a view of several servers each question names the server that asks.

// stateTime is the validity of a server's requestState. It is long because a person may take a while to answer.
const stateTime = 24 * time.Hour

// severalKey marks contexts in which questions name their server.
type severalKey struct{}

// forServers returns the context and the request with which servers get a request, so that they can ask the client that
// sent it.
func (v *view) forServers(ctx context.Context, m interop.Message) (context.Context, interop.Message) {
	if m.Client == nil {
		return ctx, m
	}
	if protocol.AcceptsRequests(m.Client.Capabilities) {
		if x := exchangeOf(ctx); x.guard != nil && v.gateway.opts.Guard.Decides() {
			m.Client = naming.WrapPeers(m.Client, x.askPeer)
		}
		if v.scope.server == "" {
			ctx = context.WithValue(ctx, severalKey{}, true)
			m.Client = naming.WrapPeers(m.Client, naming.Peer)
		}
	}
	if m.Era == interop.Legacy && !v.transparent {
		m.Client = naming.WrapPeers(m.Client, v.taskPeer(m.Caller))
	}
	return interop.WithClient(ctx, m.Client), m
}

// requestDigest returns the digest of the parts that are equal in all requests of one exchange: the request, and the
// definition of the tool that a policy admitted.
func requestDigest(ctx context.Context, m interop.Message) [32]byte {
	if it := judgedIn(ctx); it != nil {
		return sealed.Digest([]byte(m.Method), protocol.LastingParams(m.Params), canonical.JSON(it.Tool.Wire.JSON))
	}
	return sealed.Digest([]byte(m.Method), protocol.LastingParams(m.Params))
}

// endpoints returns the options for each server's connections: the options of base with wrapUpstream, sealResults and
// the tap.
func (g *Gateway) endpoints(
	base func(config.Server) *interop.EndpointOptions,
) func(config.Server) *interop.EndpointOptions {
	return func(s config.Server) *interop.EndpointOptions {
		var e interop.EndpointOptions
		if base != nil {
			if given := base(s); given != nil {
				e = *given
			}
		}
		if s.ID != g.opts.Transparent {
			origin := originOf(s)
			e.Around, e.Typed = append(slices.Clip(e.Around), g.wrapUpstream(origin)), g.sealResults(origin)
		}
		if g.observer != nil {
			g.observer.Connection(s, s.ID == g.opts.Transparent, &e)
		}
		if g.opts.Tap != nil {
			e.Tap = g.tapServer(s.ID)
		}
		return &e
	}
}

// serverOrigin identifies the server that a sealed token belongs to: its name and the fingerprint of its configuration.
// After a reload the name may belong to another server.
type serverOrigin struct{ server, fingerprint string }

func originOf(s config.Server) serverOrigin {
	return serverOrigin{s.ID, definition.Fingerprint(s)}
}

// seal returns the data of a token: the origin, the view of ctx and the server's own bytes.
func (o serverOrigin) seal(ctx context.Context, own []byte) []byte {
	return append([]byte(o.server+"\x00"+o.fingerprint+"\x00"+viewOf(ctx)+"\x00"), own...)
}

// errOtherView is returned for a token that was made in another view. Tokens do not pass from one view to another.
var errOtherView = errors.New("it was made in another view")

// openOrigin undoes seal, for a request to the same view.
func openOrigin(ctx context.Context, data []byte) (origin serverOrigin, own string, err error) {
	origin.server, own, _ = strings.Cut(string(data), "\x00")
	origin.fingerprint, own, _ = strings.Cut(own, "\x00")
	in, own, ok := strings.Cut(own, "\x00")
	if !ok || in != viewOf(ctx) {
		return serverOrigin{}, "", errOtherView
	}
	return origin, own, nil
}

// wrapUpstream wraps the requests that go to a server for a client. It seals the state of a request and the ids of
// tasks for that client, and opens them when they come back.
func (g *Gateway) wrapUpstream(origin serverOrigin) func(next interop.Peer) interop.Peer {
	return func(next interop.Peer) interop.Peer {
		return func(ctx context.Context, m interop.Message) (result json.RawMessage, err error) {
			c := interop.ClientOf(ctx)
			switch {
			case c == nil:
				return next(ctx, m)
			case strings.HasPrefix(m.Method, "tasks/"):
				result, err = g.forwardTask(ctx, origin, m, next)
			case c.Era == interop.Modern && protocol.MayRequireInput(m.Method):
				var used func(error)
				if m.Params, used, err = g.openState(ctx, origin, m); err == nil {
					result, err = next(ctx, m)
					used(err)
				}
			default:
				result, err = next(ctx, m)
				if err == nil && c.Era == interop.Legacy && createsTask(m, result) {
					result, err = g.sealCreated(ctx, origin, m, result, "task", "taskId")
				}
			}
			if err != nil && ctx.Value(severalKey{}) != nil {
				err = naming.URLs(origin.server, err)
			}
			return result, err
		}
	}
}

// createsTask reports whether a call of 2025-11-25 asked for a task, and the result has one.
func createsTask(m interop.Message, result json.RawMessage) bool {
	if m.Method != protocol.MethodToolsCall || !bytes.Contains(m.Params, []byte(`"task"`)) {
		return false
	}
	_, wanted := wire.Lookup(m.Params, "task")
	_, created := wire.Lookup(result, "task")
	return wanted && created
}

// sealResults seals the results to modern clients that ask for input or create a task.
func (g *Gateway) sealResults(
	origin serverOrigin,
) func(context.Context, interop.Message, string, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, m interop.Message, kind string, result json.RawMessage) (json.RawMessage, error) {
		switch kind {
		case "input_required":
			return g.sealState(ctx, origin, m, result)
		case "task":
			return g.sealCreated(ctx, origin, m, result, "taskId")
		}
		return result, nil
	}
}

// openState returns the params of a request with the server's own state in place of the sealed one. The state counts as
// used, unless used is called with an error that does not come from the server.
func (g *Gateway) openState(
	ctx context.Context, origin serverOrigin, m interop.Message,
) (params json.RawMessage, used func(error), err error) {
	state, err := protocol.OneMember(m.Params, "requestState")
	if err != nil {
		return nil, nil, protocol.InvalidParams("requestState", "%v", err)
	}
	if state == nil {
		return m.Params, func(error) {}, nil
	}
	text, _ := wire.Unquote(state)
	want := sealed.Want{Kind: sealed.RequestState, Principal: string(m.Caller), Digest: requestDigest(ctx, m)}
	t, err := g.opts.Host.Keys.Open(text, want)
	if err != nil {
		return nil, nil, protocol.InvalidParams("requestState", "%v", err)
	}
	owner, own, err := openOrigin(ctx, t.Data)
	if err == nil && owner != origin {
		err = errors.New("another server has this name now; send the request again without it")
	}
	if err != nil {
		return nil, nil, protocol.InvalidParams("requestState", "%v", err)
	}
	params, err = wire.Rewrite(m.Params, wire.Edit{Key: "requestState", Value: json.RawMessage(own)})
	if err != nil {
		return nil, nil, err
	}
	x := exchangeOf(ctx)
	once := x != nil && x.once.Load()
	if once && t.Expires.Before(g.startedAt.Add(stateTime)) { // it may be used: a restart forgets the used states
		return nil, nil, protocol.InvalidParams("requestState", "%v", errStateOld)
	}
	used, first := g.usedStates.Mark(m.Caller, text, t.Expires)
	if !first {
		return nil, nil, protocol.InvalidParams("requestState", "%v", errStateUsed)
	}
	if once { // the server may run it, whatever the gateway learns of that
		used = func(error) {}
	}
	return params, used, nil
}

// sealState returns a server's input_required result with its state sealed for the client.
func (g *Gateway) sealState(
	ctx context.Context, origin serverOrigin, m interop.Message, result json.RawMessage,
) (json.RawMessage, error) {
	if requests, _ := wire.Lookup(result, "inputRequests"); len(requests) > len("{}") {
		if err := exchangeOf(ctx).mayAsk(origin.server); err != nil {
			return nil, interop.NewFault(interop.Protocol, origin.server, m.Method, err)
		}
	}
	var edits []wire.Edit
	if state, ok := wire.Lookup(result, "requestState"); ok {
		token := sealed.Token{
			Kind: sealed.RequestState, Principal: string(m.Caller), Digest: requestDigest(ctx, m),
			Expires: time.Now().Add(stateTime), Data: origin.seal(ctx, state),
		}
		edits = append(edits, wire.Edit{Key: "requestState", Value: wire.Quote(g.opts.Host.Keys.Seal(token))})
	}
	if requests, ok := wire.Lookup(result, "inputRequests"); ok && ctx.Value(severalKey{}) != nil {
		named, err := naming.Requests(origin.server, requests)
		if err != nil {
			return nil, interop.NewFault(interop.Protocol, origin.server, m.Method, err)
		}
		edits = append(edits, wire.Edit{Key: "inputRequests", Value: named})
	}
	out, err := wire.Rewrite(result, edits...)
	if err != nil { // a member stands twice
		return nil, interop.NewFault(interop.Protocol, origin.server, m.Method, err)
	}
	return out, nil
}

// errStateUsed is returned if a client sends the same requestState of a server a second time.
var errStateUsed = errors.New("its answers were given before, " +
	"and each state is valid for one request; use the state of the last answer")

// errStateOld is returned if a client continues an approved call with a state of an earlier process.
var errStateOld = errors.New("indus was restarted since the question, and an approved call runs once; " +
	"send the request again without it")
