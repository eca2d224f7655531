package cli

import (
	"context"
	"sync/atomic"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// late is a source that is not there yet: it is listed as pending, and calls wait for
// it. So indus serves while it still reads what it knows of its servers.
type late struct {
	waiting  *toolbox.Snapshot
	source   atomic.Pointer[toolbox.Box]
	came     chan struct{}
	watchers toolbox.Watchers
}

var _ toolbox.Source = (*late)(nil)

func newLate(servers []interop.Server) *late {
	return &late{waiting: &toolbox.Snapshot{Pending: ids(servers)}, came: make(chan struct{})}
}

// come is called once, when it is there. stop ends the watching of it.
func (l *late) come(source *toolbox.Box) (stop func()) {
	l.source.Store(source)
	stop = source.Watch(l.watchers.Notify)
	close(l.came)
	l.watchers.Notify()
	return stop
}

// Snapshot implements [toolbox.Source].
func (l *late) Snapshot(p toolbox.Principal) *toolbox.Snapshot {
	if source := l.source.Load(); source != nil {
		return source.Snapshot(p)
	}
	return l.waiting
}

// Watch implements [toolbox.Source].
func (l *late) Watch(changed func()) (stop func()) { return l.watchers.Watch(changed) }

// Do implements [toolbox.Source].
func (l *late) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	select {
	case <-l.came:
		return l.source.Load().Do(ctx, c)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
