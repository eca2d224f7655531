package statefile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/indusagi/indus/internal/filelock"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/replica/cluster"
)

// maxBackoff is the longest pause before updates are repeated because another process was faster. It becomes shorter
// with each attempt, so that a slow process has its turn as well.
const maxBackoff = 50 * time.Millisecond

// updateShared carries out updates in turn, and replaces the text of the document by their common result. If another
// process was faster, it begins again with the new text, and with the updates that came meanwhile.
func (f *File[T]) updateShared(all []*update[T]) {
	ctx, cancel := context.WithTimeout(context.Background(), filelock.MaxWait)
	defer cancel()
	if f.updateKnown(ctx, all) {
		return
	}
	for attempt := time.Duration(1); ; attempt++ {
		text, revision, err := f.Shared.Load(ctx)
		if err != nil {
			finish(all, err)
			return
		}
		text, all = f.apply(all, text)
		if len(all) == 0 {
			return
		}
		err = f.Shared.Replace(ctx, text, revision)
		if !errors.Is(err, cluster.ErrConflict) {
			finish(all, err)
			return
		}
		if !watch.Sleep(ctx, rand.N(maxBackoff)/attempt) {
			finish(all, fmt.Errorf("%s: other processes have been writing for %v: ask again: %w",
				f.Path, filelock.MaxWait, err))
			return
		}
		all = f.join(all)
	}
}

// updateKnown carries out updates with the known text, which may be old: it reads nothing. It returns false if nothing
// is done, because an update does not change this text, or the document has another one.
func (f *File[T]) updateKnown(ctx context.Context, all []*update[T]) bool {
	text, revision := f.Shared.Read()
	if revision == 0 || len(all) == 0 {
		return false
	}
	text, changes, _, ok := f.applyTogether(all, text)
	if !ok || changes < len(all) {
		return false
	}
	err := f.Shared.Replace(ctx, text, revision)
	if errors.Is(err, cluster.ErrConflict) {
		return false
	}
	finish(all, err)
	return true
}

// join returns the updates that still wait, and those of the queue. Updates with a context that has ended are over.
func (f *File[T]) join(all []*update[T]) (waiting []*update[T]) {
	for _, u := range all {
		if err := u.ctx.Err(); err != nil {
			u.done <- err
			continue
		}
		waiting = append(waiting, u)
	}
	return append(waiting, f.take()...)
}
