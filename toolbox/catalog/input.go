package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// input is one call that a model asks for.
type input struct {
	operation string
	input     json.RawMessage
}

// of is the call of the operation, made for whoever made c.
func (in input) of(c toolbox.Call) toolbox.Call {
	c.Name, c.Input = in.operation, in.input
	if c.Wire.IsZero() {
		return c
	}
	params, err := wire.Rewrite(c.Wire.JSON,
		wire.Edit{Key: "name", Value: wire.Quote(in.operation)}, wire.Edit{Key: "arguments", Value: in.input})
	if err != nil {
		c.Wire = toolbox.Wire{} // it was no request's
		return c
	}
	c.Wire.JSON = params
	return c
}

// fields are the members of an input, which has no others than these. An error is an [*Error].
func fields(raw json.RawMessage, what string, known ...string) (map[string]json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if !wire.Valid(raw) {
		return nil, invalid("the input of " + what + " is not JSON")
	}
	members, err := wire.Members(raw)
	if err != nil {
		return nil, invalid(what + " takes an object with " + strings.Join(known, " and "))
	}
	if err := wire.Unique(members); err != nil {
		return nil, invalid(what + ": a name stands twice in the input")
	}
	got := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		if !slices.Contains(known, m.Key) {
			return nil, invalid(fmt.Sprintf("%s does not know %q; it takes %s", what, protocol.Printable(m.Key, maxWord), strings.Join(known, " and ")))
		}
		if string(m.Value) != "null" {
			got[m.Key] = m.Value
		}
	}
	return got, nil
}

// text is a member that is a string, which has to be there.
func text(got map[string]json.RawMessage, what, key string) (string, error) {
	s, ok := wire.Unquote(got[key])
	if !ok {
		return "", invalid(what + " needs " + key + ", a string")
	}
	return s, nil
}

type searchInput struct {
	query string
	limit int
}

func (t *tools) readSearch(raw json.RawMessage) (in searchInput, err error) {
	what := t.prefix + "search"
	got, err := fields(raw, what, "query", "limit")
	if err != nil {
		return in, err
	}
	in.limit = DefaultLimit
	if limit, ok := got["limit"]; ok {
		var n float64
		if json.Unmarshal(limit, &n) != nil || n != float64(int32(n)) || n < 1 {
			return in, invalid(what + ": limit is a number from 1 to 50")
		}
		in.limit = min(int(n), MaxLimit)
	}
	in.query, err = text(got, what, "query")
	return in, err
}

func (t *tools) readSchema(raw json.RawMessage) (name string, whole bool, err error) {
	what := t.prefix + "schema"
	got, err := fields(raw, what, "name", "whole")
	if err != nil {
		return "", false, err
	}
	if v := string(got["whole"]); v != "" && v != "true" && v != "false" {
		return "", false, invalid(what + ": whole is true or false")
	}
	name, err = text(got, what, "name")
	return name, string(got["whole"]) == "true", err
}

func (t *tools) readCall(raw json.RawMessage) (input, error) {
	return readInput(raw, t.prefix+"call")
}

func readInput(raw json.RawMessage, what string) (in input, err error) {
	got, err := fields(raw, what, "operation", "input")
	if err != nil {
		return in, err
	}
	if in.operation, err = text(got, what, "operation"); err != nil {
		return in, err
	}
	if in.input = got["input"]; in.input == nil {
		in.input = json.RawMessage("{}")
	}
	return in, nil
}

// readBatch reads the calls of a batch. One that makes no sense is its own failure, not the others'.
func (t *tools) readBatch(raw json.RawMessage) ([]request, error) {
	what := t.prefix + "batch"
	got, err := fields(raw, what, "calls")
	if err != nil {
		return nil, err
	}
	if inner, ok := held(got["calls"]); ok {
		got["calls"] = inner
	}
	list, err := wire.Elements(got["calls"])
	if err != nil || len(got["calls"]) == 0 {
		return nil, invalid(what + " needs calls, an array of objects with operation and input")
	}
	if len(list) > MaxBatch {
		return nil, invalid(fmt.Sprintf("%s takes %d calls at most, not %d", what, MaxBatch, len(list)))
	}
	calls := make([]request, len(list))
	for i, one := range list {
		if inner, ok := held(one); ok {
			one = inner
		}
		calls[i].input, calls[i].err = readInput(one, fmt.Sprintf("%s: call %d", what, i+1))
	}
	return calls, nil
}

// request is one call of a batch, or why it is none.
type request struct {
	input
	err error
}
