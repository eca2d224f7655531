package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// ReadPlain reads a file that is a plain one. It never blocks: neither a pipe nor
// a device is opened, and one that took the file's place in between is not waited
// for. What has no size is not read, because the kernel's files have none, and some
// of them block.
func ReadPlain(path string, limit int64) ([]byte, error) {
	return readChecked(path, limit, func(fs.FileInfo) error { return nil })
}

// ReadPrivate is [ReadPlain] of a file with secrets, which nobody else may read or write. (Windows has no such
// mode.) Its errors name the path.
func ReadPrivate(path string, limit int64) ([]byte, error) {
	text, err := readChecked(path, limit, func(info fs.FileInfo) error {
		if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
			return fmt.Errorf("others may read or write it (mode %04o); see that what it holds is yours and was nobody else's, then: chmod 600 %s", mode, path)
		}
		return nil
	})
	if inner := (*fs.PathError)(nil); err != nil && !errors.As(err, &inner) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return text, err
}

func readChecked(path string, limit int64, check func(fs.FileInfo) error) ([]byte, error) {
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
		err = cmp.Or(CheckRegular(info), check(info))
	}
	switch {
	case err != nil:
		return nil, err
	case info.Size() > limit:
		return nil, TooLarge(limit)
	case info.Size() == 0:
		return nil, nil
	}
	return ReadUpTo(f, limit)
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

// ReadUpTo reads all of r, and fails where that is more than the limit.
func ReadUpTo(r io.Reader, limit int64) ([]byte, error) {
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
