package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// signInWait is how long a request waits for a person whose client has opened the address.
const signInWait = 2 * time.Minute

// signingIn has a request that fails for want of a sign-in ask its client to open the address of one (2025-11-25,
// client/elicitation, "URL Elicitation Required Error"; a modern client is asked in a result, see [interop.Client].Opened).
func (g *Gateway) signingIn(client *interop.Client, next handling) handling {
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
			if result, err = next(ctx, m, back); err == nil {
				return result, nil
			}
			if fault, ok = errors.AsType[*interop.Fault](err); !ok || !fault.NeedsSignIn() {
				return nil, err
			}
		}
		address, failed := g.opts.SignIn(ctx, fault.Server, m.Caller, false)
		if failed != nil {
			return nil, err
		}
		return nil, signInFirst(fault, g.tellSignedIn(fault.Server, m, client), address)
	}
}

// awaitSignIn waits until a sign-in is over, after which the next request connects at once. Other servers are left alone: a client
// that says again and again that it has opened the address would have all of them asked.
func (g *Gateway) awaitSignIn(ctx context.Context, server string, caller toolbox.Principal) error {
	_, err := g.opts.SignIn(ctx, server, caller, true)
	if err == nil {
		g.attached.Fleet.Retry(func(f *interop.Fault) bool { return f.Server == server && f.NeedsSignIn() })(ctx)
	}
	return err
}

// do calls a tool. That it wants a sign-in is no tool's failure where the client can be asked for one: a host
// would make a result of it.
func (g *Gateway) do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
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
			return r, err // it is not the client's to give
		}
	}
	f := *fault
	f.Kind = interop.Protocol
	return nil, &f
}

// signInKey is one of a legacy session that waits for a sign-in.
type signInKey struct {
	server  string
	caller  toolbox.Principal
	session string
}

// tellSignedIn names an elicitation, and tells a legacy session when it is over ("Completion Notifications for URL
// Mode Elicitation"): its client waits for that, and then makes its request again.
func (g *Gateway) tellSignedIn(server string, m interop.Message, client *interop.Client) (id string) {
	always := client.Always
	if m.Era == interop.Modern || always == nil {
		return rand.Text()
	}
	key := signInKey{server, m.Caller, client.Session}
	g.mu.Lock()
	defer g.mu.Unlock()
	if id = g.signIns[key]; id != "" {
		return id
	}
	if id = rand.Text(); g.closed || g.manySignIns(m.Caller) {
		return id // of whose end nobody is told
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
			_, _ = always(g.ctx, interop.Message{Method: noteElicited, Params: params})
		}
	})
	return id
}

// maxTold bounds the elicitations of whose end sessions are told, and maxToldOf those of one principal.
const (
	maxTold   = 10_000
	maxToldOf = 200
)

// manySignIns reports a bound that is reached. Call it with mu held.
func (g *Gateway) manySignIns(caller toolbox.Principal) bool {
	own := 0
	for key := range g.signIns {
		if key.caller == caller {
			own++
		}
	}
	return len(g.signIns) >= maxTold || own >= maxToldOf
}

// signInFirst is a fault that asks to open an address.
func signInFirst(fault *interop.Fault, id, address string) error {
	type elicitation struct {
		Mode    string `json:"mode"`
		ID      string `json:"elicitationId"`
		URL     string `json:"url"`
		Message string `json:"message"`
	}
	data, err := json.Marshal(map[string][]elicitation{"elicitations": {{"url", id, address, "Sign in to " + fault.Server + "."}}})
	if err != nil {
		return err
	}
	f := *fault
	f.Cause = &interop.RPCError{Code: protocol.CodeURLRequired, Message: "sign in to " + fault.Server + " first", Data: data}
	return &f
}
