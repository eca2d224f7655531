package operation

import "github.com/indusagi/indus/internal/failure"

// Code says what went wrong. It is an error itself, so that errors.Is(err, operation.NotFound)
// asks for one.
type Code = failure.Code

// The codes of the protocol. They mean the same for every operation, and no operation
// may declare one.
const (
	// NotFound: there is no such operation, or none that can be called from there.
	NotFound = failure.NotFound
	// Forbidden: the caller has not the rights. Nothing has run, and the input was not looked at.
	Forbidden Code = "FORBIDDEN"
	// InvalidInput: the input does not fit the schema. Nothing has run.
	InvalidInput = failure.InvalidInput
	// InternalError: the operation broke its own promise: a panic, an error that it
	// does not declare, a value that does not fit its schema.
	InternalError Code = "INTERNAL"
	// Timeout: the deadline has passed, the operation's or the caller's, or what the
	// operation waited for took too long.
	Timeout = failure.Timeout
	// Canceled: the caller gave up.
	Canceled = failure.Canceled
)

// protocolCodes are those that no operation may declare.
var protocolCodes = []Code{NotFound, Forbidden, InvalidInput, InternalError, Timeout, Canceled}

// Error is how a call ended that has no value. Handlers return one whose code their
// Spec declares; of any other error the caller gets an [InternalError]. It answers errors.Is
// for its code.
type Error = failure.Error

// Details are the details of an error with one of the protocol's codes.
type Details = failure.Details

// refusal is an error of the protocol.
func refusal(code Code, message string, details Details) *Error {
	return &Error{Code: code, Message: message, Details: details.Encode()}
}
