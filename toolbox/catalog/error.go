package catalog

import (
	"encoding/json"
	"errors"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/schema/validate"
	"github.com/indusagi/indus/toolbox"
)

// The codes of what goes wrong here. What stands behind may have others.
const (
	// NotFound: there is no operation of that name, or none that the caller may call.
	NotFound = "NOT_FOUND"
	// InvalidInput: the tool or the operation was called with what does not fit. Nothing has run.
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

// Error is how a call ended that has no result, in the words for models.
type Error struct {
	Code string `json:"code"`
	// Message is for people and models.
	Message string `json:"message"`
	// Retryable: the same call may succeed later, and making it twice does no harm.
	Retryable bool `json:"retryable"`
	// Details are for programs; nil: there are none.
	Details json.RawMessage `json:"details,omitempty"`

	own json.RawMessage // a server's own error object, which stands in the place of all this
}

// serverError is an error that a server answered: [interop.RPCError] is one.
type serverError interface {
	error
	// Object is the JSON-RPC error object: code, message and data.
	Object() json.RawMessage
}

// Error is the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// details are those of our own errors.
type details struct {
	Operation string `json:"operation,omitempty"`
	// Nearest are names that may be meant, of those that the caller may find.
	Nearest []string `json:"nearest,omitempty"`
	// Problems are what is wrong with the input, and More how many others there are.
	Problems []validate.Problem `json:"problems,omitempty"`
	More     int                `json:"more,omitempty"`
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
	e.Details = encodeJSON(details{Operation: name, Nearest: nearest})
	return e
}

func invalidInput(message string) *Error {
	return &Error{Code: InvalidInput, Message: message}
}

// result is the error as the result of a tool that failed.
func (e *Error) result() *toolbox.Result {
	if wire.Valid(e.own) {
		return structured(e.own, true)
	}
	sound := *e
	if !wire.Valid(sound.Details) {
		sound.Details = nil
	}
	return structured(encodeJSON(&sound), true)
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

// asError is what a batch says of an error that is none of ours.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[serverError](err); ok {
		return &Error{own: e.Object()}
	}
	return &Error{Code: Unavailable, Message: protocol.Printable(err.Error(), maxMessage)}
}
