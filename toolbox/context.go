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

// DefaultBudget is how many bytes of output a model is shown of one call: about
// 16,000 tokens, which a few calls in a row can afford.
const DefaultBudget = 64 << 10

// maxPath is how many bytes a path may have, as on Linux: what looks at its elements one by one takes time for each.
const maxPath = 4096

// Context is what local tools may touch: one directory, one shell, and what was
// read before. The zero Context refuses everything.
//
// Set its fields before the first call and leave them alone thereafter; do not copy
// it. Registries that get the same Context share what was read. All methods are
// safe for concurrent use.
type Context struct {
	// ID names whoever the tools work for, a session for example; "" is good.
	ID string
	// Dir is the absolute path of FS's root, by which [Context.Path] understands
	// absolute paths. "": they are refused.
	Dir string
	// FS is the files; nil refuses everything with [ErrAbsent].
	FS FS
	// Shell runs commands; nil refuses everything with [ErrAbsent].
	Shell Shell
	// Budget is how many bytes a tool should give at most, so that nothing has to be cut
	// from the middle afterwards. 0 is [DefaultBudget], negative is no bound.
	Budget int

	// Logger logs the errors and panics of tools that their callers do not see. nil: [slog.Default].
	Logger *slog.Logger

	// Of one call's own context:
	parent  *Context // the one it was made from
	call    Call
	session string
	life    context.Context // ends with the session, or with the call

	changes sync.Mutex // held while a tool changes files

	mu    sync.Mutex
	reads map[string][sha256.Size]byte // of each file, the hash of what it held
}

// NewContext gives tools the directory dir, which must exist, by [DirFS], and this
// machine's shell in it, by [LocalShell].
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

// during is the context of one call, and what ends it: after done no progress is
// reported.
func (c *Context) during(ctx context.Context, call Call) (tc *Context, done func()) {
	done = func() {}
	if call.Progress != nil {
		call.Progress, done = inTurn(call.Progress)
	}
	tc = &Context{ID: c.ID, Dir: c.Dir, FS: c.FS, Shell: c.Shell, Budget: c.Budget, Logger: c.Logger, parent: c, call: call}
	tc.life = ctx
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

// inTurn lets one report at a time through, and none after done.
func inTurn(hear func(Progress)) (report func(Progress), done func()) {
	var mu sync.Mutex
	over := false
	report = func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			hear(p)
		}
	}
	done = func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
	return report, done
}

// Call is the call that the tool answers; zero in a context that no call was made from.
func (c *Context) Call() Call { return c.call }

// Report says how the call goes on, to whoever listens. It may be called from any
// goroutine; after the tool has returned it does nothing.
func (c *Context) Report(p Progress) {
	if c.call.Progress != nil {
		c.call.Progress(p)
	}
}

// Limit is Budget as a number of bytes that can be compared with.
func (c *Context) Limit() int {
	switch {
	case c.Budget == 0:
		return DefaultBudget
	case c.Budget < 0:
		return math.MaxInt
	}
	return c.Budget
}

// Path is the name in FS of a path as a model writes it: relative to Dir, or
// absolute and inside Dir; "" is Dir itself. A path that leads out of Dir is an
// [ErrOutside], even where it does not exist. It looks at the text alone: whether a
// symlink leads out is for FS to say.
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

// roots are the directories that path may be told from: Dir, and for an absolute path
// also what Dir is once its symlinks are followed, as getcwd has it.
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
