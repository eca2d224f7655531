package edit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/indusagi/indus/internal/atomicfile"
)

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
