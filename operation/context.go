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

// ID is the call's. That of a call that a handler made begins with its own call's, and a dot.
func (c *Context) ID() string { return c.request.id }

// Operation is what is called.
func (c *Context) Operation() Entry { return c.operation.entry() }

// Caller is whose rights let the call in: who called from outside or, inside, the
// Authority of the operation that called.
func (c *Context) Caller() Identity { return c.request.caller.copy() }

// Origin is who called from outside, however deep this call is. It grants nothing here: a
// handler that acts for that person asks it.
func (c *Context) Origin() Identity { return c.request.origin.copy() }

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
	q := request{
		id:     c.request.id + "." + strconv.FormatUint(c.children.Add(1), 10),
		name:   name,
		input:  input,
		origin: c.request.origin,
		given:  c.request.given,
		from:   c,
		depth:  c.request.depth + 1,
	}
	if a := c.operation.Authority; a != nil {
		q.caller = *a
	}
	if c.over.Load() {
		return Envelope{ID: q.id, Err: refusal(Canceled, "the call that this one is part of has ended", Details{Operation: name})}
	}
	return c.registry.call(ctx, q)
}
