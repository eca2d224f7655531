package statefile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/indusagi/indus/cluster"
	"github.com/indusagi/indus/internal/filelock"
	"github.com/indusagi/indus/internal/watch"
)

// maxBackoff is the longest pause before an update is repeated because another process was faster.
const maxBackoff = 50 * time.Millisecond

// updateShared replaces the value in the document. If another process was faster, it begins again with the new value.
func (f *File[T]) updateShared(ctx context.Context, edit func(T) (T, error)) error {
	for end := time.Now().Add(filelock.MaxWait); ; {
		text, revision, err := f.Shared.Load(ctx)
		if err != nil {
			return err
		}
		text, err = f.edited(&update[T]{ctx: ctx, edit: edit}, text)
		if errors.Is(err, ErrUnchanged) {
			return nil
		} else if err != nil {
			return err
		}
		err = f.Shared.Replace(ctx, text, revision)
		if !errors.Is(err, cluster.ErrConflict) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: other processes have been writing for %v: ask again: %w", f.Path, filelock.MaxWait, err)
		}
		if !watch.Sleep(ctx, rand.N(maxBackoff)) {
			return ctx.Err()
		}
	}
}
