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

// Define returns a [Tool] over Go types. Its input schema comes from In. If Out is a struct or a map, its output schema
// comes from Out. Package infer documents the struct tags that describe them. In is a struct or a map; struct{} means
// no arguments.
//
//	type Sum struct {
//		A int `json:"a" jsonschema_description:"The first number."`
//		B int `json:"b"`
//	}
//
//	toolbox.Define("sum", "Adds two numbers.", func(_ context.Context, in Sum) (int, error) { return in.A + in.B, nil })
//
// The value that run returns becomes the result. A [*Result] stays unchanged. A string, a [Block] or a slice of blocks
// becomes the content. A struct or a map becomes JSON and the structured value. Any other value becomes JSON. An error
// becomes the result of a tool that ran and failed. Use [Errorf] for errors that the caller may read.
//
// The fields of the Tool may be set before it is added, for example Title, Annotations or a handwritten Schema. In run,
// [ContextOf] returns the context with the files that the tool may use. If JSON cannot represent a type, [Tool.Check]
// returns an error.
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

// ContextOf returns the [Context] of the call to which ctx belongs, inside a tool. Anywhere else it returns a context
// that refuses everything.
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

// decodeInput decodes one JSON value into v. Its errors are written for a model.
func decodeInput(input json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if mismatch := (*json.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
		if mismatch.Field == "" {
			return fmt.Errorf("the arguments must be an object, not a JSON %s", mismatch.Value)
		}
		return fmt.Errorf("argument %q cannot be a JSON %s: it takes %s", mismatch.Field, mismatch.Value, mismatch.Type)
	}
	if err != nil {
		return fmt.Errorf("bad arguments: %w", err)
	}
	return nil
}
