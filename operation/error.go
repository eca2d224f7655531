package operation

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/schema/validate"
)

// Code says what went wrong. It is an error itself, so that errors.Is(err, operation.NotFound)
// asks for one.
type Code string

// The codes of the protocol. They mean the same for every operation, and no operation
// may declare one.
const (
	// NotFound: there is no such operation, or none that can be called from there.
	NotFound Code = "NOT_FOUND"
	// Forbidden: the caller has not the rights. Nothing has run, and the input was not looked at.
	Forbidden Code = "FORBIDDEN"
	// InvalidInput: the input does not fit the schema. Nothing has run.
	InvalidInput Code = "INVALID_INPUT"
	// InternalError: the operation broke its own promise: a panic, an error that it
	// does not declare, a value that does not fit its schema.
	InternalError Code = "INTERNAL"
	// Timeout: the deadline has passed, the operation's or the caller's, or what the
	// operation waited for took too long.
	Timeout Code = "TIMEOUT"
	// Canceled: the caller gave up.
	Canceled Code = "CANCELED"
	// InvalidKind: a Subscription was called, or something else subscribed to.
	InvalidKind Code = "INVALID_OPERATION_TYPE"
)

// Error implements error.
func (c Code) Error() string { return string(c) }

// Protocol reports whether the code is one of the protocol's.
func (c Code) Protocol() bool {
	switch c {
	case NotFound, Forbidden, InvalidInput, InternalError, Timeout, Canceled, InvalidKind:
		return true
	}
	return false
}

// Error is how a call ended that has no value. Handlers return one whose code their
// Spec declares; of any other error the caller gets an [InternalError].
type Error struct {
	Code Code `json:"code"`
	// Message is for people.
	Message string `json:"message"`
	// Retryable: the same call may succeed later, and making it twice does no harm.
	Retryable bool `json:"retryable"`
	// Details are for programs: what the definition's schema says, and for the codes of
	// the protocol the fields of [Details]. nil: there are none.
	Details json.RawMessage `json:"details,omitempty"`
}

// Details are the details of an error with one of the protocol's codes.
type Details struct {
	// Operation is the name that was called.
	Operation string `json:"operation,omitempty"`
	// Nearest are the names, of those that the caller may call, that come near it.
	Nearest []string `json:"nearest,omitempty"`
	// Missing are the rights that the caller lacks, one of each alternative.
	Missing []string `json:"missing,omitempty"`
	// Problems are what is wrong with the input or the value.
	Problems []Problem `json:"problems,omitempty"`
	// More is how many other problems there are.
	More int `json:"more,omitempty"`
	// Original is the error that an operation ended with and does not declare.
	Original *Error `json:"original,omitempty"`
}

// Problem is one thing that is wrong with a value.
type Problem = validate.Problem

// Error is the code and the message.
func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return string(e.Code) + ": " + e.Message
}

// Is reports whether target is the error's code. A Timeout is context.DeadlineExceeded
// too, and a Canceled is context.Canceled.
func (e *Error) Is(target error) bool {
	if e == nil {
		return false
	}
	switch target {
	case error(e.Code):
		return true
	case context.DeadlineExceeded:
		return e.Code == Timeout
	case context.Canceled:
		return e.Code == Canceled
	}
	return false
}

// refusal is an error of the protocol. The details can always be encoded.
func refusal(code Code, message string, details Details) *Error {
	raw, err := json.Marshal(details)
	if err != nil {
		raw = nil
	}
	return &Error{Code: code, Message: message, Details: raw}
}
