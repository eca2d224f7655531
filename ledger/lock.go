package ledger

import (
	"context"
	"errors"
	"os"
	"time"
)

// errHeld: somebody else has the lock.
var errHeld = errors.New("the lock is held")

// Who waits for the lock looks this often: an append takes about as long as one
// sync of the disk.
const (
	firstLook = 200 * time.Microsecond
	lastLook  = 10 * time.Millisecond
)

// lock waits for the lock at path, which stands beside what it guards, so that this
// can be replaced, and is never removed.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		err := tryLock(file)
		if err == nil {
			return func() { file.Close() }, nil // which unlocks
		}
		if !errors.Is(err, errHeld) {
			file.Close()
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		}
	}
}
