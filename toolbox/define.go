package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/schema/infer"
)

// Define is a [Tool] over Go types. Its input schema, and its output schema where Out is a
// struct or a map, are those of In and Out; package infer says which struct tags
// describe them. In is a struct or a map; struct{} takes no arguments.
//
//	type Sum struct {
//		A int `json:"a" jsonschema_description:"The first number."`
//		B int `json:"b"`
//	}
//
//	toolbox.Define("sum", "Adds two numbers.", func(_ context.Context, in Sum) (int, error) { return in.A + in.B, nil })
//
// What run gives becomes the result: a [*Result] as it is; a string, a [Block] or a slice
// of blocks as the content; a struct or a map as JSON and as the structured value; any
// other value as JSON. An error is the result of a tool that ran and failed: [Errorf] makes those that the caller may read.
//
// The fields of the Tool may be set before it is added: Title, Annotations, a Schema
// written by hand. [ContextOf] gives run the files it may touch. A type that JSON cannot hold is
// an error of [Tool.Check].
func Define[In, Out any](name, description string, run func(context.Context, In) (Out, error)) Tool {
	t := Tool{Name: name, Description: description, completes: true}
	t.Schema, t.defect = infer.Object[In]()
	switch any(*new(Out)).(type) {
	case string, *Result, Block, []Block:
	default:
		output, err := infer.Output[Out]()
		if t.defect = errors.Join(t.defect, err); infer.IsObject(output) {
			t.Output = output
		}
	}
	t.Run = func(ctx context.Context, tc *Context, input json.RawMessage) (*Result, error) {
		var in In
		if err := decodeInput(input, &in); err != nil {
			return nil, Errorf("%s: %w", name, err)
		}
		out, err := run(withContext(ctx, tc), in)
		if err != nil {
			return nil, err
		}
		return resultOf(out)
	}
	return t
}

type contextKey struct{}

func withContext(ctx context.Context, tc *Context) context.Context {
	if ContextOf(ctx) == tc {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, tc)
}

// ContextOf is the [Context] of the call that ctx belongs to, inside a tool. Anywhere else it is one that refuses
// everything.
func ContextOf(ctx context.Context) *Context {
	if tc, ok := ctx.Value(contextKey{}).(*Context); ok {
		return tc
	}
	return &Context{}
}

func resultOf(out any) (*Result, error) {
	switch out := out.(type) {
	case *Result:
		return out, nil
	case string:
		return NewResult(Text(out)), nil
	case Block:
		return NewResult(out), nil
	case []Block:
		return NewResult(out...), nil
	}
	if v := reflect.ValueOf(out); v.Kind() == reflect.Map && v.IsNil() {
		out = struct{}{}
	}
	raw, err := text.JSON(out)
	if err != nil {
		return nil, err
	}
	if raw[0] == '{' {
		return StructuredResult(raw, JSON(raw)), nil
	}
	return NewResult(JSON(raw)), nil
}

// decodeInput reads one JSON value into v and says in a model's terms why it cannot.
func decodeInput(input json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		if wrong.Field == "" {
			return fmt.Errorf("the arguments must be an object, not a JSON %s", wrong.Value)
		}
		return fmt.Errorf("argument %q cannot be a JSON %s: it takes %s", wrong.Field, wrong.Value, wrong.Type)
	}
	if err != nil {
		return fmt.Errorf("bad arguments: %w", err)
	}
	return nil
}
