package approval

import (
	"errors"
	"fmt"
)

// The errors of [Book.Decide] and [Book.Item]. Their texts name the item and the details.
var (
	ErrUnknown   = errors.New("there is no such approval")
	ErrExpired   = errors.New("it has expired")
	ErrDecided   = errors.New("it is decided already")
	ErrRequester = errors.New("another person than the caller has to decide")
	ErrNotCaller = errors.New("only the caller may allow it")
)

// LimitError means that too many items are open.
type LimitError struct {
	// Principal is the caller whose limit is reached. If All is set, the limit of all callers is reached.
	Principal string
	All       bool
	Limit     int
}

// Error implements error.
func (e *LimitError) Error() string {
	if e.All {
		return fmt.Sprintf("%d calls wait for approval, which is the most: decide some, or let them expire", e.Limit)
	}
	return fmt.Sprintf("%d calls of this caller wait for approval, which is the most: decide some, or let them expire",
		e.Limit)
}
