package toolbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/indusagi/indus/internal/proc"
)

// localShell runs commands on this machine.
type localShell struct{ dir string }

var _ Shell = localShell{}

// LocalShell returns this machine's shell in dir; "" means the working directory. The shell is bash
// if it is installed, else sh; on Windows it is cmd. Commands get the whole environment of this
// process, and can access everything that its user can. Unlike [DirFS], it confines nothing.
//
// Each command runs in its own process group, without a terminal. The group ends with the command
// or with ctx. It first gets a request to stop, and is then killed.
func LocalShell(dir string) Shell { return localShell{dir: dir} }

func (s localShell) Run(ctx context.Context, c Command) (exit int, err error) {
	path, args := program(c.Line)
	dir := c.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.dir, dir)
	}
	exit, err = proc.Run(ctx, proc.Command{
		Path: path,
		Args: args,
		Dir:  dir,
		Env:  append(os.Environ(), c.Env...),
	}, c.Stdin, c.Stdout, c.Stderr)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("shell: %w", err)
	}
	return exit, err
}

// program returns the program that runs line, and its arguments.
func program(line string) (path string, args []string) {
	if runtime.GOOS == "windows" {
		return "cmd", []string{"/d", "/s", "/c", line}
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		return bash, []string{"-c", line}
	}
	return "/bin/sh", []string{"-c", line}
}
