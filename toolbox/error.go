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
func Errorf(format string, args ...any) error { return &publicError{fmt.Errorf(format, args...)} }

// ErrorText returns the text of the [Errorf] in err's chain, and false if there is none.
func ErrorText(err error) (text string, ok bool) {
	public, ok := errors.AsType[*publicError](err)
	if ok {
		text = public.Error()
	}
	return text, ok
}

// publicError is an error with a text that a model may read.
type publicError struct{ error }

func (e *publicError) Unwrap() error { return e.error }
