package operation

import "github.com/indusagi/indus/internal/failure"

// Code is an error code. It is also an error itself, for use with errors.Is: errors.Is(err, operation.NotFound).
type Code = failure.Code

// The codes of this package. They mean the same for every operation, and no operation may declare one of them.
const (
	// NotFound means that the operation does not exist, or cannot be called from there.
	NotFound = failure.NotFound
	// Forbidden means that the caller lacks rights. Nothing has run, and the input was not checked.
	Forbidden Code = "FORBIDDEN"
	// InvalidInput means that the input does not fit the schema. Nothing has run.
	InvalidInput = failure.InvalidInput
	// InternalError means that the operation broke its contract: a panic, an undeclared error, or a value that does not
	// fit the schema.
	InternalError Code = "INTERNAL"
	// Timeout means that a deadline has passed: the operation's, the caller's, or the deadline of something that the
	// operation waited for.
	Timeout = failure.Timeout
	// Canceled means that the caller gave up.
	Canceled = failure.Canceled
)

// protocolCodes are the codes that no operation may declare.
var protocolCodes = []Code{NotFound, Forbidden, InvalidInput, InternalError, Timeout, Canceled}

// Error is the outcome of a call without a value. Handlers return one with a code that their Spec declares. For any
// other error the caller gets an [InternalError]. It matches its code with errors.Is.
type Error = failure.Error

// Details are the details of an error with one of this package's codes.
type Details = failure.Details

// refusal returns an error with one of this package's codes.
func refusal(code Code, message string, details Details) *Error {
	return &Error{Code: code, Message: message, Details: details.Encode()}
}
