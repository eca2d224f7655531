package serve

import (
	"context"
	"sync/atomic"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// lateSource is a source that is not there yet: it is listed as pending, and calls wait for
// it. So indus serves while it still reads what it knows of its servers.
type lateSource struct {
	waiting  *toolbox.Snapshot
	source   atomic.Pointer[toolbox.Box]
	came     chan struct{}
	watchers toolbox.Watchers
}

var _ toolbox.Source = (*lateSource)(nil)

func newLate(servers []interop.Server) *lateSource {
	return &lateSource{waiting: &toolbox.Snapshot{Pending: command.IDs(servers)}, came: make(chan struct{})}
}

// come is called once, when it is there. stop ends the watching of it.
func (l *lateSource) come(source *toolbox.Box) (stop func()) {
	l.source.Store(source)
	stop = source.Watch(l.watchers.Notify)
	close(l.came)
	l.watchers.Notify()
	return stop
}

// Snapshot implements [toolbox.Source].
func (l *lateSource) Snapshot(p toolbox.Principal) *toolbox.Snapshot {
	if source := l.source.Load(); source != nil {
		return source.Snapshot(p)
	}
	return l.waiting
}

// Watch implements [toolbox.Source].
func (l *lateSource) Watch(changed func()) (stop func()) { return l.watchers.Watch(changed) }

// Do implements [toolbox.Source].
func (l *lateSource) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	select {
	case <-l.came:
		return l.source.Load().Do(ctx, c)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
