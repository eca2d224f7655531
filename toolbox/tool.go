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

// Tool is a local tool: its description for models, and the function it runs.
type Tool struct {
	// Name is unique in its [Registry]. Every model provider takes a letter
	// followed by at most 63 letters, digits, "_" and "-"; a [Box] does not show
	// a tool with any other name to a model.
	Name string
	// Description tells a model what the tool is for; "" is allowed.
	Description string
	// Title is a name for people; "" is none.
	Title string
	// Schema is the JSON Schema of the input, one JSON object. nil: no arguments. What
	// does not fit it is never run. A schema that cannot be used checks nothing.
	Schema json.RawMessage
	// Output is the JSON Schema of the structured value, one JSON object. A result that does not fit
	// it, or has no structured value, becomes a failure. nil: not known.
	Output json.RawMessage
	// Annotations say how it behaves; nil: nobody said.
	Annotations *Annotations
	// Run does the work. It may run in many goroutines at once and must end
	// soon after ctx does. input is what the caller sent, `{}` where that was
	// nothing or null, and fits Schema. tc is this call's own and ends with it.
	//
	// An error becomes the result of a tool that ran and failed; only ctx's own error ends the call as an error.
	// The caller reads the text of an [Errorf]. Any other error, and a panic in Run's own goroutine, is logged
	// ([Context].Logger), and the caller reads "internal error". A nil Result is an empty one.
	Run func(ctx context.Context, tc *Context, input json.RawMessage) (*Result, error)

	defect    error // of the types that it was defined over
	completes bool  // its input gets the defaults of its schema, and its whole numbers become integers
}

// Annotations say how a tool behaves. They are hints of its author, and no promise.
// A nil pointer is what MCP assumes where nobody said: destructive, in an open world.
type Annotations struct {
	// ReadOnly: it changes nothing.
	ReadOnly bool `json:"readOnlyHint,omitempty"`
	// Destructive: what it changes may be lost. It means nothing where ReadOnly is true.
	Destructive *bool `json:"destructiveHint,omitempty"`
	// Idempotent: a second call with the same arguments changes nothing more.
	Idempotent bool `json:"idempotentHint,omitempty"`
	// OpenWorld: it reaches what is out of this machine's hands, the web for example.
	OpenWorld *bool `json:"openWorldHint,omitempty"`
}

// Check says what is wrong with a tool that [Registry.Add] would panic about.
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
