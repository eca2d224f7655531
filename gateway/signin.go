package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// signInWait is how long a request waits for a person after the client has opened the address.
const signInWait = 2 * time.Minute

// isSignIn reports whether a request failed for lack of a sign-in that its client can be asked for.
func (v *view) isSignIn(m interop.Message, err error) bool {
	fault, ok := errors.AsType[*interop.Fault](err)
	return ok && fault.NeedsSignIn() && v.gateway.opts.SignIn != nil && m.Client != nil &&
		protocol.OpensURLs(m.Client.Capabilities) && (m.Era != interop.Modern || protocol.MayRequireInput(m.Method))
}

// afterSignIn asks the client of a request that failed with err to open an address (2025-11-25, client/elicitation,
// "URL Elicitation Required Error"). A modern client is asked in a result, see [interop.Client].Opened. If the client
// has opened the address, the request is handled again.
func (v *view) afterSignIn(
	ctx context.Context, m interop.Message, back interop.Peer, err error,
) (result json.RawMessage, _ error) {
	g := v.gateway
	fault, _ := errors.AsType[*interop.Fault](err)
	if m.Client.Opened {
		wait, cancel := context.WithTimeout(ctx, signInWait)
		defer cancel()
		if g.awaitSignIn(wait, fault.Server, m.Caller) != nil {
			return nil, err
		}
		result, err = v.dispatch(ctx, m, back)
		if err == nil || !v.isSignIn(m, err) {
			return result, err
		}
		fault, _ = errors.AsType[*interop.Fault](err)
	}
	address, failed := g.opts.SignIn(ctx, fault.Server, m.Caller, false)
	if failed != nil {
		return nil, err
	}
	return nil, signInFirst(fault, g.signInElicitation(fault.Server, m, m.Client), address)
}

// awaitSignIn waits until a sign-in is over. It then makes only this server connect again. Otherwise a client that
// reports again and again that it opened the address would cause requests to all servers.
func (g *Gateway) awaitSignIn(ctx context.Context, server string, caller toolbox.Principal) error {
	_, err := g.opts.SignIn(ctx, server, caller, true)
	if err == nil {
		g.attached.Fleet.Retry(func(f *interop.Fault) bool { return f.Server == server && f.NeedsSignIn() })(ctx)
	}
	return err
}

// signInFault returns err as a protocol fault, if a sign-in is missing that the client of a call can be asked for. The
// client would get another fault as the result of the tool.
func (g *Gateway) signInFault(ctx context.Context, m interop.Message, err error) error {
	client := interop.ClientOf(ctx)
	fault, ok := errors.AsType[*interop.Fault](err)
	if !ok || g.opts.SignIn == nil || !fault.NeedsSignIn() || client == nil || !protocol.OpensURLs(client.Capabilities) {
		return err
	}
	if !client.Opened {
		if _, failed := g.opts.SignIn(ctx, fault.Server, m.Caller, false); failed != nil {
			return err // this client cannot sign in there
		}
	}
	f := *fault
	f.Kind = interop.Protocol
	return &f
}

// signInKey identifies a legacy session that waits for a sign-in.
type signInKey struct {
	server  string
	caller  toolbox.Principal
	session string
}

// signInElicitation returns the id of an elicitation, and notifies a legacy session when the sign-in is over
// ("Completion Notifications for URL Mode Elicitation"). The client of the session waits for that, and then sends its
// request again.
func (g *Gateway) signInElicitation(server string, m interop.Message, client *interop.Client) (id string) {
	always := client.Always
	if m.Era == interop.Modern || always == nil {
		return rand.Text()
	}
	key := signInKey{server, m.Caller, client.Session}
	g.mu.Lock()
	defer g.mu.Unlock()
	id = g.signIns[key]
	if id != "" {
		return id
	}
	id = rand.Text()
	if g.closed || g.tooManySignIns(m.Caller) {
		return id // no notification follows
	}
	if g.signIns == nil {
		g.signIns = map[signInKey]string{}
	}
	g.signIns[key] = id
	g.running.Go(func() {
		err := g.awaitSignIn(g.ctx, server, m.Caller)
		g.mu.Lock()
		delete(g.signIns, key)
		g.mu.Unlock()
		if err == nil {
			params, _ := json.Marshal(map[string]string{"elicitationId": id})
			_, _ = always(g.ctx, interop.Message{Method: protocol.NoteElicited, Params: params})
		}
	})
	return id
}

// maxSignIns bounds the elicitations with a pending notification, and maxSignInsPerPrincipal the number for one
// principal.
const (
	maxSignIns             = 10_000
	maxSignInsPerPrincipal = 200
)

// tooManySignIns reports whether a bound is reached. The caller holds mu.
func (g *Gateway) tooManySignIns(caller toolbox.Principal) bool {
	own := 0
	for key := range g.signIns {
		if key.caller == caller {
			own++
		}
	}
	return len(g.signIns) >= maxSignIns || own >= maxSignInsPerPrincipal
}

// signInFirst returns a fault that asks the client to open an address.
func signInFirst(fault *interop.Fault, id, address string) error {
	elicitation := wire.Object{}.Text("mode", "url").Text("elicitationId", id).Text("url", address).
		Text("message", "Sign in to "+fault.Server+".").JSON()
	list := slices.Concat([]byte("["), elicitation, []byte("]"))
	f := *fault
	f.Cause = &interop.RPCError{
		Code: protocol.CodeURLRequired, Message: "sign in to " + fault.Server + " first",
		Data: wire.Object{}.Raw("elicitations", list).JSON(),
	}
	return &f
}
