package interop

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// Pool says over how many connections the requests of a server's clients go in a [Fleet], and how many are in
// flight at a time. The zero value is one connection for all that cannot be asked (see [Client]), and as many as come.
//
// A change of Per is another connection, as one of the transport is; all else of it holds from the next request on.
type Pool struct {
	// Per is who shares a connection: "" is all, [PerPrincipal] each principal alone.
	Per string
	// Instances is up to how many processes of a [Stdio] server there are for tools/call, prompts/get, resources/read
	// and completion/complete, which go to the one that has the fewest in flight; another is started when each has one, and
	// ends when it has been idle for FleetOptions.LaneIdle. All else goes to the first: lists, subscriptions, tasks, and
	// calls that may become one. So the server must hold nothing between two requests, not even
	// what its requestState stands for. A client that can be asked in a legacy session has its own process as always.
	// 0: 1. With PerPrincipal, and of servers at a URL, it means nothing.
	Instances int
	// MaxPrincipals bounds, with PerPrincipal, the principals that have a connection at a time: one more takes the place of
	// the one that nobody has used for the longest time, or waits, where all are in use. 0: 64.
	MaxPrincipals int
	// MaxConcurrent bounds those same four requests, over all of the server's connections; a successor (see [Fleet.Apply])
	// counts anew. A request counts until it is answered, also while a person is asked for it: the server is not done
	// with it. Those beyond wait for Timeouts.Queue, principals by turns. 0: no bound.
	MaxConcurrent int
	// MaxQueue bounds those that wait; beyond it the newest of the principal that has the most of them fails at once.
	// 0: 100; negative: none waits.
	MaxQueue int
}

// PerPrincipal is the Pool.Per by which each principal has a connection of its own: a process, or a session with its own
// credentials (EndpointOptions.Principal). All its requests and subscriptions go there, and lists but for that of the tools,
// which the fleet's own connection lists for all. It is opened by the first of them. It ends when no live session uses it and it
// has been idle for FleetOptions.LaneIdle, and what the server held for it in memory with it. A server before 2026-07-28 is shown there
// what the client can do whose request opened it; a client of the principal's that can be asked something else has one for that.
const PerPrincipal = "principal"

// AnyPrincipal is EndpointOptions.Principal of the connection by which a [Fleet] lists the tools of a server with [PerPrincipal] for
// all: the credentials of any principal will do. No request of a principal goes out on it.
const AnyPrincipal toolbox.Principal = "*"

const (
	defaultMaxPrincipals = 64
	// withoutInstances is for how long at most no further process of a server is started after one that did not start:
	// some cannot run twice.
	withoutInstances = time.Minute
	// failureMemory is for how long a principal's connection that failed is not tried again.
	failureMemory = time.Second
)

// instances is how many processes there may be.
func (m *member) instances() int {
	p := m.state.Load().config.pool
	if _, stdio := m.server.Transport.(Stdio); !stdio || p.Per == PerPrincipal {
		return 1
	}
	return max(p.Instances, 1)
}

// isPerPrincipal reports whether each principal has a connection of its own.
func (m *member) isPerPrincipal() bool { return m.server.Pool.Per == PerPrincipal }

// queueWait is how long a request waits for its turn.
func (m *member) queueWait() time.Duration {
	return protocol.Duration(m.server.Timeouts.Queue, m.fleet.opts.CallWait)
}

// enter counts one of a caller's requests, which waits while there are too many; leave must follow where err is nil.
func (m *member) enter(ctx context.Context, caller toolbox.Principal) (leave func(), err error) {
	leave, err = m.callers.enter(ctx, caller, bounds{each: m.fleet.opts.MaxCalls}, m.queueWait())
	return leave, m.busyFault(ctx, err)
}

// turn waits until a request may go out that counts for Pool.MaxConcurrent; leave must follow where err is nil and it is not.
func (m *member) turn(ctx context.Context, caller toolbox.Principal, method string) (leave func(), err error) {
	p := &m.state.Load().config.pool
	if p.MaxConcurrent < 1 || !isWork(method) {
		return nil, nil
	}
	b, wait := bounds{all: p.MaxConcurrent, queue: cmp.Or(p.MaxQueue, defaultMaxQueue)}, m.queueWait()
	if b.queue < 0 {
		wait = 0
	}
	leave, err = m.working.enter(ctx, caller, b, wait)
	return leave, m.busyFault(ctx, err)
}

func (m *member) busyFault(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return NewFault(Timeout, m.server.ID, "busy", err)
}

