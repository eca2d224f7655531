package standard

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

// maxChange is the size in bytes of the largest file that is written or edited. Such a file is held in memory more than
// once.
const maxChange = 8 << 20

// change is one file to be written, with its old content. It is made and committed within one [toolbox.Context.Change].
type change struct {
	tc    *toolbox.Context
	name  string // the caller's name for it
	real  string // its name after symlinks are followed
	old   []byte
	isNew bool
}

// openChange reads the file to be changed, or returns an error if the file must not be changed.
func openChange(ctx context.Context, tc *toolbox.Context, p string) (*change, error) {
	name, err := tc.Path(p)
	if err != nil {
		return nil, pathFault(p, err)
	}
	if strings.HasSuffix(p, "/") {
		return nil, fmt.Errorf("%s is the name of a directory", show(p))
	}
	c := &change{tc: tc, name: name}
	if c.real, err = tc.Resolve(name); err != nil {
		return nil, pathFault(name, err)
	}
	if slices.ContainsFunc(strings.Split(c.real, "/"), isVersionControl) {
		return nil, fmt.Errorf("%s belongs to version control, which runs what it finds there: use its commands", show(name))
	}
	if files, ok := tc.FS.(WriteChecker); ok {
		if err := files.CheckWrite(c.real); err != nil {
			return nil, pathFault(name, err)
		}
	}
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	marked, same := tc.WasRead(c.real, c.old)
	switch {
	case c.isNew:
		return c, nil
	case !marked:
		return nil, fmt.Errorf("%s was not read before: read it, then change it", show(name))
	case !same:
		return nil, fmt.Errorf("%s has changed since it was read: read it again", show(name))
	}
	return c, nil
}

// isVersionControl reports whether an element of a path is a directory of version control. Like git, it also recognises
// names that some file systems treat as equal.
func isVersionControl(element string) bool {
	seen := strings.Map(func(r rune) rune {
		if text.KindOf(r) == text.Invisible {
			return -1
		}
		return r
	}, element)
	seen, _, _ = strings.Cut(strings.ToLower(seen), ":")
	return slices.Contains([]string{".git", "git~1", ".hg", ".svn", ".jj"}, strings.TrimRight(seen, ". "))
}

// read reads the whole file, if it exists. It returns an error if the file cannot be changed.
func (c *change) read(ctx context.Context) error {
	file, err := c.tc.FS.Open(c.real)
	if errors.Is(err, fs.ErrNotExist) {
		c.isNew = true
		return nil
	}
	if err != nil {
		return pathFault(c.name, err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return pathFault(c.name, err)
	case info.IsDir():
		return fmt.Errorf("%s is a directory", show(c.name))
	case info.Mode().Perm()&0o222 == 0:
		return fmt.Errorf("%s is read-only", show(c.name))
	}
	old, more, err := readUpTo(ctx, file, maxChange)
	c.old = old
	switch {
	case err != nil:
		return pathFault(c.name, err)
	case more:
		return fmt.Errorf("%s has more than %d MiB: it is too large to be changed here", show(c.name), maxChange>>20)
	case isBinary(c.old):
		return fmt.Errorf("%s is not text: %s", show(c.name), http.DetectContentType(c.old))
	}
	return nil
}

// commit replaces the file's content by data, and marks it as read.
func (c *change) commit(ctx context.Context, data []byte) error {
	if len(data) > maxChange {
		return fmt.Errorf("%s would have more than %d MiB", show(c.name), maxChange>>20)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.isNew {
		if err := c.tc.FS.MkdirAll(path.Dir(c.real), 0o755); err != nil {
			return pathFault(c.name, err)
		}
	}
	if err := c.tc.FS.WriteFile(c.real, data, 0o644); err != nil {
		return pathFault(c.name, err)
	}
	c.tc.MarkRead(c.real, sha256.Sum256(data))
	return nil
}

// result returns the change as a unified diff.
func (c *change) result(data []byte) *toolbox.Result {
	p := newPage(c.tc)
	p.diff(show(c.name), newPlainText(c.old).text, newPlainText(data).text)
	return p.result()
}
