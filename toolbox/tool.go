package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// noArguments is the schema of a tool that declares none.
const noArguments = `{"type":"object","properties":{}}`

// Tool is a local tool: what a model is told of it, and the function it runs.
type Tool struct {
	// Name is unique in its [Registry]. Every model provider takes a letter
	// followed by at most 63 letters, digits, "_" and "-"; a [Box] does not show
	// a tool with any other name to a model.
	Name string
	// Description tells a model what the tool is for; "" is allowed.
	Description string
	// Schema is the JSON Schema of the input, one JSON object. nil: no arguments.
	Schema json.RawMessage
	// Run does the work. It may run in many goroutines at once and must end
	// soon after ctx does. input is what the caller sent, `{}` where that was
	// nothing or null. [Box.Run] has checked it against Schema, [Box.Do] has not. tc
	// is this call's own and ends with it.
	//
	// An error is shown to the caller as the result of a tool that ran and
	// failed; only ctx's own error ends the call as an error. A panic in Run's own
	// goroutine is caught and shown in the same way. A nil Result is an empty one.
	Run func(ctx context.Context, tc *Context, input json.RawMessage) (*Result, error)
}

// Check says what is wrong with a tool that [Registry.Add] would panic about.
func (t Tool) Check() error {
	switch {
	case t.Name == "":
		return errors.New("toolbox: a tool needs a name")
	case t.Run == nil:
		return fmt.Errorf("toolbox: tool %q has no Run", t.Name)
	case t.Schema != nil && !isObject(t.Schema):
		return fmt.Errorf("toolbox: the schema of tool %q is not a JSON object", t.Name)
	}
	return nil
}

// Define is a [Tool] whose input is decoded into an In before run sees it: a field
// that In has not, or a value that does not fit, is an error that tells a
// model what to mend. schema is JSON text, "" for no arguments.
func Define[In any](name, description, schema string, run func(context.Context, *Context, In) (*Result, error)) Tool {
	t := Tool{Name: name, Description: description}
	if schema != "" {
		t.Schema = json.RawMessage(schema)
	}
	t.Run = func(ctx context.Context, tc *Context, input json.RawMessage) (*Result, error) {
		var in In
		if err := decode(input, &in); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return run(ctx, tc, in)
	}
	return t
}

// decode reads one JSON value into v and says in a model's terms why it cannot.
func decode(input json.RawMessage, v any) error {
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

func isObject(raw json.RawMessage) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(raw)
}

func (t Tool) descriptor() Descriptor {
	schema := t.Schema
	if schema == nil {
		schema = json.RawMessage(noArguments)
	}
	return Descriptor{Name: t.Name, Description: t.Description, Tool: t.Name, Schema: schema}
}
