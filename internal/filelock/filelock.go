// Package filelock lets several processes take turns with a file.
//
// [Lock] waits until the lock is free, [Try] does not. The lock ends when it is released, or when the process ends for
// any reason. The lock file stands beside the file that it guards, so that the guarded file can be replaced. Only
// [LockTemporary] removes the lock file.
//
// On systems without such locks, only one process at a time may use the file.
//
// # Concurrency
//
// Locks exclude each other within one process as they do between processes.
package filelock

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"
)

// ErrHeld is returned if another holder has the lock.
var ErrHeld = errors.New("the lock is held")

// The pause between two checks of a lock begins with firstPause and doubles up to lastPause. Work under a lock takes
// about as long as one sync of the disk.
const (
	firstPause = 200 * time.Microsecond
	lastPause  = 10 * time.Millisecond
)

// MaxWait is a bound for the wait for work of other processes that takes as long as some syncs of the disk. On a busy
// disk, one sync may take ten seconds.
const MaxWait = 30 * time.Second

// Lock waits for the lock at path. It creates the lock file if there is none. If the context ends first, it returns
// ctx.Err().
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := openLocked(ctx, path)
	if err != nil {
		return nil, err
	}
	return func() { file.Close() }, nil // closing unlocks
}

func openLocked(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := Wait(ctx, file); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// LockTemporary is [Lock] for a lock file that guards no other file. The lock file is removed with the lock, except on
// Windows, which keeps open files.
func LockTemporary(ctx context.Context, path string) (unlock func(), err error) {
	for {
		file, err := openLocked(ctx, path)
		if err != nil {
			return nil, err
		}
		own, _ := file.Stat()
		if current, err := os.Stat(path); err == nil && os.SameFile(own, current) {
			return func() {
				if runtime.GOOS != "windows" {
					_ = os.Remove(path)
				}
				file.Close()
			}, nil
		}
		file.Close() // the previous holder has removed the file
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// Wait waits for the lock of an open file. The file holds the lock until it is closed. If the context ends first, Wait
// returns ctx.Err().
func Wait(ctx context.Context, file *os.File) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := Try(file); !errors.Is(err, ErrHeld) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
