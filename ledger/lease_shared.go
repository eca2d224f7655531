package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/replica/cluster"
)

const (
	leaseRetry = 500 * time.Millisecond
	leaseStep  = 3 * time.Second // bounds the steps of a lease without a context
	// runMissing is the value of a run that was seen without its lease. After an interruption, leases of runs that go on
	// have expired too, and are taken again.
	runMissing = "missing"
)

var _ fileLog = (*Shared)(nil)

// Lease shows other processes that a run goes on, until release is called. If the cluster cannot be reached, the lease
// is taken later. It never fails. [Attach] calls it.
func (l *Shared) Lease(_ context.Context, run string) (release func(), err error) {
	l.mu.Lock()
	l.ended[run] = false
	l.mu.Unlock()
	ctx, stop := context.WithCancel(context.Background())
	var holding sync.WaitGroup
	holding.Go(func() { l.hold(ctx, run) })
	return func() {
		stop()
		holding.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.ended, run)
	}, nil
}

// hold holds the lease of a run, and takes it again when it is lost.
func (l *Shared) hold(ctx context.Context, run string) {
	isOwn := func(string) bool { return true } // only this process has the run
	for ctx.Err() == nil {
		lease, err := cluster.Acquire(ctx, l.leases, run, "", l.lease, isOwn)
		if err != nil {
			watch.Sleep(ctx, leaseRetry)
			continue
		}
		if err := l.register(ctx, run); err != nil {
			l.logger.Warn("other processes cannot see whether this run goes on", "err", err)
		}
		select {
		case <-lease.Done():
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseStep)
			l.forget(ctx, run)
			_ = lease.Release(ctx) // otherwise it expires
			cancel()
		}
	}
}

// register makes a run known that has its lease. So Reap ends no run that has just begun.
func (l *Shared) register(ctx context.Context, run string) error {
	e, err := l.runs.Get(ctx, run)
	if err != nil && !errors.Is(err, cluster.ErrNotFound) || err == nil && len(e.Value) == 0 {
		return err
	}
	_, err = l.runs.Set(ctx, run, nil, e.Revision, 0)
	return err
}

// forget removes a run from those that go on.
func (l *Shared) forget(ctx context.Context, run string) {
	if e, err := l.runs.Get(ctx, run); err == nil {
		_ = l.runs.Delete(ctx, run, e.Revision)
	}
}

// Reap ends the runs of processes that are gone: their lease has expired, and was not taken again for as long as it
// lasts. Attachments call it from time to time.
func (l *Shared) Reap(ctx context.Context) (ended int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*leaseStep)
	defer cancel()
	known, err := cluster.Entries(ctx, l.runs) // before the leases, because a run takes its lease first
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	leases, err := cluster.Entries(ctx, l.leases)
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	goesOn := map[string]bool{}
	for _, e := range leases {
		goesOn[e.Key] = true
	}
	for _, e := range known {
		switch {
		case goesOn[e.Key]:
			continue
		case string(e.Value) != runMissing:
			_, _ = l.runs.Set(ctx, e.Key, []byte(runMissing), e.Revision, 0) // or another process did, or the run is back
			continue
		case l.now().Sub(e.Stored) < l.lease:
			continue
		}
		if _, err := l.Append(ctx, Entry{Op: End, Run: e.Key, Note: noteVanished}); err != nil {
			return ended, err
		}
		_ = l.runs.Delete(ctx, e.Key, e.Revision) // otherwise it is ended once more
		ended++
	}
	return ended, nil
}

// mark implements fileLog. A run that cannot write the log cannot tell other processes either.
func (l *Shared) mark(string, bool) {}

// mayReap reports whether a lease has passed since it was true.
func (l *Shared) mayReap() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.reaped) < l.lease {
		return false
	}
	l.reaped = time.Now()
	return true
}
