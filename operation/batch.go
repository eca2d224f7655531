package operation

import (
	"context"
	"sync"
)

// defaultBatch is how many calls of a batch run at once.
const defaultBatch = 8

// Batch makes calls from outside, at most bound at a time (zero and less: 8),
// and answers in their order. No call touches another; where ctx ends, those that have
// not begun are not made. It returns when the last has ended.
func (r *Registry) Batch(ctx context.Context, calls []Call, bound int) []Envelope {
	if bound <= 0 {
		bound = defaultBatch
	}
	answers := make([]Envelope, len(calls))
	places := make(chan struct{}, bound)
	var running sync.WaitGroup
	for i, c := range calls {
		// What remains of a handler that ends its goroutine.
		answers[i] = Envelope{ID: c.ID, Err: &Error{Code: InternalError, Message: "the operation did not answer"}}
		places <- struct{}{} // free at some time: no call begins once ctx is over
		running.Go(func() {
			defer func() { <-places }()
			answers[i] = r.Call(ctx, c)
		})
	}
	running.Wait()
	return answers
}
