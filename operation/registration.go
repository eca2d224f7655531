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

// Handler does the work of an operation. It may run in many goroutines at once,
// and must end soon after ctx does. c is this call's own and ends with it. input has
// been checked against the Spec, and is read-only; where nothing was sent it is {}.
//
// The value is one JSON value; nil is null. An error whose code the Spec declares, an
// [*Error], reaches the caller; ctx's own becomes a [Timeout] or [Canceled]; any other is an
// [InternalError] without its text, which may hold paths and secrets of this machine and is logged. So is a panic in the
// handler's own goroutine. An *Error with that code has a text that the caller may read.
type Handler func(ctx context.Context, c *Context, input json.RawMessage) (json.RawMessage, error)

// Provenance says where an operation comes from. All but [Local] are leaves: they pass calls on to something else, and never call other operations. Adapters
// name their own.
type Provenance string

// The provenances that this module knows.
const (
	Local   Provenance = "local"    // written by whoever registers it; "" is the same
	FromMCP Provenance = "from_mcp" // a tool of an MCP server
)

// Leaf reports whether such operations call no others.
func (p Provenance) Leaf() bool { return p != "" && p != Local }

// Registration is an operation with all that it needs to run.
type Registration struct {
	Spec Spec
	// Handler runs it.
	Handler Handler
	// Provenance is [Local] where nobody said.
	Provenance Provenance
	// Owner is who registered it, for [Registry.Replace]; "" is nobody.
	Owner string
	// Authority is the identity, with its rights, under which the operation calls others. The caller of the operation
	// adds no rights. If it is nil, only operations that are open to every caller may be called. A leaf has none.
	Authority *Identity
	// Env are the names of the operations that it may call; nil: none. A leaf has none.
	Env []string
	// Capabilities are its own secrets. They do not go on to operations that it calls.
	Capabilities Capabilities
	// Timeout bounds one call of it; zero is the registry's, negative is none.
	Timeout time.Duration
	// Release is called once, after the operation has been removed or replaced and its
	// last call has ended, in the goroutine where that happened; nil: it holds nothing. It is
	// not called for what was never registered.
	Release func()

	defect error // of the types that it was defined over
}

// Check says what is wrong with a Registration that [Registry.Add] would refuse, but
// for names that are taken. Of operations that are no leaves it compiles the schemas:
// one that cannot be used is a fault of who wrote it.
func (r Registration) Check() error {
	_, err := r.prepare()
	return err
}

func (r Registration) prepare() (*operation, error) {
	if err := r.Spec.Check(); err != nil {
		return nil, err
	}
	if err := r.fits(); err != nil {
		return nil, fmt.Errorf("operation: %q: %w", r.Spec.Name, err)
	}
	o := &operation{Registration: r.copy()}
	if r.Provenance.Leaf() {
		return o, nil
	}
	return o, o.compile(nil)
}

func (r Registration) fits() error {
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

// copy is r with lists of its own, so that whoever registered it can change nothing
// any more. The schemas' bytes are shared.
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
