// Package filelock lets several processes take turns at a file.
//
// [Lock] waits for its turn, [Try] does not. The lock ends when it is given back, and by the end
// of the process at the latest, however that comes about. The lock's file stands
// next to what it guards, so that this can be replaced, and is never removed but by [Passing].
//
// Where the system has no such locks, one process at a time may have the file.
//
// # Concurrency
//
// Locks of one process keep each other out just as those of several do.
package filelock

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"
)

// ErrHeld: somebody else has the lock.
var ErrHeld = errors.New("the lock is held")

// Who waits looks this often: what is done under a lock takes about as long as one
// sync of the disk.
const (
	firstLook = 200 * time.Microsecond
	lastLook  = 10 * time.Millisecond
)

// Lock waits for the lock at path, whose file it makes where there is none. Once
// the context is over it returns ctx.Err().
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := Wait(ctx, file); err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil // which unlocks
}

// Passing is [Lock] where the file guards nothing beside it: it goes with the lock, but on Windows, which keeps open files.
func Passing(ctx context.Context, path string) (unlock func(), err error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := Wait(ctx, file); err != nil {
			file.Close()
			return nil, err
		}
		own, _ := file.Stat()
		if there, err := os.Stat(path); err == nil && os.SameFile(own, there) {
			return func() {
				if runtime.GOOS != "windows" {
					_ = os.Remove(path)
				}
				file.Close()
			}, nil
		}
		file.Close() // who had the lock has removed it
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// Wait waits for the lock of an open file, which holds it until it is closed. Once the
// context is over it returns ctx.Err().
func Wait(ctx context.Context, file *os.File) error {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
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
