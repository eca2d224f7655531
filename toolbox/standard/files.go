package standard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/indusagi/indus/toolbox"
)

const (
	// sniffed is how much of a file decides whether it is text, as in git.
	sniffed = 8000
	// maxEntries is how many entries of one directory are looked at.
	maxEntries = 100_000
	// batch is how many are read between two looks at the context.
	batch = 1000
)

// define is a tool whose errors begin with its name.
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

// opened is an open file or directory.
type opened struct {
	fs.File
	name string
	info fs.FileInfo
}

// openPath opens the file or directory at a model's path, or says what it could ask for instead.
func openPath(tc *toolbox.Context, p string) (*opened, error) {
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
	return &opened{file, name, info}, nil
}

// readUpTo reads a file of at most so many bytes; more is whether it has others, as a file that grows may.
func readUpTo(ctx context.Context, file io.Reader, most int) (data []byte, more bool, err error) {
	data, err = io.ReadAll(io.LimitReader(ctxReader{ctx, file}, int64(most)+1))
	return data, len(data) > most, err
}

// explain says what went wrong with name, and names that are near it.
func explain(tc *toolbox.Context, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		near := suggestions(tc, name)
		for i := range near {
			near[i] = show(near[i])
		}
		if len(near) > 0 {
			return fmt.Errorf("%s does not exist; did you mean %s?", show(name), strings.Join(near, " or "))
		}
		return fmt.Errorf("%s does not exist", show(name))
	}
	return pathFault(name, err)
}

// pathFault says the same of a path that has no name.
func pathFault(p string, err error) error {
	if wrapped := (*fs.PathError)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("%s: %w", show(p), err)
}

// isBinary: text has no NUL byte.
func isBinary(head []byte) bool {
	return bytes.IndexByte(head[:min(len(head), sniffed)], 0) >= 0
}

// contentType is what a file that is not text seems to be.
func contentType(head []byte) string { return http.DetectContentType(head) }

// entries are those of an open directory by name, directories and all else alike;
// more is whether there are others than these.
func entries(ctx context.Context, dir fs.File) (list []fs.DirEntry, more bool, err error) {
	reader, ok := dir.(fs.ReadDirFile)
	if !ok {
		return nil, false, errors.New("not a directory")
	}
	for len(list) < maxEntries {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		some, err := reader.ReadDir(batch)
		list = append(list, some...)
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

// join is path.Join for names that are clean already.
func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// relativeTo is name as seen from dir, which is above it.
func relativeTo(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
}
