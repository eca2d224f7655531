package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/toolbox"
)

// Bounds of one call of the tools.
const (
	// DefaultLimit is the default number of operations that a search returns.
	DefaultLimit = 10
	// MaxLimit is the maximum number of operations that a search returns.
	MaxLimit = 50
	// MaxBatch is the maximum number of calls in a batch.
	MaxBatch = 50
	// DefaultParallel is the default number of calls of a batch that run at once.
	DefaultParallel = 8
	// MaxBatchBytes bounds the results of a batch, in bytes. They are sent twice, and have to fit
	// into one message.
	MaxBatchBytes = 8 << 20
)

// Options configure the four tools. nil and the zero value are valid.
type Options struct {
	// Prefix begins the names of the four tools: "ops_" makes ops_search. "" means plain names.
	Prefix string
	// About describes the available operations in a few words, for the descriptions of the tools:
	// "Files, GitHub and the calendar.". "" adds nothing.
	About string
	// Unvalidated passes on inputs that do not fit the schemas of their operations, so that the
	// operations judge them. If it is false, such a call is an error that explains to a model how
	// to correct the input.
	Unvalidated bool
	// Parallel is the number of calls of a batch that run at once. 0 means [DefaultParallel].
	Parallel int
}

// metaTools provides the four tools.
type metaTools struct {
	operations Operations
	opts       Options
	snapshot   *toolbox.Snapshot
	watchers   toolbox.Watchers // the four tools never change
}

var _ toolbox.Source = (*metaTools)(nil)

// New returns the four tools over operations: search, schema, call and batch. The tools are the
// same for all callers and never change. The operations behind them may change.
func New(operations Operations, o *Options) toolbox.Source {
	t := &metaTools{operations: operations, opts: *cmp.Or(o, &Options{})}
	if t.opts.Parallel <= 0 {
		t.opts.Parallel = DefaultParallel
	}
	t.snapshot = &toolbox.Snapshot{Version: 1, Tools: descriptors(&t.opts)}
	return t
}

// Snapshot implements [toolbox.Source].
func (t *metaTools) Snapshot(toolbox.Principal) *toolbox.Snapshot { return t.snapshot }

// Watch implements [toolbox.Source].
func (t *metaTools) Watch(changed func()) (stop func()) { return t.watchers.Watch(changed) }

// Do implements [toolbox.Source].
func (t *metaTools) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	name, hasPrefix := strings.CutPrefix(c.Name, t.opts.Prefix)
	if !hasPrefix {
		return nil, &toolbox.UnknownTool{Name: c.Name}
	}
	switch name {
	case "search":
		return jsonResult(t.search(ctx, c))
	case "schema":
		return jsonResult(t.schema(ctx, c))
	case "call":
		return t.call(ctx, c)
	case "batch":
		return jsonResult(t.batch(ctx, c))
	}
	return nil, &toolbox.UnknownTool{Name: c.Name}
}

// jsonResult returns the result of a tool that returns one JSON value.
func jsonResult(value json.RawMessage, err error) (*toolbox.Result, error) {
	if err != nil {
		return errorResult(nil, err)
	}
	return structuredResult(validUTF8(value), false), nil
}

// errorResult makes a result of an [*Error]. It returns any other error unchanged.
func errorResult(r *toolbox.Result, err error) (*toolbox.Result, error) {
	if e, ok := errors.AsType[*Error](err); ok {
		return resultOfError(e), nil
	}
	return r, err
}

// view returns the operations that the caller may find.
func (t *metaTools) view(ctx context.Context, caller toolbox.Principal) (View, error) {
	if err := ctx.Err(); err != nil {
		return View{}, err
	}
	return t.operations.View(ctx, caller)
}

// searchResult is the answer of a search.
type searchResult struct {
	Operations []foundOperation `json:"operations"`
	// More reports whether further operations match.
	More bool `json:"more,omitempty"`
	// Pending names servers that have not answered yet.
	Pending []string `json:"pending,omitempty"`
	// Down names servers that cannot be reached. Their operations are not found.
	Down []string `json:"down,omitempty"`
}

type foundOperation struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Kind        string `json:"kind,omitempty"`
	Parameters  string `json:"parameters"`
}

func (t *metaTools) search(ctx context.Context, c toolbox.Call) (json.RawMessage, error) {
	in, err := t.readSearch(c.Input)
	if err != nil {
		return nil, err
	}
	v, err := t.view(ctx, c.Caller)
	if err != nil {
		return nil, err
	}
	matches := v.bestMatches(in.query, in.limit+1)
	f := searchResult{Operations: []foundOperation{}, More: len(matches) > in.limit}
	for _, o := range matches[:min(len(matches), in.limit)] {
		f.Operations = append(f.Operations, foundOperation{
			Name: o.Name, Description: summary(o.Description), Kind: o.Kind,
			Parameters: signature.Parse(o.Input).Signature(signature.Line),
		})
	}
	for _, server := range v.Pending {
		f.Pending = append(f.Pending, protocol.Printable(server, maxName))
	}
	for _, d := range v.Down {
		f.Down = append(f.Down, protocol.Printable(d.Server, maxName))
	}
	return encodeJSON(f), nil
}

func (t *metaTools) schema(ctx context.Context, c toolbox.Call) (json.RawMessage, error) {
	name, full, err := t.readSchema(c.Input)
	if err != nil {
		return nil, err
	}
	v, err := t.view(ctx, c.Caller)
	if err != nil {
		return nil, err
	}
	at, ok := v.find(name)
	if !ok {
		if server := (&toolbox.Snapshot{Down: v.Down}).DownOwner(name); server != "" {
			return nil, &Error{Code: Unavailable, Retryable: true,
				Message: "its server " + protocol.Printable(server, maxName) + " is down; try again later"}
		}
		return nil, notFound(name, v.nearest(name))
	}
	o := v.List.operations[at]
	spec := newSpec(o.Name, o.Description, o.Kind, o.Input).JSON()
	if o.Spec != nil {
		spec = jsonValue(o.Spec())
	}
	if !full {
		spec = shortenSpec(spec)
	}
	return spec, nil
}

func (t *metaTools) call(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	in, err := readInput(c.Input, t.opts.Prefix+"call")
	if err != nil {
		return errorResult(nil, err)
	}
	return errorResult(t.run(ctx, in.toCall(c)))
}

// run calls one operation. If there is no such operation, the error lists similar names.
func (t *metaTools) run(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	c, err := t.prepareCall(ctx, c)
	if err != nil {
		return nil, err
	}
	r, err := t.operations.Call(ctx, c)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == NotFound {
		v, err := t.view(ctx, c.Caller)
		if err != nil {
			return nil, err
		}
		return nil, notFound(c.Name, v.nearest(c.Name))
	}
	if err == nil && r == nil {
		r = toolbox.NewResult()
	}
	return r, err
}
