package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// Every request of a caller takes this way, whatever its view, era and transport:
//
//	begin   the guard begins an exchange
//	admit   the guard decides about each part of a server that the request reaches
//	send    the only function that passes requests of callers to the fleet
//	end     the guard returns the answer
//
// Without a guard, or if the guard lets the request pass, only send remains.

// exchange is one request of a caller on its way.
type exchange struct {
	Request
	view      *view
	requester listRequester
	guard     Exchange    // nil: all is permitted
	mode      Mode        // of guard
	reached   atomic.Bool // the guard knows an item of the request
	once      atomic.Bool // the request continues one that a person approved, and must not reach a server twice
	ended     bool
}

// exchangeKey is the context key of the exchange that a request belongs to.
type exchangeKey struct{}

// exchangeOf returns the exchange that ctx belongs to, or nil.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// viewOf returns the name of the view that handles the request. Tokens that are sealed for a request belong to its
// view.
func viewOf(ctx context.Context) string {
	if x := exchangeOf(ctx); x != nil {
		return x.view.name
	}
	return ""
}

// requesterOf returns the client of the exchange that ctx belongs to.
func requesterOf(ctx context.Context) listRequester { return exchangeOf(ctx).requester }

// begin begins the exchange of a request. The context that it returns carries the exchange. end or endIfPanics must
// follow, unless it returns an error.
func (v *view) begin(ctx context.Context, m interop.Message) (context.Context, *exchange, error) {
	x := &exchange{Request: Request{View: v.name, Message: m}, view: v}
	guard := v.gateway.opts.Guard
	if guard == nil {
		x.requester = v.requester(m, nil)
		return context.WithValue(ctx, exchangeKey{}, x), x, nil
	}
	x.requester = v.requester(m, guard.Rights(ctx, &x.Request))
	if m.Method == protocol.MethodToolsCall {
		x.Tool, x.Known = x.requester.calledTool(m)
	}
	ctx, followed, err := guard.Begin(ctx, &x.Request)
	if err != nil {
		return ctx, nil, err
	}
	if followed != nil {
		x.guard, x.mode = followed, followed.Mode()
	}
	return context.WithValue(ctx, exchangeKey{}, x), x, nil
}

// guarded reports whether a guard decides about the request, or follows it.
func (x *exchange) guarded() bool { return x != nil && x.mode > Passes }

// enforces reports whether a guard limits the request.
func (x *exchange) enforces() bool { return x != nil && x.mode == Enforces }

// permits reports whether the guard permits an action on an item now, whatever the arguments are. It also may be called
// after the end.
func (x *exchange) permits(action Action, it Item) bool {
	return x == nil || x.guard == nil || x.guard.Permits(action, it)
}

// mayAsk returns an error if a server may not ask the client.
func (x *exchange) mayAsk(server string) error {
	if x.permits(ActionAsk, Item{Kind: KindServer, Server: server}) {
		return nil
	}
	return &interop.RPCError{
		Code: interop.CodeMethodNotFound, Message: "the policy does not permit that this server asks the client",
	}
}

// askPeer refuses the questions of servers that may not ask the client.
func (x *exchange) askPeer(next interop.Peer) interop.Peer {
	return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		if m.Server != "" && !protocol.IsNote(m.Method) {
			if err := x.mayAsk(m.Server); err != nil {
				return nil, err
			}
		}
		return next(ctx, m)
	}
}

// handle calls next for a request that has begun, and ends it.
func (x *exchange) handle(
	ctx context.Context, next func(context.Context) (json.RawMessage, error),
) (json.RawMessage, error) {
	defer x.endIfPanics()
	result, err := next(ctx)
	return x.end(ctx, result, err)
}

