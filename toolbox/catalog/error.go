package catalog

import (
	"encoding/json"
	"errors"

	"github.com/indusagi/indus/internal/failure"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// Error is how a call ended that has no result. It is the same type as operation.Error.
type Error = failure.Error

// The codes of what goes wrong here. The operations may have others.
const (
	// NotFound: there is no operation of that name, or none that the caller may call.
	NotFound = "NOT_FOUND"
	// InvalidInput: the input does not fit the tool or the operation. Nothing has run.
	InvalidInput = "INVALID_INPUT"
	// Unavailable: the operation gave no result. It may have run.
	Unavailable = "UNAVAILABLE"
	// Timeout: the deadline has passed.
	Timeout = "TIMEOUT"
	// Canceled: the caller gave up.
	Canceled = "CANCELED"
	// TooLarge: the result is more than a batch can hold beside the others. The operation has run.
	TooLarge = "RESULT_TOO_LARGE"
)

// serverError is an error that a server answered: [interop.RPCError] is one.
type serverError interface {
	error
	// Object is the JSON-RPC error object: code, message and data.
	Object() json.RawMessage
}

// notFound says that there is no operation of that name, and which may be meant.
func notFound(name string, nearest []string) *Error {
	e := &Error{Code: NotFound, Message: "there is no operation of that name"}
	if len(nearest) > 0 {
		e.Message += "; the details have the nearest ones"
	}
	if len(name) > maxName {
		name = "" // no operation has such a name, and nobody wants it back
	}
	e.Details = failure.Details{Operation: name, Nearest: nearest}.Encode()
	return e
}

func invalidInput(message string) *Error {
	return &Error{Code: InvalidInput, Message: message}
}

// failed is an error as the result of a tool that failed.
func failed(e *Error) *toolbox.Result {
	valid := *e
	if !wire.Valid(valid.Details) {
		valid.Details = nil
	}
	return structured(encodeJSON(&valid), true)
}

// failedAnyhow is what a batch answers for an error of any kind: of a server its own error
// object.
func failedAnyhow(err error) *toolbox.Result {
	if e, ok := errors.AsType[*Error](err); ok {
		return failed(e)
	}
	if e, ok := errors.AsType[serverError](err); ok && wire.Valid(e.Object()) {
		return structured(e.Object(), true)
	}
	return failed(&Error{Code: Unavailable, Message: protocol.Printable(err.Error(), maxMessage)})
}

// structured is a result that has one JSON value, for programs and, as text, for
// clients that read only that.
func structured(value json.RawMessage, isError bool) *toolbox.Result {
	if !isError {
		return toolbox.StructuredResult(value, toolbox.JSON(value))
	}
	return toolbox.WireResult(toolbox.Wire{}, func(toolbox.Wire) toolbox.Decoded {
		return toolbox.Decoded{Blocks: []toolbox.Block{toolbox.JSON(value)}, Structured: value, IsError: true}
	})
}
