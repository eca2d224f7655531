package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Handler runs an operation. It may run in many goroutines at once, and must end soon after ctx ends. The Context
// belongs to this call and ends with it. The input has passed the Spec's schema and is read-only. An empty input is {}.
//
// The value is one JSON value, and nil is null. An [*Error] with a code that the Spec declares, or with
// [InternalError], reaches the caller with its text. An *Error with another code becomes an InternalError with the
// original in its details. A deadline error becomes a [Timeout], and the cancellation of ctx becomes a [Canceled]. Any
// other error, or a panic in the handler's goroutine, becomes an InternalError. Its text is logged but not returned,
// because it may contain paths and secrets of this machine.
type Handler func(ctx context.Context, c *Context, input json.RawMessage) (json.RawMessage, error)

// Provenance is the origin of an operation. All operations except [Local] ones are leaves: they pass calls to another
// system, and never call operations. Adapters define their own provenances.
type Provenance string

// The provenances of this module.
const (
	Local   Provenance = "local"    // defined by the program; "" means the same
	FromMCP Provenance = "from_mcp" // a tool of an MCP server
)

// Leaf reports whether operations of this provenance call no other operations.
func (p Provenance) Leaf() bool { return p != "" && p != Local }

// Registration is an operation with everything that it needs to run.
type Registration struct {
	Spec Spec
	// Handler runs the operation.
	Handler Handler
	// Provenance is the origin. If it is empty, it is [Local].
	Provenance Provenance
	// Owner is the owner of the operation, for [Registry.Replace]. If it is empty, there is none.
	Owner string
	// Authority is the identity, with its rights, under which the operation calls other operations. The caller's rights
	// do not count. If it is nil, the operation can call only operations that require no rights. A leaf has no
	// Authority.
	Authority *Identity
	// Env lists the names of the operations that it may call. A leaf has none.
	Env []string
	// Capabilities are the secrets of the operation. They do not pass on to operations that it calls.
	Capabilities Capabilities
	// Timeout limits one call. If it is 0, the registry's timeout applies. If it is negative, there is no limit.
	Timeout time.Duration
	// Release is called once after the operation was removed or replaced and its last call has ended, in the goroutine
	// of that event. It may be nil. It is not called for a registration that was never added.
	Release func()

	defect error // of the Go types that define it
}

// Check returns the error for which [Registry.Add] would refuse the Registration, except for names that are taken. It
// compiles the schemas of operations that are not leaves, because an invalid schema is a mistake of the program.
func (r Registration) Check() error {
	_, err := r.prepare()
	return err
}

func (r Registration) prepare() (*operation, error) {
	if err := r.Spec.Check(); err != nil {
		return nil, err
	}
	if err := r.checkHandler(); err != nil {
		return nil, fmt.Errorf("operation: %q: %w", r.Spec.Name, err)
	}
	o := &operation{Registration: r.copy()}
	if r.Provenance.Leaf() {
		return o, nil
	}
	return o, o.compile(nil)
}

func (r Registration) checkHandler() error {
	switch {
	case r.defect != nil:
		return r.defect
	case r.Handler == nil:
		return errors.New("it has no Handler")
	case r.Provenance.Leaf() && r.Authority != nil:
		return fmt.Errorf("it is %s, a leaf, and has an authority to call others", r.Provenance)
	case r.Provenance.Leaf() && len(r.Env) > 0:
		return fmt.Errorf("it is %s, a leaf, and has operations to call", r.Provenance)
	}
	return nil
}

// copy returns r with copies of its lists, so that the caller can no longer change them. The bytes of schemas are
// shared.
func (r Registration) copy() Registration {
	if r.Provenance == "" {
		r.Provenance = Local
	}
	r.Spec.Errors = slices.Clone(r.Spec.Errors)
	r.Spec.Access.ScopesAll = slices.Clone(r.Spec.Access.ScopesAll)
	r.Spec.Access.ScopesAny = slices.Clone(r.Spec.Access.ScopesAny)
	r.Env = slices.Clone(r.Env)
	r.Capabilities = maps.Clone(r.Capabilities)
	if r.Authority != nil {
		authority := r.Authority.copy()
		r.Authority = &authority
	}
	return r
}