// end ends the exchange with the answer to the request. It returns the answer for the client. A call that ended before
// any decision is explained to the guard: its tool is not in the caller's list.
func (x *exchange) end(ctx context.Context, result json.RawMessage, err error) (json.RawMessage, error) {
	if x.guard == nil {
		return result, err
	}
	x.ended = true
	name, ok := protocol.LookupString(x.Message.Params, "name")
	if err != nil && ok && x.Message.Method == protocol.MethodToolsCall && !x.reached.Load() {
		arguments, _ := wire.Lookup(x.Message.Params, "arguments")
		a := &Access{
			Item: Item{Kind: KindTool, Name: name}, Action: ActionCall, Called: name, Arguments: arguments,
		}
		if reason := x.view.resolveTool(a); reason != "" {
			x.hide(ctx, a, reason)
		}
	}
	return x.guard.End(result, err)
}

// endIfPanics ends the exchange of a request whose handling panics. The host answers it with an internal error.
func (x *exchange) endIfPanics() {
	if x.guard != nil && !x.ended {
		_, _ = x.guard.End(nil, &interop.RPCError{Code: interop.CodeInternal, Message: "internal error"})
	}
}

// hide notes that an item is hidden from the caller. With the reason "", no server is known to have it.
func (x *exchange) hide(ctx context.Context, a *Access, reason string) {
	x.reached.Store(true)
	x.guard.Hide(ctx, a, reason)
}

// admit asks the guard whether the request may reach an item. It returns the context of the request to the server, and
// the refusal or nil. After a question to a person, the tool is looked up again: it may be another one.
func (x *exchange) admit(ctx context.Context, a *Access) (context.Context, *Refusal) {
	if !x.guarded() {
		return ctx, nil
	}
	x.reached.Store(true)
	ctx, refused := x.guard.Admit(ctx, a)
	switch {
	case refused == nil:
		a.admitted = true
		if a.Once {
			x.once.Store(true)
		}
	case refused.Again && a.find != nil:
		return x.admitAgain(ctx, a)
	case refused.Again:
		return x.admit(ctx, a)
	}
	return ctx, refused
}

// admitAgain replaces the tool of a call by the tool as it is listed now, and admits the call with it.
func (x *exchange) admitAgain(ctx context.Context, a *Access) (context.Context, *Refusal) {
	g := x.view.gateway
	a.source = g.attached.Snapshot("")
	d, err := a.find(ctx, a.Called, x.Message.Caller)
	if err == nil && d != nil {
		a.Item, a.Origin = g.toolItem(d), ""
		return x.admit(ctx, a)
	}
	refused := &Refusal{Hidden: true, Text: noSuchTool}
	if err != nil {
		refused = &Refusal{Text: err.Error()}
	}
	if !x.enforces() {
		return ctx, &Refusal{Hidden: true} // as without a guard
	}
	x.hide(ctx, a, refused.Text)
	return ctx, refused
}

const noSuchTool = "no tool with this name is listed for the caller"

// send sends a request to one server, or to the server of the tool m.Tool, for the client in ctx. Every request of a
// caller leaves the gateway here. a is the access that the guard admitted.
func (g *Gateway) send(ctx context.Context, a *Access, server string, m interop.Message) (json.RawMessage, error) {
	if exchangeOf(ctx).guarded() && (a == nil || !a.admitted) {
		return nil, errNotAdmitted
	}
	return g.attached.Fleet.Request(ctx, server, m)
}

// errNotAdmitted is a fault of the gateway: every request of a caller that a guard follows is admitted before.
var errNotAdmitted = errors.New("the request was not admitted")

// finder returns the tool of a call, or nil if the caller sees no such tool.
type finder func(ctx context.Context, name string, caller toolbox.Principal) (*toolbox.Descriptor, error)