// isWork reports the requests that a server works for, and any of its processes can.
func isWork(method string) bool {
	switch method {
	case protocol.MethodToolsCall, "prompts/get", "resources/read", "completion/complete":
		return true
	}
	return false
}

// laneFor is the endpoint that a request goes out on when it is its turn, and what is to be called when it has its
// answer: base itself, unless the request is of a client that can be asked, or there are several.
func (m *member) laneFor(ctx context.Context, base *Endpoint, r Message) (e *Endpoint, leave func(), err error) {
	done, err := m.turn(ctx, r.Caller, r.Method)
	if err != nil {
		return nil, nil, err
	}
	e, left, err := m.choose(ctx, base, r)
	switch {
	case done == nil:
		return e, left, err
	case err != nil:
		done()
		return nil, nil, err
	}
	return e, func() { left(); done() }, nil
}

func (m *member) choose(ctx context.Context, base *Endpoint, r Message) (e *Endpoint, leave func(), err error) {
	own := m.isPerPrincipal()
	switch {
	case own && isShared(r.Method):
		return m.ownLane(ctx, base, r)
	case own:
		if e, leave, err = m.principalLane(ctx, base, r); e != nil || err != nil {
			return e, leave, err
		}
	}
	if !isShared(r.Method) {
		if e, leave, err = m.askedLane(ctx, base, r); e != nil || err != nil {
			return e, leave, err
		}
	}
	switch {
	case own: // and the client cannot be asked elsewhere
		return m.ownLane(ctx, base, r)
	case isWork(r.Method) && m.instances() > 1 && !mayBecomeTask(ctx, base, r):
		return m.instance(ctx, base)
	}
	return base, func() {}, nil
}

// mayBecomeTask reports a call whose answer may be a task, which only the process that has it can be asked for.
func mayBecomeTask(ctx context.Context, base *Endpoint, r Message) bool {
	if r.Method != protocol.MethodToolsCall {
		return false
	}
	if _, asked := wire.Lookup(r.Params, "task"); asked {
		return true
	}
	return base.Era() == Modern && ClientOf(ctx).takesTasks()
}

// principalLane is the connection of a principal. It declares what the client does whose request opens it; nil: this one
// can be asked something else, and has a connection for that.
func (m *member) principalLane(ctx context.Context, base *Endpoint, r Message) (*Endpoint, func(), error) {
	caller, done := r.Caller, func() {}
	capabilities, dual := m.declares(ctx, base)
	l, e, err := m.enterLane(ctx, laneKey{kind: principalLane, caller: caller, capabilities: capabilities}, besideOthers)
	switch {
	case l == nil:
		return nil, nil, err
	case dual && l.key.capabilities == capabilities && ctx.Err() == nil && isModernAlone(base, e, err):
		m.lanes.giveUp(l, askedLane, math.MaxInt64)
		return m.principalLane(ctx, base, r)
	case err == nil && capabilities != "" && l.key.capabilities != capabilities:
		m.lanes.leave(l)
		return nil, nil, nil
	case err == nil && capabilities != "":
		if err = m.setLevel(ctx, l, e, ClientOf(ctx).LogLevel); err == nil {
			done, err = m.askInTurn(ctx, l, r)
		}
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil && m.lanes.failed(l):
		m.fleet.opts.Logger.Warn("a principal's connection failed", "server", m.server.ID, "caller", caller, "err", err)
	}
	if err != nil {
		m.lanes.leave(l)
		return nil, nil, err
	}
	return e, func() { done(); m.lanes.leave(l) }, nil
}

// askInTurn waits until a request that may ask can go out on a principal's connection: such requests go out one at a time, or all those
// of one session. done must follow where err is nil.
func (m *member) askInTurn(ctx context.Context, l *lane, r Message) (done func(), err error) {
	how, ended := m.habits.enter(ctx, r.subject)
	if how != byItself {
		return func() { ended(true) }, nil
	}
	session, all := ClientOf(ctx).Session, &m.lanes
	err = all.await(ctx, func() (freed <-chan struct{}, err error) {
		all.mu.Lock()
		defer all.mu.Unlock()
		if l.asking > 0 && (session == "" || session != l.asker) {
			why := "another client of this principal has a request there that may ask it, which did not end within %v"
			return all.untilFreed(), NewFault(Timeout, m.server.ID, "busy", newBusyError(why, m.queueWait()))
		}
		l.asker = session
		l.asking++
		return nil, nil
	})
	return func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		l.asking--
		all.woken()
	}, err
}

