package atomicfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// ReadPlain reads a regular file. It never blocks: it opens neither a pipe nor a device, and it does not wait if one of
// them replaced the file in between. It does not read a file of size zero, because files of the kernel have no size,
// and some of them block.
func ReadPlain(path string, limit int64) ([]byte, error) {
	return readChecked(path, limit, func(fs.FileInfo) error { return nil })
}

// ReadPrivate is [ReadPlain] for a file with secrets. It refuses a file that other users may read or write. (Windows
// has no such mode.) The group may read a file of root, because that is how Kubernetes mounts secrets for other users.
// Its errors name the path.
func ReadPrivate(path string, limit int64) ([]byte, error) {
	text, err := readChecked(path, limit, func(info fs.FileInfo) error {
		mode, others := info.Mode().Perm(), fs.FileMode(0o077)
		if isOfRoot(info) && os.Getuid() != 0 {
			others = 0o037
		}
		if runtime.GOOS != "windows" && mode&others != 0 {
			return fmt.Errorf("others may read or write it (mode %04o): check that only you wrote it, then run chmod 600 %s",
				mode, path)
		}
		return nil
	})
	if _, named := errors.AsType[*fs.PathError](err); err != nil && !named {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return text, err
}

// ReadNamed reads the file that a person named, of any kind: a shell's <(…) is a pipe, and "-" means in, unless in is
// nil. When the context ends, it stops waiting for a pipe without a writer. Its other errors are of type
// [*fs.PathError].
func ReadNamed(ctx context.Context, path string, in io.Reader, limit int64) ([]byte, error) {
	var text []byte
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		if path != "-" || in == nil {
			var f *os.File
			if f, failed = os.Open(path); failed != nil {
				return
			}
			defer f.Close()
			in = f
		}
		text, failed = ReadUpTo(in, limit)
		if _, named := errors.AsType[*fs.PathError](failed); failed != nil && !named {
			failed = &fs.PathError{Op: "read", Path: path, Err: failed}
		}
	}()
	select {
	case <-done:
		return text, failed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
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
	info, err = f.Stat()
	if err == nil {
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

// CheckRegular returns an error unless the file is a regular file.
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

// ReadUpTo reads all of r, and fails if that is more than limit bytes.
func ReadUpTo(r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = TooLarge(limit)
	}
	return text, err
}

// TooLarge returns the error for a file over a limit.
func TooLarge(limit int64) error {
	if limit >= 1<<20 {
		return fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return fmt.Errorf("larger than %d KiB", limit>>10)
}