// callAccess returns the access of a call, before it is admitted. If the caller does not see the tool, the reason is
// that of resolveTool, and a guard that enforces gets to know of the call at once.
func (x *exchange) callAccess(
	ctx context.Context, c *toolbox.Call, find finder,
) (a *Access, reason string, err error) {
	g := x.view.gateway
	a = &Access{
		Item: Item{Kind: KindTool, Name: c.Name}, Action: ActionCall, Called: c.Name, Arguments: c.Input, find: find,
	}
	name, _ := wire.Lookup(x.Message.Params, "name")
	a.Nested = x.Message.Method == protocol.MethodToolsCall && string(wire.Text(name)) != c.Name
	if x.mode >= Reports {
		a.source = g.attached.Snapshot("")
	}
	d, err := find(ctx, c.Name, c.Caller)
	if err == nil && d != nil {
		a.Item, a.Known = g.toolItem(d), true
		a.HasState, a.Continues = x.continues(ctx, d.Server, c.Wire.JSON)
		return a, "", nil
	}
	if err == nil {
		reason = x.view.resolveTool(a)
		if !x.enforces() {
			return a, reason, nil
		}
		err = &toolbox.UnknownTool{Name: c.Name}
	}
	if reason != "" {
		x.hide(ctx, a, reason)
	} else {
		x.reached.Store(true)
		x.guard.Ended(a, nil, err)
	}
	return nil, "", err
}

// callEnded ends the access of a call with its answer. reason is that of callAccess.
func (x *exchange) callEnded(ctx context.Context, a *Access, reason string, raw json.RawMessage, err error) {
	x.guard.Ended(a, raw, err)
	if reason == "" || a.Nested {
		return
	}
	_, isUnknown := errors.AsType[*toolbox.UnknownTool](err)
	isHeld := err == nil && reason == reasonHeld && protocol.IsToolError(raw) && x.view.resolveTool(a) == reasonHeld
	if isHeld || isUnknown {
		x.hide(ctx, a, reason)
	}
}

// toolAnswer returns the answer to a call that is not admitted.
func (r *Refusal) toolAnswer(name string) (json.RawMessage, error) {
	switch {
	case r.Err != nil:
		return nil, r.Err
	case r.Hidden:
		return nil, &toolbox.UnknownTool{Name: name}
	case r.Result != nil:
		return r.Result, nil
	}
	return nil, toolbox.Errorf("%s", r.Text)
}

// answer returns the answer to a request, other than a call, that is not admitted. unknown is the answer if the item
// does not exist.
func (r *Refusal) answer(m interop.Message, unknown error) (json.RawMessage, error) {
	switch {
	case r.Err != nil:
		return nil, r.Err
	case r.Hidden:
		return nil, unknown
	case r.Result != nil:
		return r.Result, nil
	}
	e := &interop.RPCError{Code: protocol.CodeRefused, Message: m.Method + ": " + r.Text}
	if r.Retry <= 0 {
		return nil, e
	}
	e.Data = fmt.Appendf(nil, `{"retryAfterMs":%d}`, max(1, r.Retry.Milliseconds()))
	return nil, &protocol.TooSoon{RPCError: e, After: r.Retry}
}

// continues reports whether params continue an exchange that a server began with an input_required result. The state is
// one that the gateway sealed for this server and caller after it had admitted the request. Before the request reaches
// the server, openState checks that it is the same request, and that the state is used once. hasState reports whether
// params have a state that openState will check.
func (x *exchange) continues(
	ctx context.Context, server string, params json.RawMessage,
) (hasState, continues bool) {
	if x.Message.Era != interop.Modern || server == x.view.gateway.opts.Transparent {
		return false, false
	}
	raw, hasState := wire.Lookup(params, "requestState")
	state := string(wire.Text(raw))
	if state == "" || !jsontext.Value(params).IsValid(jsontext.AllowInvalidUTF8(true)) { // a repeated member hides another
		return hasState, false
	}
	want := sealed.Want{Kind: sealed.RequestState, Principal: string(x.Message.Caller), AnyRequest: true}
	t, err := x.view.gateway.opts.Host.Keys.Open(state, want)
	if err != nil {
		return hasState, false
	}
	origin, _, err := openOrigin(ctx, t.Data)
	return hasState, err == nil && origin.server == server
}
