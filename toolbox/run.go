package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// Run calls a tool for a model. It takes the input as the model wrote it, and returns an outcome
// that a model can read, never an error. It corrects loose input, and converts it from the schema
// that the model saw to the owner's schema. If the input does not fit the owner's schema, strings
// that hold the JSON of the expected type become that value, and null for an optional property is left
// out. If it still does not fit, the outcome explains how to correct it. Then the call goes through Do,
// and the result is projected to one JSON value within the budget. See [Outcome].
//
// Run does not check calls of tools with an unusable schema (see [validate.New]), or of tools that
// are not listed yet.
func (b *Box) Run(ctx context.Context, c Call) Outcome {
	if err := ctx.Err(); err != nil {
		return b.failed(c, "Cancelled before "+c.Name+" could begin.", err)
	}
	input, err := coerce(c.Input)
	if err != nil {
		return b.failed(c, fmt.Sprintf("the arguments of %s are not JSON: %v", c.Name, err), err)
	}
	c.Input = input
	v := b.tools.view(c.Caller)
	if _, known := v.tools[c.Name]; !known {
		if d, ok := v.all.Named(c.Name); ok {
			c.Name = d.Name
		}
	}
	if f := v.tools[c.Name].model; f != nil {
		if c.Input, err = f.owners(input, !b.opts.Unvalidated); err != nil {
			return b.failed(c, fmt.Sprintf("the arguments of %s do not fit:\n%v", c.Name, err), err)
		}
	}
	r, err := b.Do(ctx, c)
	if err != nil {
		return b.failed(c, err.Error(), err)
	}
	if r == nil {
		r = NewResult()
	}
	if err := r.Err(); err != nil {
		return b.failed(c, err.Error(), err)
	}
	out := Outcome{ID: c.ID, Name: c.Name, IsError: r.IsError(), Result: r}
	out.Output, out.Cut = project(r).within(b.opts.Budget)
	return out
}

func (b *Box) failed(c Call, text string, err error) Outcome {
	out := Outcome{ID: c.ID, Name: c.Name, IsError: true, Err: err}
	out.Output, out.Cut = textValue(text).within(b.opts.Budget)
	return out
}

// coerce corrects common mistakes of models. It parses an object or an array that was written as a
// string. Empty input, null and an empty string become {}. All other input stays the same, byte for
// byte. Input that is not JSON is an error, because it would break the message that carries it.
func coerce(input json.RawMessage) (json.RawMessage, error) {
	input = orEmptyObject(input)
	if !json.Valid(input) {
		var v any
		return nil, json.Unmarshal(input, &v) // for the error
	}
	if bytes.TrimLeft(input, jsonSpace)[0] != '"' {
		return input, nil
	}
	var s string
	if err := json.Unmarshal(input, &s); err != nil {
		return nil, err
	}
	inner := []byte(s)
	switch trimmed := bytes.Trim(inner, jsonSpace); {
	case len(trimmed) == 0:
		return json.RawMessage("{}"), nil
	case (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(inner):
		return inner, nil
	}
	return input, nil
}

const jsonSpace = " \t\r\n" // the whitespace of JSON

func orEmptyObject(input json.RawMessage) json.RawMessage {
	if trimmed := bytes.Trim(input, jsonSpace); len(trimmed) == 0 || string(trimmed) == "null" {
		return json.RawMessage("{}")
	}
	return input
}
