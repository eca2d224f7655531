package operation

import (
	"context"
	"encoding/json"
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
	over      atomic.Bool
	children  atomic.Uint64
}

// ID is the call's.
func (c *Context) ID() string { return c.request.id }

// Parent is the id of the call whose handler made this one; "" from outside.
func (c *Context) Parent() string { return c.request.parent }

// Operation is what is called.
func (c *Context) Operation() Entry { return c.operation.entry() }

// Caller is whose rights let the call in: who called from outside or, inside, the
// Authority of the operation that called.
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

func (c *Context) ended(name string) *Error {
	if !c.over.Load() {
		return nil
	}
	return refusal(Canceled, "the call that this one is part of has ended", Details{Operation: name})
}

func (c *Context) inside(name string, input json.RawMessage) request {
	q := request{
		id:     c.request.id + "." + strconv.FormatUint(c.children.Add(1), 10),
		parent: c.request.id,
		name:   name, input: input,
		origin: c.request.origin,
		given:  c.request.given,
		from:   c,
		depth:  c.request.depth + 1,
	}
	if a := c.operation.Authority; a != nil {
		q.caller = *a
	}
	return q
}
