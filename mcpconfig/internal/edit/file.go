// Package edit reads and replaces configuration files. It changes their texts, in JSON, TOML and YAML, so that all
// other parts keep their bytes.
package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/filelock"
)

// ErrChanged is returned if a file changed after it was opened.
var ErrChanged = errors.New("the file has changed since it was read")

// File is a file that was read and is to be replaced.
type File struct {
	Path   string // as it was named
	Target string // the file to which its symbolic links lead
	Before []byte // nil if there is no file
	info   fs.FileInfo
	limit  int64
}

// Open reads a file. A missing file is not an error.
func Open(path string, limit int64) (*File, error) {
	f := &File{Path: path, limit: limit}
	var err error
	if f.Target, err = Follow(path); err != nil {
		return nil, err
	}
	f.Before, f.info, err = f.read()
	return f, err
}

// read returns the present content of the file. If there is no file, it returns nil and nil.
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

// Save replaces the text. If the file changed, it returns [ErrChanged].
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

// unchanged returns ErrChanged if the file differs from the text that was read.
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

// writable returns an error if the file is read-only. A replacement would need only the permission to write the
// directory.
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

// lockDir locks out other editors of this package from a directory.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), filelock.MaxWait)
	defer cancel()
	if filelock.Wait(ctx, f) != nil && ctx.Err() != nil { // without support for locks, every caller gets it
		f.Close()
		return nil, fmt.Errorf("another process has been writing in %s for %s", dir, filelock.MaxWait)
	}
	return func() { f.Close() }, nil // closing it unlocks it
}

// ReadFilled reads a file that must be a regular file and not empty.
func ReadFilled(path string, limit int64) ([]byte, error) {
	text, err := atomicfile.ReadPlain(path, limit)
	if err == nil && len(text) == 0 {
		err = errors.New("is empty")
	}
	return text, err
}

// Reason returns the system's message, without the operation and the path.
func Reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "no such file or directory"
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return "a part of the path is not a directory"
	}
	return err.Error()
}

// Follow returns the path to which the symbolic links at path lead. Nothing needs to be there.
func Follow(path string) (string, error) {
	if path == "" {
		return "", errors.New("an empty path names no file")
	}
	for range 40 {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return path, err
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", errors.New("too many symbolic links")
}
