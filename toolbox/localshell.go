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

// LocalShell is this machine's shell in dir, "" for the working directory: bash where
// there is one, else sh; on Windows cmd. Commands get this process's whole
// environment and may go wherever its user may: unlike [DirFS] it confines nothing.
//
// Each command runs in a process group of its own, without a terminal. The group
// ends with the command or with ctx, first asked and then killed.
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

// program is what understands line.
func program(line string) (path string, args []string) {
	if runtime.GOOS == "windows" {
		return "cmd", []string{"/d", "/s", "/c", line}
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		return bash, []string{"-c", line}
	}
	return "/bin/sh", []string{"-c", line}
}
