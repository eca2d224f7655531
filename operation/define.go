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

// New returns the [Registration] of an operation with Go types for its input and value. Schemas that the Spec leaves
// out are inferred from the types: see package infer for the struct tags. Missing fields get the defaults of the
// schema. Whole numbers may be written as 1.0 or 1e2. An input that fits the schema but cannot be decoded into In is an
// [InvalidInput]. If a type cannot be encoded as JSON, [Registration.Check] returns an error.
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
	return Registration{Spec: spec, defect: defect, Handler: func(ctx context.Context, c *Context,
		input json.RawMessage) (json.RawMessage, error) {
		var in In
		if err := json.Unmarshal(schema().Complete(input), &in); err != nil {
			return nil, &decodeError{err}
		}
		out, err := run(ctx, c, in)
		if err != nil {
			return nil, err
		}
		return text.JSON(out)
	}}
}

// decodeError is an input that passed the schema but does not fit the Go type.
type decodeError struct{ err error }

func (e *decodeError) Error() string { return e.err.Error() }

// refusal describes the error in terms of the input.
func (e *decodeError) refusal(name string) *Error {
	details := Details{Operation: name}
	if typeErr, ok := errors.AsType[*json.UnmarshalTypeError](e.err); ok {
		details.Problems = []validate.Problem{{Path: pointer(typeErr.Field), Expected: typeErr.Type.String(),
			Got: typeErr.Value}}
		return refusal(InvalidInput, fmt.Sprintf("%s: expected %s, got a JSON %s", pointer(typeErr.Field), typeErr.Type,
			typeErr.Value), details)
	}
	return refusal(InvalidInput, e.Error(), details)
}

// pointer converts a field path of encoding/json ("a.b") to a JSON pointer.
func pointer(field string) string {
	if field == "" {
		return "/"
	}
	return "/" + strings.ReplaceAll(field, ".", "/")
}

// Ask calls another operation through c, with Go types for its input and value. If the call ends with an error, Ask
// returns the [*Error].
func Ask[Out any](ctx context.Context, c *Context, name string, in any) (out Out, err error) {
	input, err := text.JSON(in)
	if err != nil {
		return out, fmt.Errorf("operation: the input of %q: %w", name, err)
	}
	err = c.Call(ctx, name, input).Decode(&out)
	return out, err
}
