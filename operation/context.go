package operation

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"strconv"
	"sync/atomic"
)

// Context is one call, as its handler sees it: who calls, what it may use, and the
// way to other operations. It ends with the call: what is called through it
// afterwards is [Canceled]. All methods are safe for concurrent use.
type Context struct {
	registry  *Registry
	operation *operation
	request   request
	env       map[string]bool
	given     Capabilities // goes on to what is called
	call      *callState
}

// callState is shared by the Context of a call and those made from it.
type callState struct {
	over     atomic.Bool
	children atomic.Uint64
}

// ID is the call's.
func (c *Context) ID() string { return c.request.id }

// Parent is the id of the call whose handler made this one; "" from outside.
func (c *Context) Parent() string { return c.request.parent }

// Operation is what is called.
func (c *Context) Operation() Entry { return c.operation.entry() }

// Caller is whose rights let the call in: who called from outside or, inside, the
// authority of the operation that called, with its label as the principal.
func (c *Context) Caller() Identity {
	return Identity{Principal: c.request.caller.Principal, Grants: c.request.caller.copy()}
}

// Origin is who called from outside, however deep this call is. It grants nothing here: a
// handler that acts for that person asks it.
func (c *Context) Origin() Identity {
	return Identity{Principal: c.request.origin.Principal, Grants: c.request.origin.copy()}
}

// IsInternal reports whether another operation calls.
func (c *Context) IsInternal() bool { return c.request.from != nil }

// Capability is the secret of a name: the call's own, else the registration's. The
// environment of the process is never asked.
func (c *Context) Capability(name string) (Secret, bool) {
	if s, ok := c.request.given[name]; ok {
		return s, true
	}
	s, ok := c.operation.Capabilities[name]
	return s, ok
}

// Narrow is a Context through which only these of the operations can be called, for
// code that is trusted less than the handler. It can only take away.
func (c *Context) Narrow(names ...string) *Context {
	env := make(map[string]bool, len(names))
	for _, name := range names {
		if c.env[name] {
			env[name] = true
		}
	}
	narrow := *c
	narrow.env = env
	return &narrow
}

// With is a Context that hands more capabilities on to what is called through it. What it
// hands on goes before what the call brought.
func (c *Context) With(more Capabilities) *Context {
	with := *c
	with.given = maps.Clone(c.given)
	if with.given == nil {
		with.given = Capabilities{}
	}
	maps.Copy(with.given, more)
	return &with
}

// Call runs another operation, External or Internal, of those in the registration's Env.
// Whether it may is asked of the registration's Authority, never of the caller's rights; to
// the other operation that Authority is the caller.
func (c *Context) Call(ctx context.Context, name string, input json.RawMessage) Envelope {
	q := c.inside(name, input)
	if err := c.ended(name); err != nil {
		return Envelope{ID: q.id, Err: err}
	}
	return c.registry.call(ctx, q)
}

// Subscribe is to [Registry.Subscribe] as [Context.Call] is to [Registry.Call].
func (c *Context) Subscribe(ctx context.Context, name string, input json.RawMessage) iter.Seq[Envelope] {
	return func(yield func(Envelope) bool) {
		q := c.inside(name, input)
		if err := c.ended(name); err != nil {
			yield(Envelope{ID: q.id, Err: err})
			return
		}
		c.registry.stream(ctx, q, yield)
	}
}

func (c *Context) ended(name string) *Error {
	if !c.call.over.Load() {
		return nil
	}
	return refusal(Canceled, "the call that this one is part of has ended", Details{Operation: name})
}

func (c *Context) inside(name string, input json.RawMessage) request {
	q := request{
		id:     c.request.id + "." + strconv.FormatUint(c.call.children.Add(1), 10),
		parent: c.request.id,
		name:   name, input: input,
		origin: c.request.origin,
		given:  c.given,
		from:   c,
		depth:  c.request.depth + 1,
	}
	if a := c.operation.Authority; a != nil {
		q.caller = Identity{Principal: Principal(a.Label), Grants: a.Grants}
	}
	return q
}
