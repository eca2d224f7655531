package interop

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/advice"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/lane"
	"github.com/indusagi/indus/toolbox"
)

// Snapshot returns the tools of all servers that are up or are being connected again, in order. It is the same for
// every principal.
func (f *Fleet) Snapshot(toolbox.Principal) *toolbox.Snapshot { return f.currentView().snapshot }

// Watch calls changed after each change of [Fleet.Snapshot].
func (f *Fleet) Watch(changed func()) (stop func()) { return f.watchers.Watch(changed) }

// Do calls a tool by its qualified name. If the server of a listed tool is being connected, the call waits for it, at
// most Timeouts.Connect. A call that may have reached its server is never repeated.
//
// If no server lists the name, and it may be a tool of a server that is not up, Do returns NotConnected. That fault has
// the time of the next attempt, and the server's fault as its cause. Otherwise Do returns a [*toolbox.UnknownTool].
func (f *Fleet) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	r, err := f.do(ctx, c)
	return r, f.withCallerSignIn(err, c.Caller)
}

func (f *Fleet) do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	target, ok := f.currentView().owners[c.Name]
	if !ok {
		var err error
		if target, err = f.findUnlistedOwner(ctx, c.Name); err != nil {
			return nil, err
		}
	}
	if target.member.holdsTools() {
		return toolbox.ErrorResult(c.Name + " is held: its server holds or denies changed tools, " +
			"and nothing here knows what was approved"), nil
	}
	leave, err := target.member.admitCaller(ctx, c.Caller)
	if err != nil {
		return nil, err
	}
	defer leave()
	for retry := true; ; {
		e, err := target.member.awaitEndpoint(ctx, target.tool)
		if err != nil {
			if next := f.currentOwner(c.Name); next.member != nil && next.member != target.member {
				target = next // it has replaced the server meanwhile
				continue
			}
			return nil, err
		}
		r, used, err := target.call(ctx, e, c)
		if _, denied := errors.AsType[*advice.DeniedError](err); denied { // the configuration changed after the lookup
			return nil, &toolbox.UnknownTool{Name: c.Name}
		}
		if !retry || used == nil || !used.wasUnsent(err) || !used.awaitEnd(ctx) {
			return r, err
		}
		retry = false
	}
}

// call is one attempt, after [member.awaitEndpoint] has begun it. If the call is admitted, it also returns the
// connection that was used, or nil if there was none.
func (o owner) call(ctx context.Context, e *Endpoint, c toolbox.Call) (r *toolbox.Result, used *Endpoint, err error) {
	defer e.endCall()
	used, leave, err := o.member.laneFor(ctx, e, Message{
		Method: protocol.MethodToolsCall, Caller: c.Caller, Params: c.Wire.JSON,
		subject: lane.SubjectOf(protocol.MethodToolsCall, o.tool),
	})
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	if admit := o.member.fleet.opts.Admit; admit != nil && o.member.admits() {
		if refusal, err := admit(ctx, used.Server(), c); refusal != nil || err != nil {
			return refusal, nil, err
		}
	}
	r, err = used.callTool(ctx, o.tool, c)
	return r, used, err
}

// currentOwner returns the owner of a name after any running change, or the zero owner if there is none.
func (f *Fleet) currentOwner(name string) owner {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.viewLocked().owners[name]
}

// Await waits as a call of an unlisted tool does, until the owner of the tool is known and the tool is listed. It
// returns the same error as that call.
func (f *Fleet) Await(ctx context.Context, tool string) error {
	_, err := f.findUnlistedOwner(ctx, tool)
	return err
}

// findUnlistedOwner looks for the owner of an unlisted name among the servers that are not up.
func (f *Fleet) findUnlistedOwner(ctx context.Context, name string) (owner, error) {
	for {
		var why error
		members := f.currentMembers()
		for _, m := range members {
			if !m.mayOwn(name) {
				continue
			}
			if m.holdsTools() {
				return owner{m, ""}, nil
			}
			err := m.awaitListed(ctx)
			if ctx.Err() != nil {
				return owner{}, ctx.Err()
			}
			if found, ok := f.currentView().owners[name]; ok {
				return found, nil
			}
			if err != nil && why == nil {
				why = err
			}
		}
		switch {
		case why == nil:
			return owner{}, &toolbox.UnknownTool{Name: name}
		case slices.Equal(members, f.currentMembers()): // otherwise another server may own it now
			return owner{}, why
		}
	}
}

