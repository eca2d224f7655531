package toolbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/indusagi/indus/schema/validate"
)

// Registry holds local tools and runs them. It is a [Source] that shows the same tools to every principal.
//
// Tools are in the order in which their names were first added. All methods are safe for concurrent use.
type Registry struct {
	context  *Context
	watchers Watchers
	current  atomic.Pointer[registryState]

	mu sync.Mutex // one change at a time
}

// registryState is the state of a Registry at one moment. It never changes.
type registryState struct {
	snapshot *Snapshot
	tools    map[string]localTool
}

// localTool is a tool with its validators, which are made at the first call.
type localTool struct {
	Tool
	validator       func() *validate.Validator // returns nil if the schema is unusable
	resultValidator func() *validate.Validator // for results, if the tool has an output schema
}

// prepareInput returns the input in the form that the tool reads.
func (t *localTool) prepareInput(input json.RawMessage) (json.RawMessage, error) {
	input = orEmptyObject(input)
	v := t.validator()
	if t.completes {
		input = v.Complete(input)
	}
	return input, checkInput(v, input)
}

// checkResult returns an error if r does not fit the tool's output schema. It returns nil without such a schema.
func (t *localTool) checkResult(r *Result) error {
	if t.Output == nil || r.IsError() {
		return nil
	}
	if r.Structured() == nil {
		return fmt.Errorf("%s: its result has no structured value, and its output schema asks for one", t.Name)
	}
	if err := checkInput(t.resultValidator(), r.Structured()); err != nil {
		return fmt.Errorf("%s: its result does not fit its output schema:\n%w", t.Name, err)
	}
	return nil
}

var _ Source = (*Registry)(nil)

// NewRegistry returns an empty registry. Its tools run with tc. If tc is nil, FS and Shell refuse everything.
func NewRegistry(tc *Context) *Registry {
	if tc == nil {
		tc = &Context{}
	}
	r := &Registry{context: tc}
	r.current.Store(&registryState{snapshot: &Snapshot{}, tools: map[string]localTool{}})
	return r
}

// Add adds tools as one change. If a name is already registered, the new tool replaces the old one and keeps its
// place. If two added tools have the same name, the later tool wins. Running calls finish with the tool they started
// with.
//
// Add panics if a tool cannot work (see [Tool.Check]), as [http.Handle] does.
//
// [http.Handle]: https://pkg.go.dev/net/http#Handle
func (r *Registry) Add(tools ...Tool) {
	for _, t := range tools {
		if err := t.Check(); err != nil {
			panic(err)
		}
	}
	if len(tools) == 0 {
		return
	}
	r.change(func(all map[string]localTool, list []Descriptor) []Descriptor {
		for _, t := range tools {
			if _, known := all[t.Name]; known {
				list[slices.IndexFunc(list, func(d Descriptor) bool { return d.Name == t.Name })] = t.descriptor()
			} else {
				list = append(list, t.descriptor())
			}
			all[t.Name] = localTool{t, lazyValidator(t.Schema), lazyValidator(t.Output)}
		}
		return list
	})
}

// Remove removes tools as one change, and ignores unknown names. It does not affect running calls.
func (r *Registry) Remove(names ...string) {
	r.change(func(all map[string]localTool, list []Descriptor) []Descriptor {
		rest := slices.DeleteFunc(list, func(d Descriptor) bool { return slices.Contains(names, d.Name) })
		if len(rest) == len(all) {
			return nil
		}
		for _, name := range names {
			delete(all, name)
		}
		return rest
	})
}

// change calls edit with copies of the registered tools, stores the list that edit returns, and notifies the watchers.
// If the list is nil, nothing changes.
func (r *Registry) change(edit func(map[string]localTool, []Descriptor) []Descriptor) {
	r.mu.Lock()
	old := r.current.Load()
	tools := maps.Clone(old.tools)
	list := edit(tools, append([]Descriptor{}, old.snapshot.Tools...))
	if list != nil {
		r.current.Store(&registryState{&Snapshot{Version: old.snapshot.Version + 1, Tools: list}, tools})
	}
	r.mu.Unlock()
	if list != nil {
		r.watchers.Notify()
	}
}

// Snapshot implements [Source].
func (r *Registry) Snapshot(Principal) *Snapshot { return r.current.Load().snapshot }

// Watch implements [Source].
func (r *Registry) Watch(changed func()) (stop func()) { return r.watchers.Watch(changed) }

// Do implements [Source]. For a local tool the error is an [*UnknownTool] or ctx's own error. All other failures are
// results: the text of an [Errorf], or "internal error" with the details logged to [Context].Logger.
func (r *Registry) Do(ctx context.Context, c Call) (*Result, error) {
	t, ok := r.current.Load().tools[c.Name]
	if !ok {
		return nil, &UnknownTool{Name: c.Name}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	input, err := t.prepareInput(c.Input)
	if err != nil {
		return ErrorResult(fmt.Sprintf("the arguments of %s do not fit:\n%v", c.Name, err)), nil
	}
	tc, done := r.context.forCall(ctx, c)
	defer done()
	result, err := t.run(withContext(ctx, tc), tc, input)
	switch {
	case err != nil && isContextError(ctx, err):
		return nil, ctx.Err()
	case err != nil:
		return r.failure(c, err), nil
	case result == nil:
		result = NewResult()
	}
	if err := t.checkResult(result); err != nil {
		return ErrorResult(err.Error()), nil
	}
	return result, nil
}

// failure returns the result for a tool's error. It has the error's text if [Errorf] made it. Any other error is
// logged.
func (r *Registry) failure(c Call, err error) *Result {
	if message, ok := ErrorText(err); ok {
		return ErrorResult(message)
	}
	attrs := []any{"tool", c.Name, "caller", c.Caller, "err", err}
	if p, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, "stack", string(p.stack))
	}
	cmp.Or(r.context.Logger, slog.Default()).Error("a tool failed", attrs...)
	return ErrorResult(c.Name + ": internal error")
}

// panicError holds the panic of a tool.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// run runs the tool and turns its panic into an error, so that the panic does not end the process.
func (t Tool) run(ctx context.Context, tc *Context, input json.RawMessage) (r *Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			r, err = nil, &panicError{v, debug.Stack()}
		}
	}()
	return t.Run(ctx, tc, input)
}

// isContextError reports whether err only means that ctx has ended.
func isContextError(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}
