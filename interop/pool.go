package interop

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/internal/advice"
	"github.com/indusagi/indus/interop/internal/lane"
	"github.com/indusagi/indus/toolbox"
)

const (
	defaultMaxPrincipals = 64
	defaultMaxQueue      = 100
	// maxInstancePause is the longest pause after a process of a server did not start. No further process is started
	// meanwhile, because some servers cannot run twice.
	maxInstancePause = time.Minute
)

// instances returns the maximal number of processes.
func (m *member) instances() int {
	p := m.state.Load().config.Pool
	if _, stdio := m.server.Transport.(config.Stdio); !stdio || m.isPerPrincipal() {
		return 1
	}
	return max(p.Instances, 1)
}

// isPerPrincipal reports whether each principal has its own connection.
func (m *member) isPerPrincipal() bool { return m.server.Pool.Per == config.PerPrincipal }

// queueWait returns how long a request waits for its turn.
func (m *member) queueWait() time.Duration {
	return protocol.Duration(m.server.Timeouts.Queue, m.fleet.opts.CallWait)
}

// admitCaller counts a request of a caller, and waits if there are too many. If err is nil, leave must follow.
func (m *member) admitCaller(ctx context.Context, caller toolbox.Principal) (leave func(), err error) {
	leave, err = m.callerTurns.Enter(ctx, caller, lane.Bounds{PerCaller: m.fleet.opts.MaxCalls}, m.queueWait())
	return leave, m.turnFault(err)
}

// awaitTurn waits until a request that counts for Pool.MaxConcurrent may be sent. If err is nil and leave is not, leave
// must follow.
func (m *member) awaitTurn(ctx context.Context, caller toolbox.Principal, method string) (leave func(), err error) {
	p := &m.state.Load().config.Pool
	if p.MaxConcurrent < 1 || !isPoolable(method) {
		return nil, nil
	}
	b := lane.Bounds{Total: p.MaxConcurrent, Queue: cmp.Or(p.MaxQueue, defaultMaxQueue)}
	wait := m.queueWait()
	if b.Queue < 0 {
		wait = 0
	}
	leave, err = m.workTurns.Enter(ctx, caller, b, wait)
	return leave, m.turnFault(err)
}

// turnFault returns the fault of a request that got no turn, or no lane. An error of its context stays.
func (m *member) turnFault(err error) error {
	switch {
	case err == nil: // without an allocation
		return nil
	case errors.As(err, new(*lane.BusyError)):
		return NewFault(Timeout, m.server.ID, "busy", err)
	case errors.Is(err, lane.ErrClosed):
		return NewFault(NotConnected, m.server.ID, err.Error(), nil)
	}
	return err
}

// isPoolable reports whether a request makes the server work and can run on any of its processes.
func isPoolable(method string) bool {
	switch method {
	case protocol.MethodToolsCall, "prompts/get", "resources/read", "completion/complete":
		return true
	}
	return false
}

// laneFor waits for the turn of a request. It returns the endpoint to send it on, and the function to call after its
// reply. The endpoint is base, unless the client can be asked, or there are several connections.
func (m *member) laneFor(ctx context.Context, base *Endpoint, r Message) (e *Endpoint, leave func(), err error) {
	endTurn, err := m.awaitTurn(ctx, r.Caller, r.Method)
	if err != nil {
		return nil, nil, err
	}
	e, release, err := m.chooseLane(ctx, base, r)
	switch {
	case endTurn == nil:
		return e, release, err
	case err != nil:
		endTurn()
		return nil, nil, err
	}
	return e, func() { release(); endTurn() }, nil
}

func (m *member) chooseLane(ctx context.Context, base *Endpoint, r Message) (e *Endpoint, leave func(), err error) {
	perPrincipal := m.isPerPrincipal()
	switch {
	case perPrincipal && isForAllClients(r.Method):
		return m.laneWithoutQuestions(ctx, base, r)
	case perPrincipal:
		e, leave, err = m.laneForPrincipal(ctx, base, r)
		if e != nil || err != nil {
			return e, leave, err
		}
	}
	if !isForAllClients(r.Method) {
		e, leave, err = m.laneForQuestions(ctx, base, r)
		if e != nil || err != nil {
			return e, leave, err
		}
	}
	switch {
	case perPrincipal: // the client cannot be asked elsewhere
		return m.laneWithoutQuestions(ctx, base, r)
	case isPoolable(r.Method) && m.instances() > 1 && !mayBecomeTask(ctx, base, r):
		return m.laneForInstance(ctx, base)
	}
	return base, func() {}, nil
}

// mayBecomeTask reports whether a call may return a task, because only the process that runs a task knows it.
func mayBecomeTask(ctx context.Context, base *Endpoint, r Message) bool {
	if r.Method != protocol.MethodToolsCall {
		return false
	}
	if _, isTask := wire.Lookup(r.Params, "task"); isTask {
		return true
	}
	return base.Era() == Modern && ClientOf(ctx).declaresTasks()
}

