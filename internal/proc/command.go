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

// Command describes the program to start. Only Path is required.
type Command struct {
	// Path is a name or a path. A name is looked up in the PATH of Env. If Path contains a slash,
	// it is a path, and a relative path is relative to Dir.
	Path string
	Args []string // without the name of the command
	Dir  string   // "" is our working directory
	// Env is the whole environment, with entries "KEY=value". The last of several entries with one
	// key counts. If it is nil, the environment is empty. See [Environ].
	Env []string
	// Grace limits how long Close and Run wait.
	Grace Grace
	// Box starts the child confined. If it is nil, the child may do everything that we may.
	Box Starter
}

// Starter starts a process as [os.StartProcess] does, under limits of its own. It may change the environment.
type Starter interface {
	Start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error)
	// Allow adds a directory that the next process can write.
	Allow(dir string) error
}

// Grace is the time that a child has for each step of its end. Zero means the default of two
// seconds. Negative means no time.
type Grace struct {
	Stdin time.Duration // from the end of stdin to SIGTERM
	Term  time.Duration // from SIGTERM to SIGKILL
}

// defaultGrace is two seconds before each step, as in the other SDKs. The MCP specification
// requires only "a reasonable time".
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

// defaultPath is the PATH if Env has none, as for execvp.
const defaultPath = "/usr/bin:/bin"

// ProgramName returns the name of a program in lower case, without its directory, and without an ending such as ".cmd".
func ProgramName(path string) string {
	name := strings.ToLower(path[strings.LastIndexAny(path, `/\`)+1:])
	switch ext := filepath.Ext(name); ext {
	case ".exe", ".cmd", ".bat", ".ps1":
		return strings.TrimSuffix(name, ext)
	}
	return name
}

// Find returns the path of the program that [Start] would start, or the error that Start would
// return.
func (c Command) Find() (string, error) {
	path, _, err := c.resolve()
	if err != nil {
		return "", c.fail(err)
	}
	return path, nil
}

// resolve finds the program and its working directory. Its error names the missing one, because
// after a fork both errors are "no such file".
func (c Command) resolve() (path, dir string, err error) {
	dir = c.Dir
	if dir != "" {
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
		// Not Join: it would change a/link/.. to a.
		path = dir + string(filepath.Separator) + path
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return "", &fs.PathError{Op: "exec", Path: path, Err: cause(err)}
	}
	return found, nil
}

// search looks up a name in the PATH of Env. It skips relative entries: package exec refuses them
// too, and Dir may be a foreign repository.
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

// SearchPath returns the PATH of Env, in which names are looked up. If Env has none, it returns the
// default of execvp.
func (c Command) SearchPath() string {
	path := defaultPath
	for _, entry := range c.Env {
		if key, value, ok := strings.Cut(entry, "="); ok && foldKey(key) == "PATH" {
			path = value
		}
	}
	return path
}

// fail wraps the error of a command that did not start.
func (c Command) fail(err error) error {
	return fmt.Errorf("start %s: %w", c.Path, err)
}

// cause unwraps an error of packages os and exec, which would repeat the path.
func cause(err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return err
}
