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
	o, refused := r.admit(&q)
	if refused != nil {
		return Envelope{ID: q.id, Err: refused}
	}
	defer o.end()
	ctx, cancel := r.within(ctx, o)
	defer cancel()
	if ctx.Err() != nil {
		return Envelope{ID: q.id, Err: r.outcome(ctx, o, q, ctx.Err())}
	}
	c := &Context{registry: r, operation: o, request: q}
	defer c.over.Store(true)
	value, err := r.handle(ctx, o, c, q.input)
	if err == nil {
		value, err = r.checked(o, q, value)
	}
	if err != nil {
		return Envelope{ID: q.id, Err: r.outcome(ctx, o, q, err)}
	}
	return Envelope{ID: q.id, Value: value}
}

func (r *Registry) within(ctx context.Context, o *operation) (context.Context, context.CancelFunc) {
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
func (r *Registry) handle(ctx context.Context, o *operation, c *Context, input json.RawMessage) (value json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			value, err = nil, r.panicked(o, c.request, v)
		}
	}()
	return o.Handler(ctx, c, input)
}

// panicked logs a panic. The caller learns only that the operation panicked.
func (r *Registry) panicked(o *operation, q request, v any) error {
	r.log.Error("an operation panicked", slog.String("operation", o.Spec.Name), slog.String("call", q.id),
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
	return r.judged(ctx, o, q, err)
}

func (r *Registry) judged(ctx context.Context, o *operation, q request, err error) *Error {
	if own, ok := err.(*undecodable); ok {
		return own.refusal(o.Spec.Name)
	}
	given, ok := errors.AsType[*Error](err)
	switch {
	case ok && given != nil && o.Spec.declared(given.Code) != nil:
		return r.declared(o, q, *given)
	case isOver(ctx, err, context.DeadlineExceeded):
		return o.late("the deadline has passed")
	case isOver(ctx, err, context.Canceled):
		return refusal(Canceled, "the caller gave up", Details{Operation: o.Spec.Name})
	case ok && given != nil && given.Code == InternalError:
		return encodable(*given)
	case ok && given != nil:
		return refusal(InternalError, "the operation ended with an error that it does not declare", Details{Operation: o.Spec.Name, Original: encodable(*given)})
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded):
		return o.late("what the operation waited for took too long")
	}
	r.log.Error("an operation failed", slog.String("operation", o.Spec.Name), slog.String("call", q.id), slog.String("err", err.Error()))
	return refusal(InternalError, "internal error", Details{Operation: o.Spec.Name})
}

// isOver reports whether err only states that ctx ended for that reason.
func isOver(ctx context.Context, err, reason error) bool {
	return ctx.Err() != nil && errors.Is(ctx.Err(), reason) && (errors.Is(err, reason) || errors.Is(err, context.Cause(ctx)))
}

// late returns a Timeout. It is retryable only for a Query, because a mutation may already have happened.
func (o *operation) late(message string) *Error {
	e := refusal(Timeout, message, Details{Operation: o.Spec.Name})
	e.Retryable = o.Spec.Kind == Query
	return e
}
