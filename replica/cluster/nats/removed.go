package nats

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/indusagi/indus/replica/cluster"
)

const (
	// removedPause is the pause between two looks for streams that were removed.
	removedPause = 5 * time.Second
	// maxAbsent is the number of looks without a stream after which it was removed. Servers that start may not know it.
	maxAbsent = 3
)

// removedError wraps [cluster.ErrUnavailable] for a stream that was removed, by its name. To ask again does not help.
type removedError string

func (e removedError) Error() string {
	return fmt.Sprintf("the state that replicas share is gone (NATS: the stream %s was removed): restart every replica",
		string(e))
}

func (removedError) Unwrap() error { return cluster.ErrUnavailable }

// followStreams looks whether the streams are those that this process opened, until the context ends. If its state is
// gone, a process must not go on with the empty stream that another process creates.
func (e *Engine) followStreams(ctx context.Context) {
	absent := map[string]int{}
	for {
		select {
		case <-time.After(removedPause):
		case <-e.next():
		case <-ctx.Done():
			return
		}
		e.mu.Lock()
		opened := maps.Clone(e.opened)
		e.mu.Unlock()
		for name, created := range opened {
			if absent[name] = e.countAbsent(ctx, name, created, absent[name]); absent[name] < maxAbsent {
				continue
			}
			err := removedError(name)
			e.mu.Lock()
			e.removed = err
			e.mu.Unlock()
			e.opts.Report(err.Error())
			return
		}
	}
}

// countAbsent returns how many looks in a row have not found a stream, after n.
func (e *Engine) countAbsent(ctx context.Context, name string, created time.Time, n int) int {
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	s, err := e.js.Stream(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return n + 1
	case err != nil:
		return n
	case !s.CachedInfo().Created.Equal(created):
		return maxAbsent
	}
	return 0
}
