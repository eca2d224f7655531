package edit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ReadFilled reads a file that is a plain one and not empty.
func ReadFilled(path string, limit int64) ([]byte, error) {
	text, err := ReadPlain(path, limit)
	if err == nil && len(text) == 0 {
		err = errors.New("is empty")
	}
	return text, err
}

// ReadPlain reads a file that is a plain one. It never blocks: neither a pipe nor
// a device is opened, and one that took the file's place in between is not waited
// for. What has no size is not read, because the kernel's files have none, and some
// of them block.
func ReadPlain(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = CheckRegular(info)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err == nil {
		err = CheckRegular(info)
	}
	switch {
	case err != nil:
		return nil, err
	case info.Size() > limit:
		return nil, TooLarge(limit)
	case info.Size() == 0:
		return nil, nil
	}
	return readUpTo(f, limit)
}

// CheckRegular is an error for what is no plain file.
func CheckRegular(info fs.FileInfo) error {
	kind := "a device"
	switch m := info.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		kind = "a directory"
	case m&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case m&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return errors.New("not a file but " + kind)
}

// ReadNamed reads what somebody named, whatever it is: a shell's <(…) is a pipe.
// One that nobody writes into is left to itself when the context ends.
func ReadNamed(ctx context.Context, path string, limit int64) (text []byte, err error) {
	done := make(chan struct{})
	var read []byte
	var failed error
	go func() {
		defer close(done)
		var f *os.File
		if f, failed = os.Open(path); failed == nil {
			defer f.Close()
			read, failed = readUpTo(f, limit)
		}
	}()
	select {
	case <-done:
		return read, failed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func readUpTo(r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = TooLarge(limit)
	}
	return text, err
}

// TooLarge is the error for a file over a limit.
func TooLarge(limit int64) error {
	if limit >= 1<<20 {
		return fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return fmt.Errorf("larger than %d KiB", limit>>10)
}

// Reason is what the system says, without the operation and the path.
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

// Follow is where the symbolic links at path lead, also where nothing is there.
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
