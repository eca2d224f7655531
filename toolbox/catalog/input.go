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

// toCall returns the call of the operation, with the caller and the other fields of c.
func (in callInput) toCall(c toolbox.Call) toolbox.Call {
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

// inputFields returns the members of an input, by name. A member that is not in known is an error. Every
// error is an [*Error].
func inputFields(raw json.RawMessage, subject string, known ...string) (map[string]json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if !wire.Valid(raw) {
		return nil, invalidInput("the input of " + subject + " is not JSON")
	}
	members, err := wire.Members(raw)
	if err != nil {
		return nil, invalidInput(subject + " takes an object with " + strings.Join(known, " and "))
	}
	if err := wire.Unique(members); err != nil {
		return nil, invalidInput(subject + ": a name stands twice in the input")
	}
	values := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		if !slices.Contains(known, m.Key) {
			return nil, invalidInput(fmt.Sprintf("%s does not know %q; it takes %s",
				subject, protocol.Printable(m.Key, maxShownName), strings.Join(known, " and ")))
		}
		if string(m.Value) != "null" {
			values[m.Key] = m.Value
		}
	}
	return values, nil
}

// stringMember returns a member, which must be a string. A missing member is an error.
func stringMember(values map[string]json.RawMessage, subject, key string) (string, error) {
	s, ok := wire.Unquote(values[key])
	if !ok {
		return "", invalidInput(subject + " needs " + key + ", a string")
	}
	return s, nil
}

type searchInput struct {
	query string
	limit int
}

func (t *metaTools) readSearch(raw json.RawMessage) (in searchInput, err error) {
	subject := t.opts.Prefix + "search"
	values, err := inputFields(raw, subject, "query", "limit")
	if err != nil {
		return in, err
	}
	in.limit = DefaultLimit
	if limit, ok := values["limit"]; ok {
		var n float64
		if json.Unmarshal(limit, &n) != nil || n != float64(int32(n)) || n < 1 {
			return in, invalidInput(subject + ": limit is a number from 1 to 50")
		}
		in.limit = min(int(n), MaxLimit)
	}
	in.query, err = stringMember(values, subject, "query")
	return in, err
}

func (t *metaTools) readSchema(raw json.RawMessage) (name string, full bool, err error) {
	subject := t.opts.Prefix + "schema"
	values, err := inputFields(raw, subject, "operation", "full")
	if err != nil {
		return "", false, err
	}
	if v := string(values["full"]); v != "" && v != "true" && v != "false" {
		return "", false, invalidInput(subject + ": full is true or false")
	}
	name, err = stringMember(values, subject, "operation")
	return name, string(values["full"]) == "true", err
}

func readInput(raw json.RawMessage, subject string) (in callInput, err error) {
	values, err := inputFields(raw, subject, "operation", "input")
	if err != nil {
		return in, err
	}
	if in.operation, err = stringMember(values, subject, "operation"); err != nil {
		return in, err
	}
	if in.input = values["input"]; in.input == nil {
		in.input = json.RawMessage("{}")
	}
	return in, nil
}

// readBatch reads the calls of a batch. An invalid call fails alone and does not affect the others.
func (t *metaTools) readBatch(raw json.RawMessage) ([]request, error) {
	subject := t.opts.Prefix + "batch"
	values, err := inputFields(raw, subject, "calls")
	if err != nil {
		return nil, err
	}
	if inner, ok := unquotedJSON(values["calls"]); ok {
		values["calls"] = inner
	}
	list, err := wire.Elements(values["calls"])
	if err != nil || len(values["calls"]) == 0 {
		return nil, invalidInput(subject + " needs calls, an array of objects with operation and input")
	}
	if len(list) > MaxBatch {
		return nil, invalidInput(fmt.Sprintf("%s takes %d calls at most, not %d", subject, MaxBatch, len(list)))
	}
	calls := make([]request, len(list))
	for i, item := range list {
		if inner, ok := unquotedJSON(item); ok {
			item = inner
		}
		calls[i].callInput, calls[i].err = readInput(item, fmt.Sprintf("%s: call %d", subject, i+1))
	}
	return calls, nil
}

// request is one call of a batch, or the error of an invalid one.
type request struct {
	callInput
	err error
}
