// Package edit reads configuration files and replaces them, and changes their texts, in JSON,
// TOML and YAML, so that all that a change is not about keeps its bytes.
package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/filelock"
)

// ErrChanged says that a file is not what it was when it was opened.
var ErrChanged = errors.New("the file has changed since it was read")

// lockWait is how long a save waits for the lock of a directory; one takes a few milliseconds.
const lockWait = 10 * time.Second

// File is one as it was read, which is to be replaced.
type File struct {
	Path   string // as it was named
	Target string // where its symbolic links lead
	Before []byte // nil where there is no file
	info   fs.FileInfo
	limit  int64
}

// Open reads a file; one that is not there is no error.
func Open(path string, limit int64) (*File, error) {
	f := &File{Path: path, limit: limit}
	var err error
	if f.Target, err = Follow(path); err != nil {
		return nil, err
	}
	f.Before, f.info, err = f.read()
	return f, err
}

// read is what the file holds now; of a file that is not there, nil and nil.
func (f *File) read() ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(f.Target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case info.Mode().IsRegular() && info.Size() == 0:
		return []byte{}, info, nil
	}
	text, err := ReadFilled(f.Target, f.limit)
	return text, info, err
}

// Save replaces the text, unless the file is not what it was: [ErrChanged].
func (f *File) Save(text []byte) error {
	if bytes.Equal(text, f.Before) && (f.info != nil || text == nil) {
		return nil
	}
	dir := filepath.Dir(f.Target)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.unchanged(); err != nil {
		return err
	}
	if err := f.writable(); err != nil {
		return err
	}
	if err := atomicfile.Replace(f.Target, text, f.info); err != nil {
		return err
	}
	f.Before = text
	f.info, err = os.Stat(f.Target)
	return err
}

// unchanged looks whether the file is what was read.
func (f *File) unchanged() error {
	if to, err := Follow(f.Path); err == nil && to == f.Target {
		now, info, err := f.read()
		if err == nil && bytes.Equal(now, f.Before) && (info == nil) == (f.info == nil) {
			f.info = info
			return nil
		}
	}
	return ErrChanged
}

// writable is an error for a file that somebody has made read-only: replacing it
// would need no permission but the directory's.
func (f *File) writable() error {
	if f.info == nil {
		return nil
	}
	if f.info.Mode().Perm()&0o222 == 0 { // for root too
		return &fs.PathError{Op: "open", Path: f.Target, Err: fs.ErrPermission}
	}
	file, err := os.OpenFile(f.Target, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return file.Close()
}

// lockDir keeps other editors of this package out of a directory.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if filelock.Wait(ctx, f) != nil && ctx.Err() != nil { // on a system or a file system without locks everybody has it
		f.Close()
		return nil, fmt.Errorf("another process has been writing in %s for %s", dir, lockWait)
	}
	return func() { f.Close() }, nil // which unlocks
}
