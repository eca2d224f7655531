// Package statefile keeps a small value in a file that processes share: approvals, keys, sign-ins.
//
// A [File] reads the file as it is now, and decodes it again only after it has changed. Update changes it under a lock,
// and replaces it in one step, so that a crash leaves the old value or the new one. A symbolic link at its path stays:
// the file that it leads to is replaced. A file that cannot be read or decoded is never written over.
//
// # Concurrency
//
// All methods may be called from any goroutine, and on several Files of one path from several processes.
package statefile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/filelock"
)

// lockWait is how long an update waits for those of other processes. Each takes a few milliseconds.
const lockWait = 10 * time.Second

// ErrSame is returned by the edit of an [File.Update] that changes nothing. Update then returns nil.
var ErrSame = errors.New("nothing has changed")

// File is a value in a file. Its first five fields are set before use, and not changed.
type File[T any] struct {
	Path string
	Lock string // the path of the lock's file; "": that of the file, where links lead to it, with ".lock" behind it
	// Load reads the text: [atomicfile.ReadPrivate], or a function with other conditions.
	Load func(path string) ([]byte, error)
	// Decode makes a value of a text, which is nil if there is no file. Only the edit of an Update changes the value.
	Decode func(ctx context.Context, text []byte) (T, error)
	// Encode makes a text of a value.
	Encode func(ctx context.Context, value T) ([]byte, error)

	mu    sync.Mutex
	read  bool
	stamp stamp // of the file, when it was read last
	value T
}

// Read returns the value that the file has now. It must not be changed.
func (f *File[T]) Read(ctx context.Context) (T, error) {
	now := stampOf(f.Path) // first: a change after this is read again
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read && now.isSame(f.stamp) {
		return f.value, nil
	}
	value, err := f.load(ctx)
	f.read, f.stamp, f.value = err == nil, now, value
	return value, err
}

func (f *File[T]) load(ctx context.Context) (value T, err error) {
	text, err := f.Load(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text = nil
	case err != nil:
		return value, err
	case text == nil: // an empty file is one
		text = []byte{}
	}
	return f.Decode(ctx, text)
}

// Update replaces the value by that which edit makes of it. edit may change its argument, which is nobody else's. If
// edit fails, the file stays as it is. The directory has to be there.
func (f *File[T]) Update(ctx context.Context, edit func(T) (T, error)) error {
	late := fmt.Errorf("%s: another process has been writing for %v", f.Path, lockWait)
	waiting, cancel := context.WithTimeoutCause(ctx, lockWait, late)
	defer cancel()
	unlock, err := filelock.Lock(waiting, cmp.Or(f.Lock, atomicfile.Real(f.Path)+".lock"))
	if err != nil {
		return cmp.Or(ctx.Err(), context.Cause(waiting), err)
	}
	defer unlock()
	value, err := f.load(ctx)
	if err == nil {
		value, err = edit(value)
	}
	if errors.Is(err, ErrSame) {
		return nil
	} else if err != nil {
		return err
	}
	return f.replace(ctx, value)
}

func (f *File[T]) replace(ctx context.Context, value T) error {
	text, err := f.Encode(ctx, value)
	if err != nil {
		return err
	}
	if err := atomicfile.Replace(atomicfile.Real(f.Path), append(text, '\n'), nil); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = false
	return nil
}

// stamp is what there is to see of a file without opening it.
type stamp struct {
	info os.FileInfo // nil: there is none
	at   time.Time
}

func stampOf(path string) stamp {
	at := time.Now()
	info, _ := os.Stat(path) // after an error nothing is read, and nothing is kept
	return stamp{info, at}
}

// coarse is how far the clock that stamps files may lag.
const coarse = 20 * time.Millisecond

// isSame reports that nothing was written since o was taken: nor in the moment after that, which the clock of files
// cannot tell from it. A file that was replaced twice may have the number of the first.
func (s stamp) isSame(o stamp) bool {
	if s.info == nil || o.info == nil {
		return s.info == nil && o.info == nil
	}
	return os.SameFile(s.info, o.info) && s.info.Size() == o.info.Size() && s.info.Mode() == o.info.Mode() &&
		s.info.ModTime().Equal(o.info.ModTime()) && o.at.Sub(o.info.ModTime()) > coarse
}
