// Package failure has the error of a call that returns no value. Its code is for programs and
// models. Packages operation and toolbox/catalog export it, each as its own Error.
package failure

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/schema/validate"
)

// Code is the reason of a failure. It is an error itself, so that errors.Is(err,
// operation.NotFound) works.
type Code string

// These codes are common to both packages.
const (
	NotFound     Code = "NOT_FOUND"
	InvalidInput Code = "INVALID_INPUT"
	Timeout      Code = "TIMEOUT"
	Canceled     Code = "CANCELED"
)

// Error implements error.
func (c Code) Error() string { return string(c) }

// Error is the error of a call that returned no value.
type Error struct {
	Code Code `json:"code"`
	// Message is for people and models.
	Message string `json:"message"`
	// Retryable reports that the same call may succeed later, and that a second call does no harm.
	Retryable bool `json:"retryable"`
	// Details are for programs. An error of indus has the fields of [Details]. If it is nil, there
	// are no details.
	Details json.RawMessage `json:"details,omitempty"`
}

// Details holds the details of an error of indus.
type Details struct {
	// Operation is the name in the call.
	Operation string `json:"operation,omitempty"`
	// Nearest lists the similar names that the caller may call.
	Nearest []string `json:"nearest,omitempty"`
	// Missing lists the rights that the caller lacks, one of each alternative.
	Missing []string `json:"missing,omitempty"`
	// Problems lists faults in the input or the value. More is the number of further problems.
	Problems []validate.Problem `json:"problems,omitempty"`
	More     int                `json:"more,omitempty"`
	// Original is the error of an operation that does not declare it.
	Original *Error `json:"original,omitempty"`
}

// Encode returns d as JSON. It returns nil if d cannot be encoded, as with names that are not
// UTF-8.
func (d Details) Encode() json.RawMessage {
	raw, err := text.JSON(d)
	if err != nil {
		return nil
	}
	return raw
}

// Error returns the code and the message.
func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return string(e.Code) + ": " + e.Message
}

// Is reports whether target is the error's code. A Timeout is context.DeadlineExceeded too, and a
// Canceled is context.Canceled.
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
