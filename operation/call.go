package operation

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/indusagi/indus/internal/text"
)

// Call asks for one run of one operation, from outside.
type Call struct {
	// ID is the caller's own id for the call; "" gets one that is unique in the registry.
	ID string
	// Operation is the name.
	Operation string
	// Input is one JSON value; nothing at all is {}.
	Input json.RawMessage
	// Caller is who calls.
	Caller Identity
	// Capabilities are of this call: a handler finds them before its own of the same name,
	// and they go on to the operations that it calls. They come from the program that
	// calls, never from a message.
	Capabilities Capabilities
}

const (
	maxDepth   = 64 // how deep operations may call one another
	maxNearest = 3
)

// request is a call from wherever it comes.
type request struct {
	id     string
	name   string
	input  json.RawMessage
	caller Identity // whose rights count
	origin Identity // who called from outside
	given  Capabilities
	from   *Context // the call that makes this one; nil from outside
	depth  int
}

// Call runs a Query or a Mutation. It never fails as such: whatever goes wrong is in the
// Envelope. It returns when the handler does.
func (r *Registry) Call(ctx context.Context, c Call) Envelope {
	if c.ID == "" {
		c.ID = "call-" + strconv.FormatUint(r.calls.Add(1), 10)
	}
	return r.call(ctx, request{id: c.ID, name: c.Operation, input: c.Input, caller: c.Caller, origin: c.Caller, given: c.Capabilities})
}

// admit finds the operation of a request and counts a call of it, or says why not. What
// does not exist and what cannot be reached from there take the same way.
func (r *Registry) admit(q *request) (o *operation, err *Error) {
	if o = r.reach(*q); o == nil {
		return nil, r.notFound(*q)
	}
	defer func() {
		if err != nil {
			o.end()
		}
	}()
	if missing := o.Spec.Access.missing(q.caller.Grants); missing != nil {
		return o, refusal(Forbidden, "the caller may not call "+strconv.Quote(q.name), Details{Operation: q.name, Missing: missing})
	}
	if q.depth > maxDepth {
		return o, refusal(InternalError, "operations call one another too deep", Details{Operation: q.name})
	}
	if len(q.input) == 0 {
		q.input = json.RawMessage("{}")
	}
	return o, r.checkInput(o, q.input)
}

// reach is the operation that a request means, and a call of it begun; nil: there is
// none that can be called from there.
func (r *Registry) reach(q request) *operation {
	for {
		o := r.now.Load().by[q.name]
		if o == nil || !q.reaches(o) {
			return nil
		}
		if o.begin() {
			return o
		} // else it was replaced since, and another may have its name
	}
}

func (q request) reaches(o *operation) bool {
	if q.from != nil {
		return slices.Contains(q.from.operation.Env, o.Spec.Name)
	}
	return o.Spec.Visibility == External
}

// notFound also names the operations that may be meant, of those that can be called from there with the caller's rights.
func (r *Registry) notFound(q request) *Error {
	var names []string
	for _, o := range r.now.Load().order {
		if q.reaches(o) && o.Spec.Access.Allows(q.caller.Grants) {
			names = append(names, o.Spec.Name)
		}
	}
	details := Details{Operation: q.name, Nearest: text.Nearest(q.name, names, maxNearest)}
	if len(q.name) > maxName {
		details.Operation = "" // no operation has such a name, and nobody wants it back
	}
	return refusal(NotFound, "there is no operation of that name", details)
}