// wasUnsent reports whether err means that e was lost before a call could be sent. It looks only at the outermost
// fault, because a cause may belong to another endpoint.
func (e *Endpoint) wasUnsent(err error) bool {
	f, ok := err.(*Fault) //nolint:errorlint // see above
	if !ok || f.Kind != NotConnected || f.Server != e.server.ID {
		return false
	}
	return errors.As(f.Cause, new(*conn.UnsentError)) || !e.Phase().Usable()
}

// awaitEnd waits until an endpoint that has lost its connection is done. It waits at most for lostWait, and then
// returns false. It returns true if the endpoint is done or ctx is over.
func (e *Endpoint) awaitEnd(ctx context.Context) bool {
	select {
	case <-e.Done():
	case <-ctx.Done():
	case <-time.After(lostWait):
		return false
	}
	return true
}

// Request sends one request of any method to a server and waits for its result. As
// [Fleet.Do] does for a tool, it waits for a server that is being connected, and counts for
// the caller's bound at that server. If the server provably did not handle the request,
// Request sends it once more. It returns the same errors as [Endpoint.Do].
//
// [ClientOf] ctx is the client behind the request. It sets the facts that the server may
// know, and the way to reach that client.
func (f *Fleet) Request(ctx context.Context, server string, m Message) (json.RawMessage, error) {
	r, err := f.request(ctx, server, m)
	return r, f.withCallerSignIn(err, m.Caller)
}

func (f *Fleet) request(ctx context.Context, server string, m Message) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	target, err := f.find(server)
	if err != nil {
		return nil, err
	}
	leave, err := target.admitCaller(ctx, m.Caller)
	if err != nil {
		return nil, err
	}
	defer leave()
	for retry := true; ; retry = false {
		e, err := target.awaitEndpoint(ctx, "")
		if err != nil {
			return nil, err
		}
		r, used, err := target.request(ctx, e, m)
		if !retry || used == nil || !used.wasUnsent(err) || !used.awaitEnd(ctx) {
			return r, err
		}
	}
}

// request is one attempt, after [member.awaitEndpoint] has begun it. It also returns the
// connection that was used, or nil if there was none.
func (m *member) request(
	ctx context.Context, e *Endpoint, r Message,
) (result json.RawMessage, used *Endpoint, err error) {
	defer e.endCall()
	r.subject = lane.SubjectOf(r.Method, paramName(r))
	used, leave, err := m.laneFor(ctx, e, r)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	result, err = used.Do(ctx, r)
	return result, used, err
}

// isForAllClients reports whether a request is the same for all clients, and is sent once for all
// of them.
func isForAllClients(method string) bool {
	return strings.HasPrefix(method, "resources/") && strings.HasSuffix(method, "subscribe") ||
		method == protocol.MethodSetLevel || method == protocol.MethodPing
}

// Tell forwards a notification of a legacy client, such as notifications/roots/list_changed. It goes to the servers
// that can ask the client in its session ([Client].Session) of m.Caller, if includes reports that the client may reach
// them. Modern servers, and servers without a request of the session so far, are not notified.
func (f *Fleet) Tell(ctx context.Context, session string, m Message, includes func(server string) bool) {
	var notifications sync.WaitGroup
	defer notifications.Wait()
	for _, target := range f.currentMembers() {
		if !includes(target.server.ID) {
			continue
		}
		for _, c := range target.lanes.InSession(m.Caller, session) {
			notifications.Go(func() {
				if c, _, err := c.(laneConn).readyConn(); err == nil {
					_ = c.Notify(ctx, m.Method, m.Params)
				}
			})
		}
	}
}
