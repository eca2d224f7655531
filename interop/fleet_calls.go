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
	"github.com/indusagi/indus/interop/internal/payload"
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
	params, err := payload.CallParams(c)
	if err != nil {
		target, lost := f.targetOf(ctx, "", c.Name)
		if lost != nil {
			return nil, lost
		}
		return nil, target.member.state.Load().endpoint.paramsFault(target.tool, err)
	}
	m := Message{Method: protocol.MethodToolsCall, Tool: c.Name, Params: params, Caller: c.Caller, Progress: c.Progress}
	result, err := f.Request(ctx, "", m)
	if err != nil {
		return nil, err
	}
	return f.Result(m, result), nil
}

// Result returns the result of a call of a listed tool (m.Tool) for a program or a model. Its content is decoded when
// it is first read. If it cannot be read, that is [toolbox.Result.Err].
func (f *Fleet) Result(m Message, result json.RawMessage) *toolbox.Result {
	target := f.currentView().owners[m.Tool]
	if target.member == nil { // it is gone since
		return newResult(nil, m.Tool, m, result)
	}
	return newResult(target.member.state.Load().endpoint, target.tool, m, result)
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

// Request sends one request of any method to a server and waits for its result. It waits for a server that is being
// connected, and counts for the caller's bound at that server. If the server provably did not handle the request,
// Request sends it once more. It returns the same errors as [Endpoint.Do].
//
// With m.Tool, it is the call of a listed tool, as [Fleet.Do] describes. The fleet finds the server, which gets its own
// name of the tool. The result is checked: see [Fleet.Result].
//
// [ClientOf] ctx is the client behind the request. It sets the facts that the server may
// know, and the way to reach that client.
func (f *Fleet) Request(ctx context.Context, server string, m Message) (result json.RawMessage, err error) {
	defer func() { err = f.withCallerSignIn(err, m.Caller) }()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	target, err := f.targetOf(ctx, server, m.Tool)
	if err != nil {
		return nil, err
	}
	if m.Tool != "" && target.member.holdsTools() {
		return protocol.FailedResult(m.Tool + " is held: its server holds or denies changed tools, " +
			"and nothing here knows what was approved"), nil
	}
	leave, err := target.member.admitCaller(ctx, m.Caller)
	if err != nil {
		return nil, err
	}
	defer leave()
	for retry := true; ; {
		e, err := target.member.awaitEndpoint(ctx, target.tool)
		if err != nil {
			if m.Tool != "" {
				if next := f.currentOwner(m.Tool); next.member != nil && next.member != target.member {
					target = next // it has replaced the server meanwhile
					continue
				}
			}
			return nil, err
		}
		r, used, err := target.attempt(ctx, e, m)
		if _, denied := errors.AsType[*advice.DeniedError](err); denied && m.Tool != "" {
			return nil, &toolbox.UnknownTool{Name: m.Tool} // the configuration changed after the lookup
		}
		if !retry || used == nil || !used.wasUnsent(err) || !used.awaitEnd(ctx) {
			return r, err
		}
		retry = false
	}
}

// targetOf returns the server of a request, or the owner of a listed tool if tool is not "".
func (f *Fleet) targetOf(ctx context.Context, server, tool string) (owner, error) {
	if tool == "" {
		m, err := f.find(server)
		return owner{member: m}, err
	}
	if target, ok := f.currentView().owners[tool]; ok {
		return target, nil
	}
	return f.findUnlistedOwner(ctx, tool)
}

// attempt sends a request once, after [member.awaitEndpoint] has begun it. It also returns the connection that was
// used, or nil if the request was not admitted.
func (o owner) attempt(
	ctx context.Context, e *Endpoint, m Message,
) (result json.RawMessage, used *Endpoint, err error) {
	defer e.endCall()
	name := o.tool
	if name == "" {
		name = paramName(m)
	}
	m.subject = lane.SubjectOf(m.Method, name)
	used, leave, err := o.member.laneFor(ctx, e, m)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	if m.Tool == "" {
		result, err = used.Do(ctx, m)
		return result, used, err
	}
	if admit := o.member.fleet.opts.Admit; admit != nil && o.member.admits() {
		if reason, err := admit(ctx, used.Server(), m.Tool); reason != "" {
			return protocol.FailedResult(reason), nil, nil
		} else if err != nil {
			return nil, nil, err
		}
	}
	result, err = used.call(ctx, o.tool, m)
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
