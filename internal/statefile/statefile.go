// Package statefile keeps a small value in a file that processes share: approvals, keys, sign-ins. With File.Shared,
// the value is in a document of a cluster instead.
//
// A [File] reads the current content of the file, but decodes it again only after a change. Update changes it under a
// lock and replaces it in one step, so a crash leaves either the old value or the new value. Updates that wait for the
// lock, the disk or the cluster are written together. A symbolic link at its path stays: the target of the link is
// replaced. A file that cannot be read or decoded is never overwritten.
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
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/filelock"
	"github.com/indusagi/indus/replica/cluster"
)

// maxTurn is the longest pause between two writes of one process. Other processes look for the lock more often.
const maxTurn = 20 * time.Millisecond

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

	mu      sync.Mutex
	read    bool
	stamp   stamp // state of the file, or of Shared, at the last read
	value   T
	queue   []*update[T] // what the next write contains
	writing bool         // write runs
}

// update is a call of [File.Update].
type update[T any] struct {
	ctx    context.Context
	edit   func(T) (T, error)
	failed error // of edit
	done   chan error
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
	text, err := f.text()
	if err != nil {
		return value, err
	}
	return f.Decode(ctx, text)
}

// text returns the text of the file, or nil if there is no file.
func (f *File[T]) text() ([]byte, error) {
	text, err := f.Load(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && text == nil: // an empty file exists, unlike a missing file
		text = []byte{}
	}
	return text, err
}

// LockFile waits for the lock of the file at path, 30 seconds at most. lock has the meaning of [File.Lock].
func LockFile(ctx context.Context, path, lock string) (unlock func(), err error) {
	late := fmt.Errorf("%s: other processes have been writing for %v: end one that hangs", path, filelock.MaxWait)
	waiting, cancel := context.WithTimeoutCause(ctx, filelock.MaxWait, late)
	defer cancel()
	unlock, err = filelock.Lock(waiting, cmp.Or(lock, atomicfile.Real(path)+".lock"))
	if err != nil {
		return nil, cmp.Or(ctx.Err(), context.Cause(waiting), err)
	}
	return unlock, nil
}

// Update replaces the value by the result of edit. edit may change its argument, which it owns. If edit fails, the file
// stays as it is. If edit returns ErrUnchanged, it has not changed its argument. Another goroutine may run edit, which
// has ended when Update returns. edit runs again if another update fails, and with Shared if another process was
// faster. If the directory does not exist, it is made with access for the user only.
func (f *File[T]) Update(ctx context.Context, edit func(T) (T, error)) error {
	if f.Shared == nil {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
			return err
		}
	}
	u := &update[T]{ctx: ctx, edit: edit, done: make(chan error, 1)}
	f.mu.Lock()
	f.queue = append(f.queue, u)
	if !f.writing {
		f.writing = true
		go f.write()
	}
	f.mu.Unlock()
	select {
	case err := <-u.done:
		return err
	case <-ctx.Done():
	}
	f.mu.Lock()
	i := slices.Index(f.queue, u)
	if i >= 0 {
		f.queue = slices.Delete(f.queue, i, i+1)
	}
	f.mu.Unlock()
	if i >= 0 {
		return ctx.Err()
	}
	return <-u.done // the file is being written
}

// take returns the queue and empties it.
func (f *File[T]) take() []*update[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.queue
	f.queue = nil
	return all
}

// write writes until the queue is empty. Between two writes it pauses, so that other processes have their turn.
func (f *File[T]) write() {
	for {
		start := f.writeOnce()
		f.mu.Lock()
		f.writing = len(f.queue) > 0
		more := f.writing
		f.mu.Unlock()
		if !more {
			return
		}
		time.Sleep(min(time.Since(start), maxTurn))
	}
}

// writeOnce writes the queue, and returns when it began to.
func (f *File[T]) writeOnce() (start time.Time) {
	if f.Shared != nil {
		start = time.Now()
		f.updateShared(f.take())
		return start
	}
	unlock, err := LockFile(context.Background(), f.Path, f.Lock)
	start = time.Now()
	all := f.take()
	if err != nil {
		finish(all, err)
		return start
	}
	defer unlock()
	f.writeAll(all)
	return start
}

// finish ends updates with an error, or each with its own if err is nil.
func finish[T any](all []*update[T], err error) {
	for _, u := range all {
		u.done <- cmp.Or(err, u.failed)
	}
}

// writeAll carries out updates in turn, and writes their common result.
func (f *File[T]) writeAll(all []*update[T]) {
	text, err := f.text()
	if err != nil {
		finish(all, err)
		return
	}
	if text, all = f.apply(all, text); len(all) > 0 {
		finish(all, f.replace(append(text, '\n')))
	}
}

// apply carries out updates in turn. It returns the text after them, and the updates that are over once it is written.
// An update that fails or changes nothing because of another one that is not written yet is one of these. If no update
// fails, the text is decoded and encoded once.
func (f *File[T]) apply(all []*update[T], text []byte) (after []byte, written []*update[T]) {
	if len(all) > 1 {
		if after, _, first, ok := f.applyTogether(all, text); ok {
			finish(all[:first], nil)
			return after, all[first:]
		}
	}
	for _, u := range all {
		next, err := f.edited(u, text)
		u.failed = nil
		switch {
		case err == nil:
			text, written = next, append(written, u)
			continue
		case !errors.Is(err, ErrUnchanged):
			u.failed = err
		}
		if len(written) == 0 {
			u.done <- u.failed
		} else {
			written = append(written, u)
		}
	}
	return text, written
}

// applyTogether carries out updates with one decoded value. It returns how many change something, and the index of the
// first of them. It returns false if an update fails, because the value is then unknown.
func (f *File[T]) applyTogether(all []*update[T], text []byte) (after []byte, changes, first int, ok bool) {
	value, err := f.Decode(all[0].ctx, text)
	if err != nil {
		return nil, 0, 0, false
	}
	first = len(all)
	for i, u := range all {
		next, err := u.edit(value)
		switch {
		case err == nil:
			value, changes, first = next, changes+1, min(first, i)
		case !errors.Is(err, ErrUnchanged):
			return nil, 0, 0, false
		}
		u.failed = nil
	}
	if changes > 0 {
		if text, err = f.Encode(all[0].ctx, value); err != nil {
			return nil, 0, 0, false
		}
	}
	return text, changes, first, true
}

// edited returns the text after an update.
func (f *File[T]) edited(u *update[T], text []byte) ([]byte, error) {
	value, err := f.Decode(u.ctx, text)
	if err == nil {
		value, err = u.edit(value)
	}
	if err != nil {
		return nil, err
	}
	return f.Encode(u.ctx, value)
}

func (f *File[T]) replace(text []byte) error {
	if err := atomicfile.Replace(atomicfile.Real(f.Path), text, nil); err != nil {
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
