package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// Tools returns the tools that [Gateway.Call] accepts from a caller: those that the guard may permit. Options.Expose
// does not replace them. ctx carries the identity of the caller, see identity.NewContext.
func (g *Gateway) Tools(ctx context.Context, caller toolbox.Principal, c *interop.Client) *toolbox.Snapshot {
	m := directRequest(caller, c, protocol.MethodToolsList)
	return g.mainView.requesterOf(ctx, m).kind.all.Snapshot(m.Caller)
}

// Call calls a tool for a caller that reaches the gateway through the program itself, such as a visitor of a page. The
// call takes the way of a call by a client of the view of everything, with the same decisions and records. The name is
// one of [Gateway.Tools]. The caller "" is the local user.
// ctx carries the identity, see identity.NewContext. c describes the caller's program; questions reach it by c.Back,
// and it must not be nil. The result is that of a legacy request. If the tool does not exist, or if its server answers
// with an error, the error is an [*interop.RPCError].
func (g *Gateway) Call(
	ctx context.Context, caller toolbox.Principal, c *interop.Client, name string, arguments json.RawMessage,
) (json.RawMessage, error) {
	if !wire.Valid(arguments) || arguments[0] != '{' {
		return nil, errors.New("the arguments are no JSON object")
	}
	if !g.enterDirect() {
		return nil, errors.New("indus is shutting down and takes no new calls")
	}
	defer g.direct.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	m := directRequest(caller, c, protocol.MethodToolsCall)
	m.Params = wire.Object{}.Text("name", name).Raw("arguments", arguments).JSON()
	v := g.mainView
	result, err := v.Handle(context.WithValue(ctx, directKey{}, v), m, c.Back)
	if err != nil && g.ctx.Err() != nil {
		err = errors.New("indus is shutting down; whether the call took effect is not known")
	}
	return result, err
}

// directKey is the context key of the view that handles a call of [Gateway.Call]: Options.Expose does not apply to it.
type directKey struct{}

// enterDirect counts a direct call, for which Drain waits. It returns false from Drain on.
func (g *Gateway) enterDirect() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.direct.Add(1)
	}
	return !g.closed
}

// directRequest returns a request of a caller that reaches the gateway through the program itself.
func directRequest(caller toolbox.Principal, c *interop.Client, method string) interop.Message {
	own := *c
	own.Era = interop.Legacy
	return interop.Message{ID: json.RawMessage(`"direct"`), Method: method, Era: own.Era, Client: &own, Caller: caller}
}
