package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/toolbox"
)

// What one call of the tools may ask for.
const (
	// DefaultLimit is how many operations a search shows where nobody says otherwise.
	DefaultLimit = 10
	// MaxLimit is how many it shows at most.
	MaxLimit = 50
	// MaxBatch is how many calls a batch may have.
	MaxBatch = 50
	// DefaultParallel is how many calls of a batch run at once where nobody says otherwise.
	DefaultParallel = 8
	// MaxBatchBytes is how much a batch holds of results. It is on the wire twice, and
	// has to fit into one message.
	MaxBatchBytes = 8 << 20
)

// Options tune the four tools. nil and the zero value are good.
type Options struct {
	// Prefix begins the names of the four: "ops_" gives ops_search. "": they are plain.
	Prefix string
	// About says in a few words what can be found, for whoever reads the tools' descriptions:
	// "Files, GitHub and the calendar.". "": nothing is said.
	About string
	// Unvalidated passes inputs on that do not fit the schemas of their operations, for these to
	// judge. false: such a call is an error that tells a model what to mend.
	Unvalidated bool
	// Parallel is how many calls of a batch run at once. 0: [DefaultParallel].
	Parallel int
}

// metaTools is the four.
type metaTools struct {
	operations Operations
	prefix     string
	parallel   int
	validates  bool
	snapshot   *toolbox.Snapshot
	watchers   toolbox.Watchers // the four never change
}

var _ toolbox.Source = (*metaTools)(nil)

// New is the four tools over operations: search, schema, call and batch. They are the same
// for everybody and never change; what can be found and called with them does.
func New(operations Operations, o *Options) toolbox.Source {
	if o == nil {
		o = &Options{}
	}
	t := &metaTools{operations: operations, prefix: o.Prefix, parallel: o.Parallel, validates: !o.Unvalidated}
	if t.parallel <= 0 {
		t.parallel = DefaultParallel
	}
	t.snapshot = &toolbox.Snapshot{Version: 1, Tools: descriptors(o)}
	return t
}

// Snapshot implements [toolbox.Source].
func (t *metaTools) Snapshot(toolbox.Principal) *toolbox.Snapshot { return t.snapshot }

// Watch implements [toolbox.Source].
func (t *metaTools) Watch(changed func()) (stop func()) { return t.watchers.Watch(changed) }

// Do implements [toolbox.Source].
func (t *metaTools) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	name, ours := strings.CutPrefix(c.Name, t.prefix)
	if !ours {
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

// jsonResult is the result of a tool that gives one JSON value.
func jsonResult(value json.RawMessage, err error) (*toolbox.Result, error) {
	if err != nil {
		return errorResult(nil, err)
	}
	return structured(validUTF8(value), false), nil
}

// errorResult makes a result of an [*Error].
func errorResult(r *toolbox.Result, err error) (*toolbox.Result, error) {
	if e, ok := errors.AsType[*Error](err); ok {
		return failed(e), nil
	}
	return r, err
}

// view is what the caller may find.
func (t *metaTools) view(ctx context.Context, caller toolbox.Principal) (View, error) {
	if err := ctx.Err(); err != nil {
		return View{}, err
	}
	return t.operations.View(ctx, caller)
}

// searchResult is what a search answers.
type searchResult struct {
	Operations []foundOperation `json:"operations"`
	// More: there are others that fit.
	More bool `json:"more,omitempty"`
	// Pending are servers that have not answered yet.
	Pending []string `json:"pending,omitempty"`
	// Down are servers that cannot be reached: what they have is not found.
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
	best := v.best(in.query, in.limit+1)
	f := searchResult{Operations: []foundOperation{}, More: len(best) > in.limit}
	for _, o := range best[:min(len(best), in.limit)] {
		f.Operations = append(f.Operations, foundOperation{
			Name: o.Name, Description: summary(o.Description), Kind: o.Kind, Parameters: signature.Parse(o.Input).Signature(signature.Line),
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
	spec := newSpec(o.Name, o.Description, o.Kind, o.Input)
	if o.Spec != nil {
		spec = jsonValue(o.Spec())
	}
	if !full {
		spec = shortened(spec)
	}
	return spec, nil
}

func (t *metaTools) call(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	in, err := readInput(c.Input, t.prefix+"call")
	if err != nil {
		return errorResult(nil, err)
	}
	return errorResult(t.run(ctx, in.of(c)))
}

// run calls one operation. It says more of a name that is not there.
func (t *metaTools) run(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	c, err := t.ready(ctx, c)
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