// laneForPrincipal returns the connection of a principal. It declares the capabilities of the client that opens it. It
// returns nil if this client has other capabilities and needs a connection for them.
func (m *member) laneForPrincipal(ctx context.Context, base *Endpoint, r Message) (*Endpoint, func(), error) {
	caller := r.Caller
	done := func() {}
	capabilities, dual := m.laneCapabilities(ctx, base)
	key := lane.Key{Kind: lane.ForPrincipal, Caller: caller, Capabilities: capabilities}
	l, e, err := m.enterLane(ctx, key, lane.SharedUse)
	switch {
	case l == nil:
		return nil, nil, err
	case dual && l.Key().Capabilities == capabilities && ctx.Err() == nil && asksOnlyModern(base, e, err):
		m.lanes.Abandon(l, lane.ForQuestions, math.MaxInt64)
		return m.laneForPrincipal(ctx, base, r)
	case err == nil && capabilities != "" && l.Key().Capabilities != capabilities:
		m.lanes.Release(l)
		return nil, nil, nil
	case err == nil && capabilities != "":
		if err = m.setLevel(ctx, l, e, ClientOf(ctx).LogLevel); err == nil {
			done, err = m.awaitQuestionTurn(ctx, l, r)
		}
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil && m.lanes.MarkFailed(l):
		m.fleet.opts.Logger.Warn("a principal's connection failed", "server", m.server.ID, "caller", caller, "err", err)
	}
	if err != nil {
		m.lanes.Release(l)
		return nil, nil, err
	}
	return e, func() { done(); m.lanes.Release(l) }, nil
}

// awaitQuestionTurn waits until a request that may ask can be sent on a principal's connection. Such requests are sent
// one at a time, but requests of one session may run together. If err is nil, done must follow.
func (m *member) awaitQuestionTurn(ctx context.Context, l *lane.Lane, r Message) (done func(), err error) {
	use, endUse := m.habits.Admit(ctx, r.subject)
	if use != lane.ExclusiveUse {
		return func() { endUse(true) }, nil
	}
	done, err = m.lanes.EnterQuestion(ctx, l, ClientOf(ctx).Session)
	return done, m.turnFault(err)
}

// laneWithoutQuestions is laneForPrincipal for requests that need no answers of the client. The connection may declare
// any capabilities.
func (m *member) laneWithoutQuestions(
	ctx context.Context, base *Endpoint, r Message,
) (e *Endpoint, leave func(), err error) {
	e, leave, err = m.laneForPrincipal(ctx, base, r)
	if e != nil || err != nil {
		return e, leave, err
	}
	return m.laneForPrincipal(WithClient(ctx, &Client{}), base, r)
}

// laneForInstance returns the process with the fewest requests in flight.
func (m *member) laneForInstance(ctx context.Context, base *Endpoint) (*Endpoint, func(), error) {
	for retry := true; ; retry = false {
		l := m.lanes.EnterLeastBusy(m.instances())
		if m.lanes.IsBase(l) {
			return base, func() { m.lanes.Release(l) }, nil
		}
		e, err := m.openLane(ctx, l)
		switch {
		case err == nil:
			return e, func() { m.lanes.Release(l) }, nil
		case ctx.Err() != nil:
			m.lanes.Release(l)
			return nil, nil, ctx.Err()
		case retry && e != nil && e.Era() != "": // it was lost meanwhile
			m.lanes.Release(l)
			continue
		}
		m.fleet.opts.Logger.Warn("a further process of the server did not start, and the others serve",
			"server", m.server.ID, "err", err)
		m.lanes.Abandon(l, lane.ForInstance, m.lanes.NextPause(lane.ForInstance, errors.Is(err, Timeout), maxInstancePause))
	}
}

// callerSignInError is a missing sign-in for the connection that lists for all, as its caller sees it. A sign-in of any
// principal would do. So it requests the caller's own sign-in, which the caller's next requests need too.
type callerSignInError struct {
	error
	resource string
	caller   toolbox.Principal
}

func (e *callerSignInError) Unwrap() error { return e.error }

// SignIn returns the server and the principal that must sign in: see [Fault.NeedsSignIn].
func (e *callerSignInError) SignIn() (resource, who string) { return e.resource, string(e.caller) }

// withCallerSignIn converts an error of a caller's request. If a sign-in is missing, and each principal has its own,
// the error requests the sign-in of the caller.
func (f *Fleet) withCallerSignIn(err error, caller toolbox.Principal) error {
	fault, ok := errors.AsType[*Fault](err)
	if !ok || caller == "" || !fault.NeedsSignIn() {
		return err
	}
	if m := findMember(f.currentMembers(), fault.Server); m == nil || !m.isPerPrincipal() {
		return err
	}
	resource, principal, _ := advice.SignIn(fault.Cause)
	if principal != "" {
		return err
	}
	out := *fault
	out.Cause = &callerSignInError{fault.Cause, resource, caller}
	return &out
}
