package operation

import (
	"context"
	"encoding/json"
	"strconv"
	"sync/atomic"
)

// Context is one call as its handler sees it: the caller, the capabilities, and access to other operations. After the
// call has ended, calls through it are [Canceled]. All methods are safe for concurrent use.
type Context struct {
	registry  *Registry
	operation *operation
	request   request
	ended     atomic.Bool
	children  atomic.Uint64
}

// ID returns the id of the call. For a nested call it begins with the outer call's id and a dot.
func (c *Context) ID() string { return c.request.ID }

// Operation returns the called operation.
func (c *Context) Operation() Entry { return c.operation.entry() }

// Caller returns the identity whose rights allowed the call. For a call from outside it is the caller, and for a nested
// call the Authority of the calling operation.
func (c *Context) Caller() Identity { return c.request.Caller.copy() }

// Origin returns the caller from outside, for nested calls too. It grants nothing here. A handler that acts on behalf
// of that caller must check it.
func (c *Context) Origin() Identity { return c.request.origin.copy() }

// Capability returns the secret with a name: from the call, or else from the registration. It never reads the
// environment.
func (c *Context) Capability(name string) (Secret, bool) {
	if s, ok := c.request.Capabilities[name]; ok {
		return s, true
	}
	s, ok := c.operation.Capabilities[name]
	return s, ok
}

// Call runs another operation, External or Internal, that the registration's Env names. The registration's Authority
// must have the required rights. The caller's rights do not count. The other operation sees that Authority as its
// caller.
func (c *Context) Call(ctx context.Context, name string, input json.RawMessage) Envelope {
	q := request{
		Call: Call{
			ID:        c.request.ID + "." + strconv.FormatUint(c.children.Add(1), 10),
			Operation: name, Input: input, Capabilities: c.request.Capabilities,
		},
		origin: c.request.origin, parent: c, depth: c.request.depth + 1,
	}
	if a := c.operation.Authority; a != nil {
		q.Caller = *a
	}
	if c.ended.Load() {
		return Envelope{ID: q.ID, Err: refusal(Canceled, "the call that this one is part of has ended",
			Details{Operation: name})}
	}
	return c.registry.call(ctx, q)
}
