package toolbox

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"path/filepath"
	"strings"
	"sync"
)

// DefaultBudget is the number of bytes of output that a model is shown for one call. It is about 16,000 tokens,
// which a few calls in a row can afford.
const DefaultBudget = 64 << 10

// maxPath is the maximum length of a path in bytes, as on Linux. It bounds the work of functions that examine each
// element.
const maxPath = 4096

// Context holds the resources that local tools may use: one directory, one shell, and the record of files already
// read. The zero Context refuses everything.
//
// Set its fields before the first call and do not change them afterwards; do not copy it. Registries with the same
// Context share the record of read files. All methods are safe for concurrent use.
type Context struct {
	// ID names the session, for example, that the tools work for. It may be "".
	ID string
	// Dir is the absolute path of FS's root. [Context.Path] uses it to resolve absolute paths. If it is "", absolute
	// paths are refused.
	Dir string
	// FS gives access to files. If it is nil, every access is refused with [ErrAbsent].
	FS FS
	// Shell runs commands. If it is nil, every command is refused with [ErrAbsent].
	Shell Shell
	// Budget is the maximum number of bytes that a tool should return. Output within it is not cut in the middle
	// afterwards. If it is 0, it is [DefaultBudget]. A negative value means no bound.
	Budget int

	// Logger logs the errors and panics of tools that their callers do not see. nil means [slog.Default].
	Logger *slog.Logger

	// Only set in the context of one call:
	parent  *Context // the context from which this context was made
	call    Call
	session string
	life    context.Context // ends with the session, or with the call

	changeLock sync.Mutex // held while a tool changes files

	mu    sync.Mutex
	reads map[string][sha256.Size]byte // by file, the hash of its content when it was read
}

// NewContext returns a context for the directory dir, which must exist. It uses [DirFS] for files and [LocalShell]
// in dir for commands.
func NewContext(dir string) (*Context, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("toolbox: %w", err)
	}
	files, err := DirFS(dir)
	if err != nil {
		return nil, err
	}
	return &Context{Dir: dir, FS: files, Shell: LocalShell(dir)}, nil
}

// forCall returns the context of one call, and the function that ends it. After done, no progress is reported.
func (c *Context) forCall(ctx context.Context, call Call) (tc *Context, done func()) {
	done = func() {}
	if call.Progress != nil {
		call.Progress, done = serializeReports(call.Progress)
	}
	tc = &Context{
		ID: c.ID, Dir: c.Dir, FS: c.FS, Shell: c.Shell, Budget: c.Budget, Logger: c.Logger,
		parent: c, call: call, life: ctx,
	}
	if client := clientOf(ctx); client != nil {
		if name, life := client.Session(); life != nil {
			tc.session, tc.life = name, life
		}
	}
	if tc.FS == nil {
		tc.FS = noFS{}
	}
	if tc.Shell == nil {
		tc.Shell = noShell{}
	}
	return tc, done
}

// serializeReports passes on one report at a time, and none after done.
func serializeReports(receive func(Progress)) (report func(Progress), done func()) {
	var mu sync.Mutex
	ended := false
	report = func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			receive(p)
		}
	}
	done = func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
	return report, done
}

// Call returns the call that the tool answers. It is zero if this context belongs to no call.
func (c *Context) Call() Call { return c.call }

// Report sends a progress report to the caller, if it listens. It may be called from any goroutine. After the tool
// has returned, it does nothing.
func (c *Context) Report(p Progress) {
	if c.call.Progress != nil {
		c.call.Progress(p)
	}
}

// Limit returns Budget as a number of bytes for comparisons.
func (c *Context) Limit() int {
	switch {
	case c.Budget == 0:
		return DefaultBudget
	case c.Budget < 0:
		return math.MaxInt
	}
	return c.Budget
}

// Path returns the name in FS for a path that a model wrote. The path is relative to Dir, or absolute and inside
// Dir; "" is Dir itself. If the path leads out of Dir, the error is [ErrOutside], even if the path does not exist.
// Path examines only the text. FS checks whether a symlink leads out.
func (c *Context) Path(path string) (string, error) {
	refused := &fs.PathError{Op: "open", Path: path, Err: ErrOutside}
	switch {
	case len(path) > maxPath:
		refused.Err = fmt.Errorf("the path has more than %d bytes", maxPath)
		return "", refused
	case strings.ContainsRune(path, 0):
		refused.Err = fs.ErrInvalid
		return "", refused
	}
	for _, dir := range c.roots(path) {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(dir, path)
		}
		if name, err := filepath.Rel(dir, full); err == nil && filepath.IsLocal(name) {
			return filepath.ToSlash(name), nil
		}
	}
	return "", refused
}

// roots returns the directories from which path may be resolved. It returns Dir and, for an absolute path, also Dir
// with its symlinks resolved, as getcwd returns it.
func (c *Context) roots(path string) []string {
	switch {
	case !filepath.IsAbs(path):
		return []string{c.Dir}
	case c.Dir == "":
		return nil
	}
	roots := []string{c.Dir}
	if real, err := filepath.EvalSymlinks(c.Dir); err == nil && real != c.Dir {
		roots = append(roots, real)
	}
	return roots
}

// MarkRead records that the caller was shown the file name, or a part of it, and the SHA-256 of its whole content. name
// is a result of [Context.Path]. Times and sizes are not enough: a file may be written twice within one tick of its
// clock, or be touched without a change. The record applies to the file's other names through symlinks too.
func (c *Context) MarkRead(name string, hash [sha256.Size]byte) {
	name = c.realName(name)
	w := c.root()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads == nil {
		w.reads = map[string][sha256.Size]byte{}
	}
	w.reads[name] = hash
}

// WasRead reports whether the file name was ever marked as read, and whether its content then was the same as content.
func (c *Context) WasRead(name string, content []byte) (marked, same bool) {
	name = c.realName(name)
	w := c.root()
	w.mu.Lock()
	hash, marked := w.reads[name]
	w.mu.Unlock()
	return marked, marked && hash == sha256.Sum256(content)
}

// Change locks the files of a Context for a tool that changes them. It waits until no other tool of the same Context
// holds the lock, and holds it until done is called. Without it, a tool that reads a file, edits the content and writes
// it would lose concurrent writes. There is one lock for all files, because one file may have many names.
func (c *Context) Change() (done func()) {
	w := c.root()
	w.changeLock.Lock()
	return w.changeLock.Unlock
}

func (c *Context) realName(name string) string {
	if found, err := c.Resolve(name); err == nil {
		return found
	}
	return name
}

// root returns the context in which calls share the record of read files.
func (c *Context) root() *Context {
	if c.parent != nil {
		return c.parent
	}
	return c
}
