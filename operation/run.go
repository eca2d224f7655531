package operation

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"
)

// call runs a request and returns its outcome.
func (r *Registry) call(ctx context.Context, q request) Envelope {
	o, rejected := r.admit(&q)
	if rejected != nil {
		return Envelope{ID: q.ID, Err: rejected}
	}
	defer o.end()
	ctx, cancel := r.withTimeout(ctx, o)
	defer cancel()
	if ctx.Err() != nil {
		return Envelope{ID: q.ID, Err: r.outcome(ctx, o, q, ctx.Err())}
	}
	c := &Context{registry: r, operation: o, request: q}
	defer c.ended.Store(true)
	value, err := r.handle(ctx, o, c, q.Input)
	if err == nil {
		value, err = r.checkValue(o, q, value)
	}
	if err != nil {
		return Envelope{ID: q.ID, Err: r.outcome(ctx, o, q, err)}
	}
	return Envelope{ID: q.ID, Value: value}
}

func (r *Registry) withTimeout(ctx context.Context, o *operation) (context.Context, context.CancelFunc) {
	limit := o.Timeout
	if limit == 0 {
		limit = r.timeout
	}
	if limit < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// handle runs the handler and converts a panic to an error, so that one operation cannot end the program.
func (r *Registry) handle(ctx context.Context, o *operation, c *Context, input json.RawMessage) (value json.RawMessage,
	err error) {
	defer func() {
		if v := recover(); v != nil {
			value, err = nil, r.panicError(o, c.request, v)
		}
	}()
	return o.Handler(ctx, c, input)
}

// panicError logs a panic. The caller learns only that the operation panicked.
func (r *Registry) panicError(o *operation, q request, v any) error {
	r.log.Error("an operation panicked", slog.String("operation", o.Spec.Name), slog.String("call", q.ID),
		slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	return &Error{Code: InternalError, Message: "the operation panicked"}
}

// outcome converts an error to the caller's error. The methods of an error may panic.
func (r *Registry) outcome(ctx context.Context, o *operation, q request, err error) (e *Error) {
	defer func() {
		if recover() != nil {
			e = refusal(InternalError, "the operation failed", Details{Operation: o.Spec.Name})
		}
	}()
	return r.convertError(ctx, o, q, err)
}

func (r *Registry) convertError(ctx context.Context, o *operation, q request, err error) *Error {
	if decodeErr, ok := err.(*decodeError); ok {
		return decodeErr.refusal(o.Spec.Name)
	}
	opErr, ok := errors.AsType[*Error](err)
	switch {
	case ok && opErr != nil && o.Spec.definition(opErr.Code) != nil:
		return r.declaredError(o, q, *opErr)
	case endedBy(ctx, err, context.DeadlineExceeded):
		return o.timeoutError("the deadline has passed")
	case endedBy(ctx, err, context.Canceled):
		return refusal(Canceled, "the caller gave up", Details{Operation: o.Spec.Name})
	case ok && opErr != nil && opErr.Code == InternalError:
		return encodable(*opErr)
	case ok && opErr != nil:
		return refusal(InternalError, "the operation ended with an error that it does not declare",
			Details{Operation: o.Spec.Name, Original: encodable(*opErr)})
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded):
		return o.timeoutError("what the operation waited for took too long")
	}
	r.log.Error("an operation failed", slog.String("operation", o.Spec.Name), slog.String("call", q.ID),
		slog.String("err", err.Error()))
	return refusal(InternalError, "internal error", Details{Operation: o.Spec.Name})
}

// endedBy reports whether err only states that ctx ended for that reason.
func endedBy(ctx context.Context, err, reason error) bool {
	return ctx.Err() != nil && errors.Is(ctx.Err(), reason) && (errors.Is(err, reason) ||
		errors.Is(err, context.Cause(ctx)))
}

// timeoutError returns a Timeout. It is retryable only for a Query, because a mutation may already have happened.
func (o *operation) timeoutError(message string) *Error {
	e := refusal(Timeout, message, Details{Operation: o.Spec.Name})
	e.Retryable = o.Spec.Kind == Query
	return e
}
