package interop

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/indusagi/indus/toolbox"
	"golang.org/x/sync/semaphore"
)

const (
	defaultMaxCalls = 1000
	defaultCallWait = 10 * time.Second
)

// callLimits bounds the calls that each principal has in flight with each server, so
// that a server that hangs takes nothing from another, nor one caller from the next.
type callLimits struct {
	most int64         // below 0: no bound
	wait time.Duration // 0: not at all

	mu    sync.Mutex
	pairs map[callPair]*callLimit
}

type callPair struct {
	server string
	caller toolbox.Principal
}

type callLimit struct {
	*semaphore.Weighted
	users int // who wait and who are in flight; guarded by callLimits.mu
}

// enter counts a call, which waits while there are too many; leave must follow where
// err is nil.
func (l *callLimits) enter(ctx context.Context, server string, caller toolbox.Principal) (leave func(), err error) {
	if l.most < 0 {
		return func() {}, nil
	}
	pair := callPair{server, caller}
	l.mu.Lock()
	limit := l.pairs[pair]
	if limit == nil {
		limit = &callLimit{Weighted: semaphore.NewWeighted(l.most)}
		l.pairs[pair] = limit
	}
	limit.users++
	l.mu.Unlock()
	if !limit.TryAcquire(1) {
		soon, cancel := context.WithTimeout(ctx, l.wait)
		err = limit.Acquire(soon, 1)
		cancel()
	}
	if err != nil {
		l.drop(pair, limit)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, NewFault(Timeout, server, fmt.Sprintf("busy: %d calls of this caller are in flight there, and none ended within %v", l.most, l.wait), nil)
	}
	return func() { limit.Release(1); l.drop(pair, limit) }, nil
}

func (l *callLimits) drop(pair callPair, limit *callLimit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit.users--; limit.users == 0 {
		delete(l.pairs, pair)
	}
}
