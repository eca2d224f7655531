package mcpconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// readRegular reads a file that is a plain one and not empty.
func readRegular(path string, limit int64) ([]byte, error) {
	text, err := readPlain(path, limit)
	if err == nil && len(text) == 0 {
		err = errors.New("is empty")
	}
	return text, err
}

// readPlain reads a file that is a plain one. It never blocks: neither a pipe nor
// a device is opened, and one that took the file's place in between is not waited
// for. What has no size is not read, because the kernel's files have none, and some
// of them block.
func readPlain(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("not a file but " + modeName(info.Mode()))
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
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a file but " + modeName(info.Mode()))
	case info.Size() > limit:
		return nil, tooLarge(limit)
	case info.Size() == 0:
		return nil, nil
	}
	return readUpTo(f, limit)
}

// readNamed reads what somebody named, whatever it is: a shell's <(…) is a pipe.
// One that nobody writes into is left to itself when the context ends.
func readNamed(ctx context.Context, path string, limit int64) ([]byte, error) {
	type outcome struct {
		text []byte
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		f, err := os.Open(path)
		if err != nil {
			done <- outcome{nil, err}
			return
		}
		defer f.Close()
		text, err := readUpTo(f, limit)
		done <- outcome{text, err}
	}()
	select {
	case o := <-done:
		return o.text, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func readUpTo(r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = tooLarge(limit)
	}
	return text, err
}

func tooLarge(limit int64) error {
	if limit >= 1<<20 {
		return fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return fmt.Errorf("larger than %d KiB", limit>>10)
}
