// Package search finds the server that has a resource which no server lists.
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
	// MaxServers is the maximum number of servers that are asked.
	MaxServers = 64
	// Wait bounds the whole search. A few servers are asked at a time. A server that has not answered after its turn no
	// longer counts. Thus MaxServers servers are asked in half of Wait, even if most of them hang.
	Wait        = 30 * time.Second
	concurrency = 8
	turn        = 2 * time.Second
)

// First asks several servers at once and returns the reply of the first server, in their order, that knows the URI. The
// order of replies does not matter. Outstanding requests to the other servers are cancelled, and [IsOvertaken] reports
// that. A server that does not answer in time is skipped. first is the index of the server, and -1 if every server
// answered that it does not know the URI.
func First(
	ctx context.Context, servers int, ask func(ctx context.Context, server int) (json.RawMessage, error),
) (raw json.RawMessage, first int, err error) {
	type answer struct {
		raw json.RawMessage
		err error
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, Wait)
	defer cancel()
	ctx, overtake := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer overtake(ErrOvertaken)
	answers, turns := make([]chan answer, servers), make(chan struct{}, concurrency)
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
	last := -1
	for i, answered := range answers {
		switch a := <-answered; {
		case a.err != nil && outer.Err() == nil && isLate(a.err):
			err, last = errLate, i
		case a.err == nil || !isNotFound(a.err):
			return a.raw, i, a.err
		}
	}
	return nil, last, err
}

// ErrOvertaken ends the requests to the other servers. It is no error of the client's request.
var ErrOvertaken = errors.New("another server answered first")

// IsOvertaken reports whether ctx belongs to a request that ended for ErrOvertaken.
func IsOvertaken(ctx context.Context) bool { return context.Cause(ctx) == ErrOvertaken }

var errLate error = &interop.RPCError{
	Code: interop.CodeInternal, Message: "no server that answers in time has it, and not all do",
}

// isLate reports whether a server did not answer in time.
func isLate(err error) bool {
	fault, ok := errors.AsType[*interop.Fault](err)
	return ok && fault.Kind == interop.Timeout || errors.Is(err, context.DeadlineExceeded)
}

// isNotFound reports whether an error may mean that the server does not know the URI, or that it could not be asked.
func isNotFound(err error) bool {
	if rpc, ok := errors.AsType[*interop.RPCError](err); ok {
		return rpc.Code == protocol.CodeLegacyNotFound || rpc.Code == interop.CodeInvalidParams ||
			rpc.Code == interop.CodeMethodNotFound
	}
	fault, ok := errors.AsType[*interop.Fault](err)
	return ok && fault.Kind == interop.NotConnected
}
