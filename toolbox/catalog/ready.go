package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/indusagi/indus/internal/failure"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/schema/validate"
	"github.com/indusagi/indus/toolbox"
)

// prepareCall returns a call with its input corrected and, if validation is on, checked. Without
// validation most inputs need no correction, and then the operation is not looked up.
func (t *metaTools) prepareCall(ctx context.Context, c toolbox.Call) (toolbox.Call, error) {
	if t.opts.Unvalidated && !mayNeedCorrection(c.Input) {
		return c, nil
	}
	v, err := t.view(ctx, c.Caller)
	if err != nil {
		return c, err
	}
	at, ok := v.find(c.Name)
	if !ok {
		return c, nil // the call itself reports the error
	}
	if corrected := correctInput(c.Input, v.List.operations[at].Input); corrected != nil {
		c = callInput{c.Name, corrected}.toCall(c)
	}
	if t.opts.Unvalidated {
		return c, nil
	}
	return c, v.List.check(at, c.Input)
}

// mayNeedCorrection reports whether the input or a member of it is a string that holds an object or an
// array.
func mayNeedCorrection(raw json.RawMessage) bool {
	if _, ok := unquotedJSON(raw); ok {
		return true
	}
	members, err := wire.Members(raw)
	if err != nil {
		return false
	}
	for _, m := range members {
		if _, ok := unquotedJSON(m.Value); ok {
			return true
		}
	}
	return false
}

// unquotedJSON returns the object or the array that a string holds.
func unquotedJSON(raw json.RawMessage) (json.RawMessage, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return nil, false
	}
	text, _ := wire.Unquote(raw)
	inner := bytes.Trim([]byte(text), " \t\r\n")
	return inner, len(inner) > 0 && (inner[0] == '{' || inner[0] == '[') && wire.Valid(inner)
}

// correctInput parses an object or an array that was written as a string, either the whole input or a
// member of it. Models make this mistake, and strict function calling forces it. correctInput does so only
// if the schema accepts no other type there. It returns nil if there is nothing to correct.
func correctInput(raw, schema json.RawMessage) json.RawMessage {
	inner, whole := unquotedJSON(raw)
	if whole && !accepts(schema, inner) {
		return nil
	}
	if whole && inner[0] == '[' {
		return inner
	}
	if whole {
		raw = inner
	}
	properties, _ := wire.Lookup(schema, "properties")
	members, _ := wire.Members(raw)
	var edits []wire.Edit
	for _, m := range members {
		if inner, ok := unquotedJSON(m.Value); ok {
			if property, _ := wire.Lookup(properties, m.Key); accepts(property, inner) {
				edits = append(edits, wire.Edit{Key: m.Key, Value: inner})
			}
		}
	}
	corrected, err := wire.Rewrite(raw, edits...)
	if err != nil || !whole && len(edits) == 0 {
		return nil
	}
	return corrected
}

// accepts reports whether a schema accepts only values of the type of inner.
func accepts(schema, inner json.RawMessage) bool {
	kind, _ := protocol.LookupString(schema, "type")
	return kind == "object" && inner[0] == '{' || kind == "array" && inner[0] == '['
}

// check returns an error if an input does not fit its schema.
func (l *List) check(place int, raw json.RawMessage) error {
	mismatch, ok := errors.AsType[*validate.Error](l.validator(place).Validate(raw))
	if !ok {
		return nil
	}
	d := failure.Details{Operation: l.operations[place].Name, Problems: mismatch.Problems, More: mismatch.More}
	return &Error{Code: InvalidInput, Message: mismatch.Error(), Details: d.Encode()}
}

// validator returns the validator of an operation, which is made at its first call. An unusable
// schema checks nothing.
func (l *List) validator(place int) *validate.Validator {
	if v, ok := l.validators.Load(place); ok {
		return v.(*validate.Validator)
	}
	v, _ := validate.New(l.operations[place].Input)
	l.validators.Store(place, v)
	return v
}
