package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Command says what to start. Only Path is required.
type Command struct {
	// Path is a name, looked up in the PATH of Env, or a path when it
	// contains a slash; a relative path is relative to Dir.
	Path string
	Args []string // without the command's own name
	Dir  string   // "": ours
	// Env is the whole environment, "KEY=value" each; of duplicates the last
	// counts. nil: none at all. See [Environ].
	Env []string
	// Grace is how patient Close and Run are.
	Grace Grace
}

// Grace is how long a child is given for each step of its end. Zero is the
// default of two seconds, negative is no time at all.
type Grace struct {
	Stdin time.Duration // from the end of stdin to SIGTERM
	Term  time.Duration // from SIGTERM to SIGKILL
}

// defaultGrace is what the MCP specification leaves open ("a reasonable
// time"): the other SDKs wait two seconds before each step.
const defaultGrace = 2 * time.Second

func (g Grace) orDefaults() Grace {
	if g.Stdin == 0 {
		g.Stdin = defaultGrace
	}
	if g.Term == 0 {
		g.Term = defaultGrace
	}
	return g
}

// defaultPath is where names are looked for when Env has no PATH, as execvp does.
const defaultPath = "/usr/bin:/bin"

// Find is the program that [Start] would start, or its error: the path that Path
// leads to, in the PATH of Env where it is a name.
func (c Command) Find() (string, error) {
	path, _, err := c.resolve()
	if err != nil {
		return "", c.fail(err)
	}
	return path, nil
}

// resolve finds the program and the directory to start it in, or says which
// of the two is missing: after a fork both are just "no such file".
func (c Command) resolve() (path, dir string, err error) {
	if dir = c.Dir; dir != "" {
		if dir, err = directory(dir); err != nil {
			return "", "", err
		}
	}
	if strings.ContainsRune(c.Path, '/') || strings.ContainsRune(c.Path, filepath.Separator) {
		path, err = executable(dir, c.Path)
	} else {
		path, err = c.search()
	}
	return path, dir, err
}

func directory(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", &fs.PathError{Op: "chdir", Path: dir, Err: cause(err)}
	}
	if !info.IsDir() {
		return "", &fs.PathError{Op: "chdir", Path: dir, Err: syscall.ENOTDIR}
	}
	return abs, nil
}

func executable(dir, path string) (string, error) {
	if !filepath.IsAbs(path) {
		if dir == "" {
			wd, err := os.Getwd()
			if err != nil {
				return "", err
			}
			dir = wd
		}
		// Not Join: it would take a/link/.. for a.
		path = dir + string(filepath.Separator) + path
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return "", &fs.PathError{Op: "exec", Path: path, Err: cause(err)}
	}
	return found, nil
}

// search looks a name up in the PATH of Env. Relative entries are passed over:
// package exec refuses them too, and Dir may be someone else's repository.
func (c Command) search() (string, error) {
	if c.Path == "" {
		return "", exec.ErrNotFound
	}
	missing := error(exec.ErrNotFound)
	for _, dir := range filepath.SplitList(c.SearchPath()) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, c.Path)
		found, err := exec.LookPath(path)
		if err == nil {
			return found, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			missing = &fs.PathError{Op: "exec", Path: path, Err: cause(err)}
		}
	}
	return "", missing
}

// SearchPath is the PATH in which names are looked up: that of Env, or where it has
// none what execvp takes.
func (c Command) SearchPath() string {
	path := defaultPath
	for _, entry := range c.Env {
		if key, value, ok := strings.Cut(entry, "="); ok && foldKey(key) == "PATH" {
			path = value
		}
	}
	return path
}

// fail is the error of a command that did not start.
func (c Command) fail(err error) error {
	return fmt.Errorf("start %s: %w", c.Path, err)
}

// cause takes the wrapping off an error of packages os and exec, which would
// repeat the path.
func cause(err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return err
}
