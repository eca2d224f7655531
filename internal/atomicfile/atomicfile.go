// Package atomicfile replaces files in one step, and reads regular files without blocking on
// anything else.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace replaces the text of a file in one step: a reader finds either the old text or the new
// text. The new file keeps the mode and the owner of old. If old is nil, only the user may read and
// write it. The new text has a fixed temporary name until it is complete, so a crash leaves at most
// one such file. Replace never writes through a file or link that is already at the temporary name.
func Replace(path string, text []byte, old fs.FileInfo) error { return replace(path, text, old, true) }

// Publish is [Replace] for a file that is useless after a crash of the system. It does not wait for the disk, so the
// file may be empty after such a crash.
func Publish(path string, text []byte) error { return replace(path, text, nil, false) }

func replace(path string, text []byte, old fs.FileInfo, durable bool) error {
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
	if err == nil && durable {
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
	if !durable {
		return nil
	}
	if d, err := os.Open(dir); err == nil { // makes the renaming durable; if this fails, the file is complete anyway
		_ = d.Sync()
		d.Close()
	}
	return nil
}

// maxMissingSteps limits the steps, through links and directories, to a path that does not exist.
const maxMissingSteps = 40

// Real returns the absolute path to which a path leads after all links, even if nothing is there.
func Real(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return resolveLinks(path, maxMissingSteps)
}

func resolveLinks(path string, steps int) string {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return real
	case steps == 0 || path == filepath.Dir(path):
		return path
	}
	dir := resolveLinks(filepath.Dir(path), steps-1)
	path = filepath.Join(dir, filepath.Base(path))
	to, err := os.Readlink(path)
	if err != nil {
		return path
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return resolveLinks(to, steps-1)
}
