package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/replica/cluster"
)

// sharedApprovals is the part of a guard for a [Shared] log. The log decides which listing of a server is the first,
// because several processes may list it at the same time. A version that is not changed is undecided until the log has
// it: the tool is not listed yet.
type sharedApprovals struct {
	active    bool // the log is shared
	decided   approvals
	revision  uint64          // of decided
	cut       bool            // the log cannot be written now
	undecided map[string]bool // listed tools that are undecided, by name
	waiting   []string        // their servers, unless cut
}

// share begins with what a shared log has decided, as this process knows it.
func (g *guard) share(ctx context.Context, l *Shared) {
	decided, revision, _ := l.approvals(ctx, 0, false)
	g.shared.active = true
	g.adopt("", decided, revision, nil, func(string) bool { return false })
}

// isApproved reports whether a version may be listed.
func (g *guard) isApproved(t toolID, v toolVersion) bool {
	return !g.approved.isChanged(t, v) && !g.isUndecided(t, v)
}

// isUndecided reports whether the shared log does not have a version that is not changed.
func (g *guard) isUndecided(t toolID, v toolVersion) bool {
	return g.shared.active && !g.shared.decided.has(t, v)
}

// adopt takes the approvals that a shared log has decided, or nil if there are no new ones. It reports whether an
// approval changes. written holds entries of this run that were just written. isDenied is as for addApprovals.
func (g *guard) adopt(
	run string, decided *approvals, revision uint64, written []Entry, isDenied func(string) bool,
) (news bool) {
	if decided != nil && revision > g.shared.revision {
		g.shared.decided, g.shared.revision = *decided, revision
	}
	now := g.shared.decided
	for t, sum := range now.sums {
		if g.approved.sums[t] == sum {
			continue
		}
		if _, isHeld := g.recorded[t]; !isHeld || !isDenied(t.server) {
			g.approved.sums[t], news = sum, true
			g.approved.objects[sum] = now.objects[sum]
		}
	}
	g.approved.beside = maps.Clone(now.beside)
	for _, former := range now.beside {
		g.approved.objects[former.sum] = now.objects[former.sum]
	}
	maps.Copy(g.approved.enrolled, now.enrolled)
	if !now.isEnrolled(origin{}) { // the log could not be read before
		delete(g.approved.enrolled, origin{})
	}
	for _, e := range written {
		from := origin{e.Server, e.Config}
		if _, ok := now.sums[e.toolID()]; e.Op == Enroll && !e.Changed && !ok { // another process was faster
			delete(g.approved.sums, e.toolID())
			if now.enrolled[from] != run {
				delete(g.enrolling, from)
			}
		}
	}
	return news
}

// adoptShared takes what a shared log has decided. If current is set, it reads the log before. written holds entries of
// this run that were just written.
func (a *Attachment) adoptShared(ctx context.Context, l *Shared, current bool, written []Entry) error {
	a.mu.Lock()
	before := a.guard.shared.revision
	a.mu.Unlock()
	decided, revision, err := l.approvals(ctx, before, current)
	a.mu.Lock()
	wasCut := a.guard.shared.cut
	if current || err != nil {
		a.guard.shared.cut = err != nil || a.journal.recorder.isFailing()
	}
	news := decided != nil || len(written) > 0
	if err == nil && (news || len(a.guard.recorded) > 0) {
		isDenied := func(server string) bool { return a.Policy(server) == config.DenyChanges }
		news = a.guard.adopt(a.Run, decided, revision, written, isDenied) || news
	}
	news = news || a.guard.shared.cut != wasCut
	a.mu.Unlock()
	if news {
		a.update()
	}
	return err
}

// afterWrite follows each write of the log.
func (a *Attachment) afterWrite(batch []Entry, err error) {
	if a.opts.Wrote != nil {
		a.opts.Wrote(err)
	}
	a.mu.Lock()
	l, ok := a.opts.Log.(*Shared)
	if ok {
		a.guard.shared.cut = err != nil
	}
	a.mu.Unlock()
	switch {
	case !ok:
	case err != nil:
		a.update() // undecided tools are refused now, and no call waits for them
	default:
		_ = a.adoptShared(context.Background(), l, false, batch)
	}
}

// pollShared takes what other processes have decided. If another process took this run for gone, the run is recorded
// again.
func (a *Attachment) pollShared(l *Shared) {
	ctx, cancel := context.WithTimeout(context.Background(), a.opts.Poll+time.Second)
	defer cancel()
	if a.adoptShared(ctx, l, true, nil) != nil {
		return
	}
	watch.Signal(a.journal.recorder.retry)
	if l.mayReap() {
		if _, err := l.Reap(ctx); err != nil && !errors.Is(err, cluster.ErrUnavailable) {
			a.logger.Warn("runs that are over cannot be ended", "err", err)
		}
	}
	if l.takeEnded(a.Run) {
		a.mu.Lock()
		a.journal.resume(slices.Collect(maps.Values(a.guard.recorded)))
		a.mu.Unlock()
	}
}

// maxDecision bounds the wait for a decision of a shared log.
const maxDecision = 5 * time.Second

// awaitDecision waits while the shared log decides about a tool, or about any tool if name is "".
func (a *Attachment) awaitDecision(ctx context.Context, name string) {
	if !a.guard.shared.active {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxDecision)
	defer cancel()
	watch.Until(ctx, a.Watch, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.reconcileIfStale()
		isWaiting := a.guard.shared.undecided[name] || name == "" && len(a.guard.shared.undecided) > 0
		return !isWaiting || a.guard.shared.cut
	})
}
