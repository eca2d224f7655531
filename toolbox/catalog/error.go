package catalog

import (
	"encoding/json"
	"errors"

	"github.com/indusagi/indus/internal/failure"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// Error is the error of a call that has no result. It is the same type as operation.Error.
type Error = failure.Error

// The codes of this package's errors. Operations may have other codes.
const (
	// NotFound means that there is no operation of that name that the caller may call.
	NotFound = "NOT_FOUND"
	// InvalidInput means that the input does not fit the tool or the operation. Nothing has run.
	InvalidInput = "INVALID_INPUT"
	// Unavailable means that the operation returned no result. It may have run.
	Unavailable = "UNAVAILABLE"
	// Timeout means that the deadline has passed.
	Timeout = "TIMEOUT"
	// Canceled means that the caller canceled the call.
	Canceled = "CANCELED"
	// TooLarge means that the result does not fit into the batch beside the others. The operation
	// has run.
	TooLarge = "RESULT_TOO_LARGE"
)

// serverError is an error that a server returned, for example an [interop.RPCError].
type serverError interface {
	error
	// Object returns the JSON-RPC error object: code, message and data.
	Object() json.RawMessage
}

// notFound returns the error for an unknown name, with similar names.
func notFound(name string, nearest []string) *Error {
	e := &Error{Code: NotFound, Message: "there is no operation of that name"}
	if len(nearest) > 0 {
		e.Message += "; the details have the nearest ones"
	}
	if len(name) > maxName {
		name = "" // no operation has such a name, so it is not repeated
	}
	e.Details = failure.Details{Operation: name, Nearest: nearest}.Encode()
	return e
}

func invalidInput(message string) *Error {
	return &Error{Code: InvalidInput, Message: message}
}

// resultOfError returns an error as the result of a tool that failed.
func resultOfError(e *Error) *toolbox.Result {
	valid := *e
	if !wire.Valid(valid.Details) {
		valid.Details = nil
	}
	return structuredResult(encodeJSON(&valid), true)
}

// resultOfAnyError returns the answer of a batch for an error of any kind. For an error of a server it
// is the server's error object.
func resultOfAnyError(err error) *toolbox.Result {
	if e, ok := errors.AsType[*Error](err); ok {
		return resultOfError(e)
	}
	if e, ok := errors.AsType[serverError](err); ok && wire.Valid(e.Object()) {
		return structuredResult(e.Object(), true)
	}
	return resultOfError(&Error{Code: Unavailable, Message: protocol.Printable(err.Error(), maxMessage)})
}

// structuredResult returns a result with one JSON value. It is the structured value for programs, and a
// text block for clients that read only text.
func structuredResult(value json.RawMessage, isError bool) *toolbox.Result {
	return toolbox.WireResult(toolbox.Wire{}, func(toolbox.Wire) toolbox.Decoded {
		return toolbox.Decoded{Blocks: []toolbox.Block{toolbox.JSON(value)}, Structured: value, IsError: isError}
	})
}
