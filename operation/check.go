package operation

import (
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/indusagi/indus/schema/validate"
)

// checkInput validates an input. If the validator cannot decide (too large, too much work), the input is refused. For
// leaves it is passed on, because the system behind them validates it.
func (r *Registry) checkInput(o *operation, input json.RawMessage) *Error {
	if !isJSON(input) {
		return refusal(InvalidInput, "the input is not one JSON value in UTF-8", Details{Operation: o.Spec.Name})
	}
	_ = o.compile(r.log) // for a leaf; other operations are already compiled, without an error
	err := o.input.Validate(input)
	invalid, isInvalid := errors.AsType[*validate.Error](err)
	switch {
	case err == nil || !isInvalid && o.Provenance.Leaf():
		return nil
	case !isInvalid:
		return refusal(InvalidInput, err.Error(), Details{Operation: o.Spec.Name})
	}
	return refusal(InvalidInput, invalid.Error(), Details{Operation: o.Spec.Name, Problems: invalid.Problems,
		More: invalid.More})
}

// checkValue returns a handler's value if it fits the output schema.
func (r *Registry) checkValue(o *operation, q request, value json.RawMessage) (json.RawMessage, error) {
	if value == nil {
		value = json.RawMessage("null")
	}
	if !isJSON(value) {
		return nil, r.contractError(q, "the operation gave a value that is not JSON in UTF-8", nil, nil)
	}
	if invalid, isInvalid := errors.AsType[*validate.Error](o.output.Validate(value)); isInvalid {
		return nil, r.contractError(q, "the operation gave a value that does not fit its schema", invalid, nil)
	}
	return value, nil
}

// declaredError returns an error with a declared code if its details fit the schema of that code.
func (r *Registry) declaredError(o *operation, q request, e Error) *Error {
	e.Retryable = e.Retryable || o.Spec.definition(e.Code).Retryable
	details := e.Details
	if details == nil {
		details = json.RawMessage("null")
	}
	invalid, isInvalid := errors.AsType[*validate.Error](o.details[e.Code].Validate(details))
	if isJSON(details) && !isInvalid {
		return &e
	}
	return r.contractError(q, "the details of "+strconv.Quote(string(e.Code))+" are not what the operation declares",
		invalid, encodable(e))
}

// contractError returns the error for an operation that broke its contract. It does not contain the operation's value.
func (r *Registry) contractError(q request, message string, invalid *validate.Error, original *Error) *Error {
	details := Details{Operation: q.Operation, Original: original}
	if invalid != nil {
		details.Problems, details.More = slices.Clone(invalid.Problems), invalid.More
		for i := range details.Problems {
			details.Problems[i].Got = ""
		}
	}
	r.log.Warn(message, slog.String("operation", q.Operation), slog.String("call", q.ID),
		slog.Int("problems", len(details.Problems)+details.More))
	return refusal(InternalError, message, details)
}

// encodable returns e without details that cannot be encoded.
func encodable(e Error) *Error {
	if !isJSON(e.Details) {
		e.Details = nil
	}
	return &e
}

func isJSON(raw json.RawMessage) bool { return json.Valid(raw) && utf8.Valid(raw) }
