// Package failure is how a call ends that has no value: with an error that has a code, for
// programs and models. Packages operation and toolbox/catalog export it, each as its own Error.
package failure

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/schema/validate"
)

// Code says what went wrong. It is an error itself, so that errors.Is(err, operation.NotFound)
// asks for one.
type Code string

// The codes that both packages have.
const (
	NotFound     Code = "NOT_FOUND"
	InvalidInput Code = "INVALID_INPUT"
	Timeout      Code = "TIMEOUT"
	Canceled     Code = "CANCELED"
)

// Error implements error.
func (c Code) Error() string { return string(c) }

// Error is how a call ended that has no value.
type Error struct {
	Code Code `json:"code"`
	// Message is for people and models.
	Message string `json:"message"`
	// Retryable: the same call may succeed later, and making it twice does no harm.
	Retryable bool `json:"retryable"`
	// Details are for programs: of an error of ours the fields of [Details]. nil: there are none.
	Details json.RawMessage `json:"details,omitempty"`
}

// Details are the details of an error of ours.
type Details struct {
	// Operation is the name that was called.
	Operation string `json:"operation,omitempty"`
	// Nearest are the names, of those that the caller may call, that resemble it.
	Nearest []string `json:"nearest,omitempty"`
	// Missing are the rights that the caller lacks, one of each alternative.
	Missing []string `json:"missing,omitempty"`
	// Problems are what is wrong with the input or the value, and More how many others there are.
	Problems []validate.Problem `json:"problems,omitempty"`
	More     int                `json:"more,omitempty"`
	// Original is the error that an operation ended with and does not declare.
	Original *Error `json:"original,omitempty"`
}

// Encode is d as JSON; nil where it has none, as of names that are no UTF-8.
func (d Details) Encode() json.RawMessage {
	raw, err := text.JSON(d)
	if err != nil {
		return nil
	}
	return raw
}

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
