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

// callInput is one call that a model requests.
type callInput struct {
	operation string
	input     json.RawMessage
}

// of returns the call of the operation, with the caller and the other fields of c.
func (in callInput) of(c toolbox.Call) toolbox.Call {
	c.Name, c.Input = in.operation, in.input
	if c.Wire.IsZero() {
		return c
	}
	params, err := wire.Rewrite(c.Wire.JSON,
		wire.Edit{Key: "name", Value: wire.Quote(in.operation)}, wire.Edit{Key: "arguments", Value: in.input})
	if err != nil {
		c.Wire = toolbox.Wire{} // it holds no params of a request
		return c
	}
	c.Wire.JSON = params
	return c
}

// fields returns the members of an input, by name. A member that is not in known is an error. Every
// error is an [*Error].
func fields(raw json.RawMessage, what string, known ...string) (map[string]json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if !wire.Valid(raw) {
		return nil, invalidInput("the input of " + what + " is not JSON")
	}
	members, err := wire.Members(raw)
	if err != nil {
		return nil, invalidInput(what + " takes an object with " + strings.Join(known, " and "))
	}
	if err := wire.Unique(members); err != nil {
		return nil, invalidInput(what + ": a name stands twice in the input")
	}
	got := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		if !slices.Contains(known, m.Key) {
			return nil, invalidInput(fmt.Sprintf("%s does not know %q; it takes %s", what, protocol.Printable(m.Key, maxShownName), strings.Join(known, " and ")))
		}
		if string(m.Value) != "null" {
			got[m.Key] = m.Value
		}
	}
	return got, nil
}

// stringMember returns a member, which must be a string. A missing member is an error.
func stringMember(got map[string]json.RawMessage, what, key string) (string, error) {
	s, ok := wire.Unquote(got[key])
	if !ok {
		return "", invalidInput(what + " needs " + key + ", a string")
	}
	return s, nil
}

type searchInput struct {
	query string
	limit int
}

func (t *metaTools) readSearch(raw json.RawMessage) (in searchInput, err error) {
	what := t.prefix + "search"
	got, err := fields(raw, what, "query", "limit")
	if err != nil {
		return in, err
	}
	in.limit = DefaultLimit
	if limit, ok := got["limit"]; ok {
		var n float64
		if json.Unmarshal(limit, &n) != nil || n != float64(int32(n)) || n < 1 {
			return in, invalidInput(what + ": limit is a number from 1 to 50")
		}
		in.limit = min(int(n), MaxLimit)
	}
	in.query, err = stringMember(got, what, "query")
	return in, err
}

func (t *metaTools) readSchema(raw json.RawMessage) (name string, full bool, err error) {
	what := t.prefix + "schema"
	got, err := fields(raw, what, "operation", "full")
	if err != nil {
		return "", false, err
	}
	if v := string(got["full"]); v != "" && v != "true" && v != "false" {
		return "", false, invalidInput(what + ": full is true or false")
	}
	name, err = stringMember(got, what, "operation")
	return name, string(got["full"]) == "true", err
}

func readInput(raw json.RawMessage, what string) (in callInput, err error) {
	got, err := fields(raw, what, "operation", "input")
	if err != nil {
		return in, err
	}
	if in.operation, err = stringMember(got, what, "operation"); err != nil {
		return in, err
	}
	if in.input = got["input"]; in.input == nil {
		in.input = json.RawMessage("{}")
	}
	return in, nil
}

// readBatch reads the calls of a batch. An invalid call fails alone and does not affect the others.
func (t *metaTools) readBatch(raw json.RawMessage) ([]request, error) {
	what := t.prefix + "batch"
	got, err := fields(raw, what, "calls")
	if err != nil {
		return nil, err
	}
	if inner, ok := unquotedJSON(got["calls"]); ok {
		got["calls"] = inner
	}
	list, err := wire.Elements(got["calls"])
	if err != nil || len(got["calls"]) == 0 {
		return nil, invalidInput(what + " needs calls, an array of objects with operation and input")
	}
	if len(list) > MaxBatch {
		return nil, invalidInput(fmt.Sprintf("%s takes %d calls at most, not %d", what, MaxBatch, len(list)))
	}
	calls := make([]request, len(list))
	for i, one := range list {
		if inner, ok := unquotedJSON(one); ok {
			one = inner
		}
		calls[i].callInput, calls[i].err = readInput(one, fmt.Sprintf("%s: call %d", what, i+1))
	}
	return calls, nil
}

// request is one call of a batch, or the error of an invalid one.
type request struct {
	callInput
	err error
}
