package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// ToMCPOptions configure [ToMCP]. nil and the zero value are valid: callers then have no rights, and can call only
// operations that require none.
type ToMCPOptions struct {
	// Identity returns the identity and rights of a host's principal. It is called before every search and call, so
	// that revoked rights end immediately. It must be safe for concurrent use. The identity may have another name, and
	// several principals may share it. For an unknown principal the error is or wraps [ErrNobody]. Other errors are not
	// shown. If Identity is nil, each principal has its own name and no rights.
	Identity func(context.Context, toolbox.Principal) (operation.Identity, error)
	// Local is the identity of callers without a principal: over stdio, in memory, and over HTTP without authentication
	// (host.Options.Authenticate). Identity is not called for them.
	Local operation.Identity
	// Capabilities returns the secrets for a call, such as its caller's token for another service. It must be safe for
	// concurrent use. Its error ends the call and is not shown. If it is nil, calls have no secrets.
	Capabilities func(context.Context, operation.Identity) (operation.Capabilities, error)
	// Tools sets the names and descriptions of the four tools, and how many calls of a batch run at once.
	Tools catalog.Options
}

// ErrNobody is returned by a [ToMCPOptions.Identity] for an unknown principal.
var ErrNobody = errors.New("the principal is unknown")

// externalOperations offers the External operations of a registry to callers.
type externalOperations struct {
	registry *operation.Registry
	opts     ToMCPOptions

	mu      sync.Mutex
	current *operationList
}

// operationList is the list of operations of one snapshot.
type operationList struct {
	snapshot *operation.Snapshot
	entries  []operation.Entry
	list     *catalog.List
}

var _ catalog.Operations = (*externalOperations)(nil)

// ToMCP offers the External operations of a registry to models as four tools: search, schema, call and batch. The
// source is for host.New, over HTTP or stdio, or for an agent's box. It follows changes of the registry.
//
// Operations that a caller may not call appear not to exist. The result of a call is the operation's value as
// structured content, or a failed result with the operation's error.
func ToMCP(r *operation.Registry, o *ToMCPOptions) toolbox.Source {
	o = cmp.Or(o, &ToMCPOptions{})
	tools := o.Tools
	tools.Unvalidated = true // the registry checks every input
	return catalog.New(&externalOperations{registry: r, opts: *o}, &tools)
}

// View implements [catalog.Operations].
func (s *externalOperations) View(ctx context.Context, caller toolbox.Principal) (catalog.View, error) {
	identity, err := s.identity(ctx, caller)
	if err != nil {
		return catalog.View{}, err
	}
	current := s.currentList()
	may := func(place int) bool { return current.entries[place].CallableBy(identity) }
	return catalog.View{List: current.list, May: may}, nil
}

// currentList returns the list for the current snapshot.
func (s *externalOperations) currentList() *operationList {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot := s.registry.Snapshot()
	if s.current != nil && s.current.snapshot == snapshot {
		return s.current
	}
	built := &operationList{snapshot: snapshot}
	var list []catalog.Operation
	for _, e := range snapshot.Operations {
		if e.Spec.Visibility != operation.External {
			continue
		}
		built.entries = append(built.entries, e)
		list = append(list, catalog.Operation{
			Name: e.Spec.Name, Description: e.Spec.Description, Kind: e.Spec.Kind.String(), Input: e.Spec.Input,
			Spec: func() json.RawMessage { return details(e.Spec) },
		})
	}
	built.list = catalog.NewList(list)
	s.current = built
	return built
}

// Call implements [catalog.Operations].
func (s *externalOperations) Call(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	identity, err := s.identity(ctx, c.Caller)
	if err != nil {
		return nil, err
	}
	call := operation.Call{ID: c.ID, Operation: c.Name, Input: c.Input, Caller: identity}
	// an operation that the caller may not call does not exist for it
	if _, callable := s.registry.Find(c.Name, identity); !callable {
		return nil, &operation.Error{Code: operation.NotFound}
	}
	if s.opts.Capabilities != nil {
		call.Capabilities, err = s.opts.Capabilities(ctx, identity)
		if err != nil {
			return nil, unavailableError(ctx, "the capabilities of the operation are not available now")
		}
	}
	envelope := s.registry.Call(ctx, call)
	switch e := envelope.Err; {
	case e == nil:
		return toolbox.StructuredResult(envelope.Value, toolbox.JSON(envelope.Value)), nil
	case e.Code == operation.Canceled && ctx.Err() != nil:
		return nil, ctx.Err()
	case e.Code == operation.Forbidden: // the right was revoked during the call
		return nil, &operation.Error{Code: operation.NotFound}
	default:
		return nil, e
	}
}

// identity returns the identity of a caller. The reason of a failure is not shown to the caller.
func (s *externalOperations) identity(ctx context.Context, caller toolbox.Principal) (operation.Identity, error) {
	switch {
	case caller == "":
		return s.opts.Local, nil
	case s.opts.Identity == nil:
		return operation.Identity{Principal: operation.Principal(caller)}, nil
	}
	identity, err := s.opts.Identity(ctx, caller)
	switch {
	case errors.Is(err, ErrNobody):
		return identity, &operation.Error{Code: operation.Forbidden, Message: "the caller is not known any more"}
	case err != nil:
		return identity, unavailableError(ctx, "the caller cannot be identified now")
	}
	return identity, nil
}

// unavailableError returns the error for a value that could not be obtained.
func unavailableError(ctx context.Context, message string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &operation.Error{Code: operation.InternalError, Message: message, Retryable: true}
}