// forget drops the connections that failed a moment ago, with a fault that is mended.
func (l *lanes) forget(mended func(*Fault) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range slices.Clone(l.all) {
		if o.failed.IsZero() || o.endpoint == nil {
			continue
		}
		if fault := o.endpoint.Status().Fault; fault != nil && mended(fault) {
			l.drop(o)
		}
	}
}

// ownLane is principalLane for what needs no answers of the client's, whatever the connection declares.
func (m *member) ownLane(ctx context.Context, base *Endpoint, r Message) (e *Endpoint, leave func(), err error) {
	if e, leave, err = m.principalLane(ctx, base, r); e != nil || err != nil {
		return e, leave, err
	}
	return m.principalLane(WithClient(ctx, &Client{}), base, r)
}

// instance is the process with the fewest requests in flight.
func (m *member) instance(ctx context.Context, base *Endpoint) (*Endpoint, func(), error) {
	for again := true; ; again = false {
		l := m.lanes.leastBusy(m.instances())
		if l == &m.lanes.base {
			return base, func() { m.lanes.leave(l) }, nil
		}
		e, err := m.openLane(ctx, l)
		switch {
		case err == nil:
			return e, func() { m.lanes.leave(l) }, nil
		case ctx.Err() != nil:
			m.lanes.leave(l)
			return nil, nil, ctx.Err()
		case again && e != nil && e.Era() != "": // it was lost since
			m.lanes.leave(l)
			continue
		}
		m.fleet.opts.Logger.Warn("a further process of the server did not start, and the others serve", "server", m.server.ID, "err", err)
		m.lanes.giveUp(l, instanceLane, m.lanes.pause(instanceLane, err, withoutInstances))
	}
}

// leastBusy takes the connection with the fewest requests in flight; leave must follow. Of several it is the one that was
// there first, or used last, so that the others may end.
func (l *lanes) leastBusy(most int) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	best, n := &l.base, 1
	for _, o := range slices.Backward(slices.Clone(l.all)) {
		switch {
		case o.key.kind != instanceLane:
		case o.isOver():
			l.drop(o)
		case !o.gone && n < most: // those beyond, of an earlier configuration, end
			if n++; o.users < best.users {
				best = o
			}
		}
	}
	if best.users > 0 && n < most && !l.closed && l.isDue(instanceLane) {
		best = &lane{key: laneKey{kind: instanceLane}}
		l.all = append(l.all, best)
	}
	if best == &l.base {
		best.users++
	} else {
		l.use(best)
	}
	return best
}

// failed keeps a principal's connection that could not be opened, so that it is not tried again at once, and reports
// whether that is news.
func (l *lanes) failed(o *lane) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !o.failed.IsZero() {
		return false
	}
	o.failed = time.Now()
	return true
}

// ofPrincipal is a principal's own connection; nil: it is not open.
func (l *lanes) ofPrincipal(p toolbox.Principal) *Endpoint {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.all {
		if o.key.kind == principalLane && o.key.caller == p && !o.gone && o.endpoint != nil && o.endpoint.Phase().Usable() {
			return o.endpoint
		}
	}
	return nil
}

// callersSignIn is a sign-in that is missing for the connection that lists for all, as a caller is to see it: that of any principal
// will do, so the caller's own is asked for, which its requests need next.
type callersSignIn struct {
	error
	resource string
	caller   toolbox.Principal
}

func (e *callersSignIn) Unwrap() error { return e.error }

// SignIn says whose sign-in is missing: see [Fault.NeedsSignIn].
func (e *callersSignIn) SignIn() (resource, who string) { return e.resource, string(e.caller) }

// asCaller is an error of a caller's request: where a sign-in is missing, and each principal has its own, it is the caller's.
func (f *Fleet) asCaller(err error, caller toolbox.Principal) error {
	fault, ok := errors.AsType[*Fault](err)
	if !ok || caller == "" || !fault.NeedsSignIn() {
		return err
	}
	if m := findMember(f.all(), fault.Server); m == nil || !m.isPerPrincipal() {
		return err
	}
	resource, who, _ := fault.signIn()
	if who != "" {
		return err
	}
	own := *fault
	if why, ok := errors.AsType[*Fault](fault.Cause); ok { // of which is the advice
		inner := *why
		inner.Cause = &callersSignIn{why.Cause, resource, caller}
		own.Cause = &inner
	} else {
		own.Cause = &callersSignIn{fault.Cause, resource, caller}
	}
	return &own
}
