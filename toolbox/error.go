package toolbox

import (
	"errors"
	"fmt"
)

// Errorf returns an error of a tool that the model may read: its text becomes the result of the call. Any other error
// of a tool is logged, and the caller reads "internal error", because its text may hold paths, addresses and secrets of
// this machine. The format works as in [fmt.Errorf], including %w.
//
//	if len(found) == 0 {
//		return nil, toolbox.Errorf("no order %q: list the orders first", in.Order)
//	}
func Errorf(format string, args ...any) error { return &spokenError{fmt.Errorf(format, args...)} }

// ErrorText returns the text of the [Errorf] in err's chain, and false if there is none.
func ErrorText(err error) (text string, ok bool) {
	spoken, ok := errors.AsType[*spokenError](err)
	if ok {
		text = spoken.Error()
	}
	return text, ok
}

// spokenError is an error with a text that a model may read.
type spokenError struct{ error }

func (e *spokenError) Unwrap() error { return e.error }
