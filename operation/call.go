package operation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/text"
)

// Call is a request from outside to run one operation.
type Call struct {
	// ID is the caller's id for the call. If it is empty, the registry assigns a unique id.
	ID string
	// Operation is the name of the operation.
	Operation string
	// Input is one JSON value. If it is empty, it is {}.
	Input json.RawMessage
	// Caller is the identity of the caller.
	Caller Identity
	// Capabilities are the secrets of this call. They override capabilities of the registration with the same name, and
	// pass on to operations that the handler calls. They come from the calling program, never from a message.
	Capabilities Capabilities
}

// Secret is text that prints as "<secret>" in every format, log and encoding, also in unexported fields. Its Reveal
// method returns the text. The zero Secret is empty. It is the same type as config.Secret.
type Secret = secret.Value

// NewSecret returns a Secret with the text.
func NewSecret(text string) Secret { return secret.NewValue(text) }

// Capabilities are named secrets that an operation needs in other systems, such as bearer tokens and keys. They do not
// identify the caller. That is the job of [Identity].
type Capabilities map[string]Secret

const (
	maxDepth   = 64 // maximum depth of nested calls
	maxNearest = 3
)

// request is a call from outside or from another operation. The rights of its Caller count.
type request struct {
	Call
	origin Identity // the caller from outside
	parent *Context // the calling operation's context, or nil for calls from outside
	depth  int
}

// Call runs a Query or a Mutation. Failures are reported in the Envelope. Call returns when the handler does.
func (r *Registry) Call(ctx context.Context, c Call) Envelope {
	if c.ID == "" {
		c.ID = "call-" + strconv.FormatUint(r.calls.Add(1), 10)
	}
	return r.call(ctx, request{Call: c, origin: c.Caller})
}

// admit finds the operation of a request and counts the call, or returns the reason of the refusal. A missing operation
// and an operation that cannot be called from there are treated alike.
func (r *Registry) admit(q *request) (o *operation, err *Error) {
	o = r.acquire(*q)
	if o == nil {
		return nil, r.notFound(*q)
	}
	defer func() {
		if err != nil {
			o.end()
		}
	}()
	if missing := o.Spec.Access.missing(q.Caller.Grants); len(missing) > 0 {
		return o, refusal(Forbidden, "the caller may not call "+strconv.Quote(q.Operation),
			Details{Operation: q.Operation, Missing: missing})
	}
	if q.depth > maxDepth {
		return o, refusal(InternalError, "operations call one another too deep", Details{Operation: q.Operation})
	}
	if len(q.Input) == 0 {
		q.Input = json.RawMessage("{}")
	}
	return o, r.checkInput(o, q.Input)
}

// acquire returns the operation of a request and begins a call of it. If there is none that can be called from there,
// it returns nil.
func (r *Registry) acquire(q request) *operation {
	for {
		o := r.current.Load().byName[q.Operation]
		if o == nil || !q.canReach(o) {
			return nil
		}
		if o.begin() {
			return o
		} // it was replaced, and another operation may have its name now
	}
}

func (q request) canReach(o *operation) bool {
	if q.parent != nil {
		return slices.Contains(q.parent.operation.Env, o.Spec.Name)
	}
	return o.Spec.Visibility == External
}

// notFound returns the error for an unknown name. It suggests similar names of operations that this caller can call.
func (r *Registry) notFound(q request) *Error {
	var names []string
	for _, o := range r.current.Load().order {
		if q.canReach(o) && o.Spec.Access.Allows(q.Caller.Grants) {
			names = append(names, o.Spec.Name)
		}
	}
	details := Details{Operation: q.Operation, Nearest: text.Nearest(q.Operation, names, maxNearest)}
	if len(q.Operation) > maxName {
		details.Operation = "" // no operation has such a long name, so the error does not repeat it
	}
	return refusal(NotFound, "there is no operation of that name", details)
}

// Envelope is the outcome of a call: a value or an Error.
type Envelope struct {
	// ID is the id of the call.
	ID string
	// Value is one JSON value. It is read-only, and nil if Err is set.
	Value json.RawMessage
	// Err is the reason for which there is no value.
	Err *Error
}

// Decode decodes the value into v. If there is no value, it returns Err.
func (e Envelope) Decode(v any) error {
	if e.Err != nil {
		return e.Err
	}
	if err := json.Unmarshal(e.Value, v); err != nil {
		return fmt.Errorf("operation: the value: %w", err)
	}
	return nil
}

// MarshalJSON writes {"id":…,"value":…} or {"id":…,"error":{"code":…}}. If both Value and Err are empty, the value is
// null.
func (e Envelope) MarshalJSON() ([]byte, error) {
	if e.Err != nil {
		return text.JSON(struct {
			ID    string `json:"id,omitempty"`
			Error *Error `json:"error"`
		}{e.ID, e.Err})
	}
	return text.JSON(struct {
		ID    string          `json:"id,omitempty"`
		Value json.RawMessage `json:"value"`
	}{e.ID, e.Value})
}
