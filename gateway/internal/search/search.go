// Package search asks several servers at once for one thing. Start with [First].
package search

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
)

const (
	// Max is the maximum number of servers that are asked.
	Max = 64
	// Wait bounds the whole search. concurrency servers are asked at a time. A server that has not answered after turn
	// no longer counts. Thus Max servers are asked in half of Wait, even if most of them hang.
	Wait        = 30 * time.Second
	concurrency = 8
	turn        = 2 * time.Second
)

// ErrAnswered is the cause of the context of a request that was cancelled because another server has answered.
var ErrAnswered = errors.New("another server has answered")

var errLate error = &interop.RPCError{
	Code: interop.CodeInternal, Message: "no server that answers in time has it, and not all do",
}

// First asks n servers at once and returns the reply of the first server, in their order, that knows the thing. The
// order of replies does not matter. Outstanding requests to the other servers are cancelled with ErrAnswered. A server
// that does not answer in time is skipped. winner is -1 if every server answered that it does not know the thing, or
// was late.
func First(
	ctx context.Context, n int, ask func(ctx context.Context, i int) (json.RawMessage, error),
) (raw json.RawMessage, winner int, err error) {
	type answer struct {
		raw json.RawMessage
		err error
	}
	outer := ctx
	ctx, stop := context.WithTimeout(ctx, Wait)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(ErrAnswered)
	answers, turns := make([]chan answer, n), make(chan struct{}, concurrency)
	for i := range answers {
		answers[i] = make(chan answer, 1)
	}
	running.Go(func() {
		for i := range answers {
			select {
			case turns <- struct{}{}:
			case <-ctx.Done():
				answers[i] <- answer{err: ctx.Err()}
				continue
			}
			over := sync.OnceFunc(func() { <-turns })
			late := time.AfterFunc(turn, over)
			running.Go(func() {
				defer over()
				defer late.Stop()
				raw, err := ask(ctx, i)
				answers[i] <- answer{raw, err}
			})
		}
	})
	for i, answered := range answers {
		switch a := <-answered; {
		case a.err != nil && outer.Err() == nil && isLate(a.err):
			err = errLate
		case a.err == nil || !isNotFound(a.err):
			return a.raw, i, a.err
		}
	}
	return nil, -1, err
}

// isNotFound reports whether an error may mean that the server does not know the thing, or that it could not be asked.
func isNotFound(err error) bool {
	if rpc, ok := errors.AsType[*interop.RPCError](err); ok {
		return rpc.Code == protocol.CodeLegacyNotFound || rpc.Code == interop.CodeInvalidParams ||
			rpc.Code == interop.CodeMethodNotFound
	}
	fault, ok := errors.AsType[*interop.Fault](err)
	return ok && fault.Kind == interop.NotConnected
}

// isLate reports whether a server did not answer in time.
func isLate(err error) bool {
	fault, ok := errors.AsType[*interop.Fault](err)
	return ok && fault.Kind == interop.Timeout || errors.Is(err, context.DeadlineExceeded)
}
