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

// withSignIn wraps next: if a request fails for lack of a sign-in, its client is asked to open an address (2025-11-25,
// client/elicitation, "URL Elicitation Required Error"). A modern client is asked in a result, see
// [interop.Client].Opened.
func (g *Gateway) withSignIn(client *interop.Client, next requestHandler) requestHandler {
	return func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
		result, err := next(ctx, m, back)
		fault, ok := errors.AsType[*interop.Fault](err)
		if !ok || !fault.NeedsSignIn() || !protocol.OpensURLs(client.Capabilities) {
			return result, err
		}
		if client.Opened {
			wait, cancel := context.WithTimeout(ctx, signInWait)
			defer cancel()
			if g.awaitSignIn(wait, fault.Server, m.Caller) != nil {
				return nil, err
			}
			result, err = next(ctx, m, back)
			if err == nil {
				return result, nil
			}
			fault, ok = errors.AsType[*interop.Fault](err)
			if !ok || !fault.NeedsSignIn() {
				return nil, err
			}
		}
		address, failed := g.opts.SignIn(ctx, fault.Server, m.Caller, false)
		if failed != nil {
			return nil, err
		}
		return nil, signInFirst(fault, g.signInElicitation(fault.Server, m, client), address)
	}
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

// callTool calls a tool. If the call fails because a sign-in is missing and the client can be asked for one, callTool
// returns a protocol fault. The host would turn another fault into the result of the tool.
func (g *Gateway) callTool(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	r, err := g.attached.Do(ctx, c)
	fault, ok := errors.AsType[*interop.Fault](err)
	if !ok || g.opts.SignIn == nil || !fault.NeedsSignIn() {
		return r, err
	}
	client := interop.ClientOf(ctx)
	if client == nil || !protocol.OpensURLs(client.Capabilities) {
		return r, err
	}
	if !client.Opened {
		if _, failed := g.opts.SignIn(ctx, fault.Server, c.Caller, false); failed != nil {
			return r, err // this client cannot sign in there
		}
	}
	f := *fault
	f.Kind = interop.Protocol
	return nil, &f
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
