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

// Tool is a local tool: its description for models, and the function that it runs.
type Tool struct {
	// Name is unique in its [Registry]. Every model provider accepts a letter followed by at most 63 letters,
	// digits, "_" and "-". A [Box] does not show a tool with any other name to models.
	Name string
	// Description explains to a model the purpose of the tool. It may be "".
	Description string
	// Title is a name for people. It may be "".
	Title string
	// Schema is the JSON Schema of the input, one JSON object. nil means no arguments. The tool does not run
	// with input that does not fit. An unusable schema checks nothing.
	Schema json.RawMessage
	// Output is the JSON Schema of the structured value, one JSON object. A result that does not fit, or has no
	// structured value, becomes a failure. nil means unknown.
	Output json.RawMessage
	// Annotations describe how the tool behaves. nil means unknown.
	Annotations *Annotations
	// Run does the work. It may run in many goroutines at once and must end soon after ctx does. input is the
	// caller's input, which fits Schema. Empty input and null are replaced by `{}`. tc belongs to this call and
	// ends with it.
	//
	// An error becomes the result of a tool that ran and failed; only ctx's own error ends the call as an error.
	// The caller reads the text of an [Errorf]. Any other error, and a panic in Run's own goroutine, is logged
	// ([Context].Logger), and the caller reads "internal error". A nil Result is an empty result.
	Run func(ctx context.Context, tc *Context, input json.RawMessage) (*Result, error)

	defect    error // in the types that it was defined over
	completes bool  // its input gets the schema's defaults, and its whole numbers become integers
}

// Annotations describe how a tool behaves. They are hints of its author, and no promise. For a nil pointer, MCP
// assumes a destructive tool in an open world.
type Annotations struct {
	// ReadOnly means that the tool changes nothing.
	ReadOnly bool `json:"readOnlyHint,omitempty"`
	// Destructive means that a change may lose data. It has no meaning if ReadOnly is true.
	Destructive *bool `json:"destructiveHint,omitempty"`
	// Idempotent means that a second call with the same arguments changes nothing more.
	Idempotent bool `json:"idempotentHint,omitempty"`
	// OpenWorld means that the tool reaches systems beyond this machine, the web for example.
	OpenWorld *bool `json:"openWorldHint,omitempty"`
}

// Check returns the error for which [Registry.Add] would panic, or nil.
func (t Tool) Check() error {
	switch {
	case t.Name == "":
		return errors.New("toolbox: a tool needs a name")
	case t.Run == nil:
		return fmt.Errorf("toolbox: tool %q has no Run", t.Name)
	case t.defect != nil:
		return fmt.Errorf("toolbox: tool %q: %w", t.Name, t.defect)
	case t.Schema != nil && !isObject(t.Schema):
		return fmt.Errorf("toolbox: the schema of tool %q is not a JSON object", t.Name)
	case t.Output != nil && !isObject(t.Output):
		return fmt.Errorf("toolbox: the output schema of tool %q is not a JSON object", t.Name)
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
	return Descriptor{
		Name: t.Name, Title: t.Title, Description: t.Description, Tool: t.Name,
		Schema: schema, Output: t.Output, Annotations: t.Annotations,
	}
}

// Errorf returns an error of a tool that the model may read: its text becomes the result of the call. Any other error
// of a tool is logged, and the caller reads "internal error", because its text may hold paths, addresses and secrets of
// this machine. The format works as in [fmt.Errorf], including %w.
//
//	if len(found) == 0 {
//		return nil, toolbox.Errorf("no order %q: list the orders first", in.Order)
//	}
func Errorf(format string, args ...any) error { return &publicError{fmt.Errorf(format, args...)} }

// ErrorText returns the text of the [Errorf] in err's chain, and false if there is none.
func ErrorText(err error) (text string, ok bool) {
	public, ok := errors.AsType[*publicError](err)
	if ok {
		text = public.Error()
	}
	return text, ok
}

// publicError is an error with a text that a model may read.
type publicError struct{ error }

func (e *publicError) Unwrap() error { return e.error }
