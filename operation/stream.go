package operation

import (
	"context"
	"encoding/json"
)

// stream runs a request of a Subscription and yields its values.
func (r *Registry) stream(ctx context.Context, q request, yield func(Envelope) bool) {
	o, refused := r.admit(&q, true)
	if refused != nil {
		yield(Envelope{ID: q.id, Err: refused})
		return
	}
	defer o.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if ctx.Err() != nil {
		yield(Envelope{ID: q.id, Err: r.outcome(ctx, o, q, ctx.Err())})
		return
	}
	c := r.context(o, q)
	defer c.call.over.Store(true)
	s := subscription{registry: r, operation: o, request: q, yield: yield}
	if err := s.run(ctx, c); err != nil && !s.done {
		yield(Envelope{ID: q.id, Err: r.outcome(ctx, o, q, err)})
	}
}

// subscription is one subscriber of one stream.
type subscription struct {
	registry  *Registry
	operation *operation
	request   request
	yield     func(Envelope) bool
	done      bool // the subscriber has had enough
	theirs    bool // the subscriber's code runs: a panic is its own
}

// run yields values until the stream ends, with an error or without.
func (s *subscription) run(ctx context.Context, c *Context) (err error) {
	defer func() {
		if s.theirs {
			return
		}
		if v := recover(); v != nil {
			err = s.registry.panicked(s.operation, s.request, v)
		}
	}()
	for value, err := range s.operation.Stream(ctx, c, s.request.input) {
		if err == nil {
			err = s.give(value)
		}
		if err != nil || s.done {
			return err
		}
	}
	return ctx.Err()
}

// give hands one value to the subscriber, or says why it cannot be given.
func (s *subscription) give(value json.RawMessage) error {
	value, err := s.registry.checked(s.operation, s.request, value)
	if err != nil {
		return err
	}
	s.theirs = true
	s.done = !s.yield(Envelope{ID: s.request.id, Value: value})
	s.theirs = false
	return nil
}
