package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// Run is for models: it takes what a model wrote and gives what a model can read, and
// never an error. Loose input is put right and turned from what the model was shown into
// what the owner's schema asks for; if it does not fit that, an error says how to mend
// it. Then the call goes through Do, and the result is projected to one JSON value
// within the budget. See [Outcome].
//
// Tools whose schema cannot be used are not checked ([validate.New] says why), nor are
// those that are not listed yet.
func (b *Box) Run(ctx context.Context, c Call) Outcome {
	if err := ctx.Err(); err != nil {
		return b.failed(c, "Cancelled before "+c.Name+" could begin.", err)
	}
	input, err := coerce(c.Input)
	if err != nil {
		return b.failed(c, fmt.Sprintf("the arguments of %s are not JSON: %v", c.Name, err), err)
	}
	c.Input = input
	if f := b.tools.view(c.Caller).find(c.Name); f != nil {
		c.Input = f.restore(input)
		if err := f.check(c.Input, b.validates); err != nil {
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
	out.Output, out.Cut = project(r).within(b.budget)
	return out
}

func (b *Box) failed(c Call, text string, err error) Outcome {
	out := Outcome{ID: c.ID, Name: c.Name, IsError: true, Err: err}
	out.Output, out.Cut = textValue(text).within(b.budget)
	return out
}

// coerce puts right what models get wrong: an object or an array that they wrote as
// a string is parsed, and nothing at all, null or an empty string is {}. All else stays as
// it is, byte for byte. What is not JSON is an error, because it would break whatever
// wire it is put on.
func coerce(input json.RawMessage) (json.RawMessage, error) {
	input = orEmptyObject(input)
	if !json.Valid(input) {
		var v any
		return nil, json.Unmarshal(input, &v) // for the reason
	}
	if bytes.TrimLeft(input, jsonSpace)[0] != '"' {
		return input, nil
	}
	var s string
	if err := json.Unmarshal(input, &s); err != nil {
		return nil, err
	}
	held := []byte(s)
	switch trimmed := bytes.Trim(held, jsonSpace); {
	case len(trimmed) == 0:
		return json.RawMessage("{}"), nil
	case (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(held):
		return held, nil
	}
	return input, nil
}

const jsonSpace = " \t\r\n" // as JSON has it

func orEmptyObject(input json.RawMessage) json.RawMessage {
	if trimmed := bytes.Trim(input, jsonSpace); len(trimmed) == 0 || string(trimmed) == "null" {
		return json.RawMessage("{}")
	}
	return input
}
