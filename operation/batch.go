package operation

import (
	"context"
	"sync"
)

// DefaultBatch is how many calls of a batch run at once where nobody says otherwise.
const DefaultBatch = 8

// Batch makes calls from outside, at most bound at a time (zero and less: [DefaultBatch]),
// and answers in their order. No call touches another; where ctx ends, those that have
// not begun are not made. It returns when the last has ended.
func (r *Registry) Batch(ctx context.Context, calls []Call, bound int) []Envelope {
	if bound <= 0 {
		bound = DefaultBatch
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
