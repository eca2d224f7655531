// Package statefile keeps a small value in a file that processes share: approvals, keys, sign-ins. With File.Shared,
// the value is in a document of a cluster instead.
//
// A [File] reads the current content of the file, but decodes it again only after a change. Update changes it under a
// lock and replaces it in one step, so a crash leaves either the old value or the new value. A symbolic link at its
// path stays: the target of the link is replaced. A file that cannot be read or decoded is never overwritten.
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
	"path/filepath"
	"sync"
	"time"

	"github.com/indusagi/indus/cluster"
	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/filelock"
)

// lockWait limits how long an update waits for updates of other processes. Each takes a few milliseconds.
const lockWait = 10 * time.Second

// ErrUnchanged is returned by the edit function of [File.Update] if nothing changes. Update then returns nil.
var ErrUnchanged = errors.New("nothing has changed")

// File is a value in a file. Set its first fields before use, and do not change them afterwards.
type File[T any] struct {
	Path string
	Lock string // the path of the lock file; "" means the path of the file after links, with ".lock" appended
	// Load reads the text: [atomicfile.ReadPrivate], or a function with other conditions.
	Load func(path string) ([]byte, error)
	// Decode makes a value from a text. The text is nil if there is no file. Only the edit function of Update may
	// change the value.
	Decode func(ctx context.Context, text []byte) (T, error)
	// Encode makes a text from a value.
	Encode func(ctx context.Context, value T) ([]byte, error)
	// Shared has the text instead of the file, if it is set. Then Path is only for messages.
	Shared *cluster.Document

	mu    sync.Mutex
	read  bool
	stamp stamp // state of the file, or of Shared, at the last read
	value T
}

// Read returns the current value of the file. The caller must not change it.
func (f *File[T]) Read(ctx context.Context) (T, error) {
	now := f.currentStamp() // first, so that a later change causes another read
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
	if f.Shared != nil {
		text, _ := f.Shared.Read()
		return f.Decode(ctx, text)
	}
	text, err := f.Load(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text = nil
	case err != nil:
		return value, err
	case text == nil: // an empty file exists, unlike a missing file
		text = []byte{}
	}
	return f.Decode(ctx, text)
}

// LockFile waits for the lock of the file at path, ten seconds at most. lock has the meaning of [File.Lock].
func LockFile(ctx context.Context, path, lock string) (unlock func(), err error) {
	late := fmt.Errorf("%s: another process has been writing for %v", path, lockWait)
	waiting, cancel := context.WithTimeoutCause(ctx, lockWait, late)
	defer cancel()
	unlock, err = filelock.Lock(waiting, cmp.Or(lock, atomicfile.Real(path)+".lock"))
	if err != nil {
		return nil, cmp.Or(ctx.Err(), context.Cause(waiting), err)
	}
	return unlock, nil
}

// Update replaces the value by the result of edit. edit may change its argument, which it owns. If edit fails, the file
// stays as it is. If the directory does not exist, it is made with access for the user only.
func (f *File[T]) Update(ctx context.Context, edit func(T) (T, error)) error {
	if f.Shared != nil {
		return f.updateShared(ctx, edit)
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	unlock, err := LockFile(ctx, f.Path, f.Lock)
	if err != nil {
		return err
	}
	defer unlock()
	value, err := f.load(ctx)
	if err == nil {
		value, err = edit(value)
	}
	if errors.Is(err, ErrUnchanged) {
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

// stamp is the state of a file without opening it, or the revision of a document.
type stamp struct {
	info     os.FileInfo // nil if there is no file
	at       time.Time
	revision uint64
}

func (f *File[T]) currentStamp() stamp {
	if f.Shared != nil {
		_, revision := f.Shared.Read()
		return stamp{revision: revision}
	}
	at := time.Now()
	info, _ := os.Stat(f.Path) // after an error no file is read, and no value is kept
	return stamp{info: info, at: at}
}

// coarse is the maximum delay of the clock for file times.
const coarse = 20 * time.Millisecond

// isSame reports that the file or document was not written since o was taken. It returns false if the last write of a
// file was so close to o that the clock of files cannot separate them. If a file was replaced twice, its number may be
// the same as before.
func (s stamp) isSame(o stamp) bool {
	if s.info == nil || o.info == nil {
		return s.info == nil && o.info == nil && s.revision == o.revision
	}
	return os.SameFile(s.info, o.info) && s.info.Size() == o.info.Size() && s.info.Mode() == o.info.Mode() &&
		s.info.ModTime().Equal(o.info.ModTime()) && o.at.Sub(o.info.ModTime()) > coarse
}
