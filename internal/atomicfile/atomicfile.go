// Package atomicfile replaces files in one step, and reads them without waiting for what is none.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace gives a file a new text in one step: whoever reads it finds the old one or the
// new one. It keeps the mode and the owner that old has, and is the user's alone where that is
// nil. The new text has a fixed name until it is complete, so that a crash leaves at most one
// such file, and it is never written through what somebody put there.
func Replace(path string, text []byte, old fs.FileInfo) error {
	dir := filepath.Dir(path)
	name := filepath.Join(dir, "."+filepath.Base(path)+".new")
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && old != nil {
		err = f.Chmod(old.Mode().Perm())
		keepOwner(f, old)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		_ = os.Remove(name)
		return err
	}
	if d, err := os.Open(dir); err == nil { // so that the renaming lasts; where that cannot be done the file is whole anyway
		_ = d.Sync()
		d.Close()
	}
	return nil
}

// maxLost is how many steps, of links and directories, may lead to nothing.
const maxLost = 40

// Real is where a path leads by whatever links, absolute, whether or not anything is there.
func Real(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return realWithin(path, maxLost)
}

func realWithin(path string, steps int) string {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return real
	case steps == 0 || path == filepath.Dir(path):
		return path
	}
	dir := realWithin(filepath.Dir(path), steps-1)
	path = filepath.Join(dir, filepath.Base(path))
	to, err := os.Readlink(path)
	if err != nil {
		return path
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return realWithin(to, steps-1)
}
