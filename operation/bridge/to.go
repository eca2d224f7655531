package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// ToMCPOptions tune [ToMCP]. nil and the zero value are good: then callers may call
// what everybody may.
type ToMCPOptions struct {
	// Identity is who a principal of the host is to operations, and with which rights. It is asked
	// before every search and call, so that rights that are taken away are gone at once, and may be called in many
	// goroutines at once. What it gives may have another name, which several principals share. Its error is or wraps
	// [ErrNobody], or is not shown. nil: each is who their principal says, without any rights.
	Identity func(context.Context, toolbox.Principal) (operation.Identity, error)
	// Local is who calls without a principal: over stdio, in memory, and over an HTTP that
	// asks for no token (host.Options.Authenticate). Identity is not asked.
	Local operation.Identity
	// Capabilities gives a call its secrets: the token of its caller for another service,
	// for example. It may be called in many goroutines at once. Its error ends the call, and is not
	// shown. nil: none.
	Capabilities func(context.Context, operation.Identity) (operation.Capabilities, error)
	// Tools are the names and the descriptions of the four, and how many calls of a batch run at once.
	Tools catalog.Options
}

// ErrNobody is the error of a [ToMCPOptions.Identity] for a principal that it does not know.
var ErrNobody = errors.New("nobody is known by that name")

// outside is the External operations of a registry, as its callers see them.
type outside struct {
	registry *operation.Registry
	opts     ToMCPOptions
	now      atomic.Pointer[shown]
}

// shown is the list of one snapshot.
type shown struct {
	of      *operation.Snapshot
	entries []operation.Entry
	list    *catalog.List
}

var _ catalog.Operations = (*outside)(nil)

// ToMCP shows the External operations of a registry to models, as four tools: search, schema,
// call and batch. What it gives is for host.New, over HTTP or stdio, or for an agent's
// box. It is live.
//
// What a caller may not call is not found by it. A call gives the operation's value as
// structured content, or a failed result with the operation's error.
func ToMCP(r *operation.Registry, o *ToMCPOptions) toolbox.Source {
	o = cmp.Or(o, &ToMCPOptions{})
	tools := o.Tools
	tools.Unvalidated = true // the registry checks every input
	return catalog.New(&outside{registry: r, opts: *o}, &tools)
}

// View implements [catalog.Operations].
func (s *outside) View(ctx context.Context, caller toolbox.Principal) (catalog.View, error) {
	who, err := s.identity(ctx, caller)
	if err != nil {
		return catalog.View{}, err
	}
	now := s.shown()
	return catalog.View{List: now.list, May: func(place int) bool { return now.entries[place].CallableBy(who) }}, nil
}

// shown is what is registered now. Where two goroutines make it at once, one is kept.
func (s *outside) shown() *shown {
	snapshot, old := s.registry.Snapshot(), s.now.Load()
	if old != nil && old.of == snapshot {
		return old
	}
	fresh := &shown{of: snapshot}
	var list []catalog.Operation
	for _, e := range snapshot.Operations {
		if e.Spec.Visibility != operation.External {
			continue
		}
		fresh.entries = append(fresh.entries, e)
		list = append(list, catalog.Operation{
			Name: e.Spec.Name, Description: e.Spec.Description, Kind: e.Spec.Kind.String(), Input: e.Spec.Input,
			Spec: func() json.RawMessage { return specOf(e) },
		})
	}
	fresh.list = catalog.NewList(list)
	if s.now.CompareAndSwap(old, fresh) {
		return fresh
	}
	if kept := s.now.Load(); kept.of == snapshot {
		return kept
	}
	return fresh
}

// specOf is the whole Spec of an operation.
func specOf(e operation.Entry) json.RawMessage {
	raw, _ := text.JSON(e.Spec) // a Registry takes only schemas that are JSON
	return raw
}

// Call implements [catalog.Operations].
func (s *outside) Call(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	who, err := s.identity(ctx, c.Caller)
	if err != nil {
		return nil, err
	}
	call := operation.Call{ID: c.ID, Operation: c.Name, Input: c.Input, Caller: who}
	if _, may := s.registry.Find(c.Name, who); !may { // what the caller may not call does not exist
		return nil, &operation.Error{Code: operation.NotFound}
	}
	if s.opts.Capabilities != nil {
		if call.Capabilities, err = s.opts.Capabilities(ctx, who); err != nil {
			return nil, notAvailable(ctx, "what the operation needs to run cannot be had now")
		}
	}
	envelope := s.registry.Call(ctx, call)
	switch e := envelope.Err; {
	case e == nil:
		return toolbox.StructuredResult(envelope.Value, toolbox.JSON(envelope.Value)), nil
	case e.Code == operation.Canceled && ctx.Err() != nil:
		return nil, ctx.Err()
	case e.Code == operation.Forbidden: // the right was taken away this moment
		return nil, &operation.Error{Code: operation.NotFound}
	default:
		return nil, e
	}
}

// identity is who a caller is to operations. Why that is not known is not for strangers.
func (s *outside) identity(ctx context.Context, caller toolbox.Principal) (operation.Identity, error) {
	switch {
	case caller == "":
		return s.opts.Local, nil
	case s.opts.Identity == nil:
		return operation.Identity{Principal: operation.Principal(caller)}, nil
	}
	who, err := s.opts.Identity(ctx, caller)
	switch {
	case errors.Is(err, ErrNobody):
		return who, &operation.Error{Code: operation.Forbidden, Message: "the caller is not known any more"}
	case err != nil:
		return who, notAvailable(ctx, "who calls is not known now")
	}
	return who, nil
}

// notAvailable is the error of something that was asked for and did not come.
func notAvailable(ctx context.Context, message string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &operation.Error{Code: operation.InternalError, Message: message, Retryable: true}
}
