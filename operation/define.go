package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/schema/infer"
	"github.com/indusagi/indus/schema/validate"
)

// New is the [Registration] of an operation whose input and value have Go types.
// A schema that the Spec does not give is inferred from the type: package infer says by which
// struct tags. Missing members get the defaults of the schema, and a whole number may be written as 1.0 or 1e2. What fits
// the schema and does not decode into In is an [InvalidInput] all the same. A type that JSON cannot hold is an error of [Registration.Check].
func New[In, Out any](spec Spec, run func(context.Context, *Context, In) (Out, error)) Registration {
	var defect error
	if spec.Input == nil {
		spec.Input, defect = infer.Input[In]()
	}
	if spec.Output == nil {
		var err error
		spec.Output, err = infer.Output[Out]()
		defect = errors.Join(defect, err)
	}
	schema := sync.OnceValue(func() *validate.Validator {
		v, _ := validate.New(spec.Input)
		return v
	})
	return Registration{Spec: spec, defect: defect, Handler: func(ctx context.Context, c *Context, input json.RawMessage) (json.RawMessage, error) {
		if v := schema(); v != nil {
			input = v.Complete(input)
		}
		var in In
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, &undecodable{err}
		}
		out, err := run(ctx, c, in)
		if err != nil {
			return nil, err
		}
		return text.JSON(out)
	}}
}

// undecodable is an input that does not fit the Go type, which the schema should have said.
type undecodable struct{ err error }

func (e *undecodable) Error() string { return e.err.Error() }

// refusal says what is wrong in a caller's terms.
func (e *undecodable) refusal(name string) *Error {
	details := Details{Operation: name}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](e.err); ok {
		details.Problems = []validate.Problem{{Path: pointer(wrong.Field), Expected: wrong.Type.String(), Got: wrong.Value}}
		return refusal(InvalidInput, fmt.Sprintf("%s: expected %s, got a JSON %s", pointer(wrong.Field), wrong.Type, wrong.Value), details)
	}
	return refusal(InvalidInput, e.Error(), details)
}

// pointer is the path of a field as encoding/json names it: "a.b".
func pointer(field string) string {
	if field == "" {
		return "/"
	}
	return "/" + strings.ReplaceAll(field, ".", "/")
}

// Ask calls another operation through c, with an input and a value that have Go types.
// The error is an [*Error] where the call ended with one.
func Ask[Out any](ctx context.Context, c *Context, name string, in any) (out Out, err error) {
	input, err := text.JSON(in)
	if err != nil {
		return out, fmt.Errorf("operation: the input of %q: %w", name, err)
	}
	err = c.Call(ctx, name, input).Decode(&out)
	return out, err
}
