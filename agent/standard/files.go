package standard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/indusagi/indus/toolbox"
)

const (
	// sniffSize is the number of bytes of a file that decide whether it is text, as in git.
	sniffSize = 8000
	// maxEntries is the maximum number of entries read from one directory.
	maxEntries = 100_000
	// readBatch is the number of entries read between two checks of the context.
	readBatch = 1000
)

// define returns a tool that puts its name in front of its errors.
func define[In any](
	name, description string, run func(context.Context, *toolbox.Context, In) (*toolbox.Result, error),
) toolbox.Tool {
	return toolbox.Define(name, description, func(ctx context.Context, in In) (*toolbox.Result, error) {
		r, err := run(ctx, toolbox.ContextOf(ctx), in)
		if err != nil {
			return nil, toolbox.Errorf("%s: %w", name, err)
		}
		return r, nil
	})
}

// openedFile is an open file or directory.
type openedFile struct {
	fs.File
	name string
	info fs.FileInfo
}

// openPath opens the file or directory at a model's path. If it does not exist, the error suggests similar
// names.
func openPath(tc *toolbox.Context, p string) (*openedFile, error) {
	name, err := tc.Path(p)
	if err != nil {
		return nil, pathFault(p, err)
	}
	file, err := tc.FS.Open(name)
	if err != nil {
		return nil, explain(tc, name, err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, explain(tc, name, err)
	}
	return &openedFile{file, name, info}, nil
}

// readUpTo reads at most most bytes of a file. more reports whether there are further bytes, as in a
// growing file.
func readUpTo(ctx context.Context, file io.Reader, most int) (data []byte, more bool, err error) {
	data, err = io.ReadAll(io.LimitReader(ctxReader{ctx, file}, int64(most)+1))
	return data, len(data) > most, err
}

// explain returns the error for name, with similar names if it does not exist.
func explain(tc *toolbox.Context, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		similar := suggestions(tc, name)
		for i := range similar {
			similar[i] = show(similar[i])
		}
		if len(similar) > 0 {
			return fmt.Errorf("%s does not exist; did you mean %s?", show(name), strings.Join(similar, " or "))
		}
		return fmt.Errorf("%s does not exist", show(name))
	}
	return pathFault(name, err)
}

// pathFault returns the error for a path, without suggestions.
func pathFault(p string, err error) error {
	if wrapped := (*fs.PathError)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("%s: %w", show(p), err)
}

// isBinary reports whether the beginning has a NUL byte, which text does not have.
func isBinary(head []byte) bool {
	return bytes.IndexByte(head[:min(len(head), sniffSize)], 0) >= 0
}

// entries returns the entries of an open directory, sorted by name without regard to their type. more
// reports whether there are further entries.
func entries(ctx context.Context, dir fs.File) (list []fs.DirEntry, more bool, err error) {
	reader, ok := dir.(fs.ReadDirFile)
	if !ok {
		return nil, false, errors.New("not a directory")
	}
	for len(list) < maxEntries {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		chunk, err := reader.ReadDir(readBatch)
		list = append(list, chunk...)
		if errors.Is(err, io.EOF) {
			return byName(list), false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	rest, _ := reader.ReadDir(1)
	return byName(list), len(rest) > 0, nil
}

func byName(list []fs.DirEntry) []fs.DirEntry {
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list
}

// ctxReader is a reader that ends when its context does.
type ctxReader struct {
	ctx  context.Context
	from io.Reader
}

func (p ctxReader) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.from.Read(b)
}

// join is path.Join for names that are already clean.
func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// relativeTo returns name relative to dir, which contains it.
func relativeTo(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
}
