package toolbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/indusagi/indus/internal/proc"
)

// Command is one command line for a [Shell].
type Command struct {
	// Line is in the shell's own language.
	Line string
	// Dir is the directory in which the command runs. "" is the shell's directory, and a relative
	// path starts there.
	Dir string
	// Env is added to the shell's own environment, as "NAME=value". The later entry of a name wins.
	Env []string
	// Stdin is the command's input. nil means no input.
	Stdin io.Reader
	// Stdout and Stderr receive the command's output. nil discards it. If both are the same writer,
	// one goroutine at a time writes to it.
	Stdout, Stderr io.Writer
}

// Shell runs commands for tools. It is safe for concurrent use.
type Shell interface {
	// Run runs a command to its end and returns its exit status. A command that ran and failed is
	// not an error. When ctx ends, Run ends the command and all processes that it started, and
	// returns ctx's own error.
	Run(ctx context.Context, c Command) (exit int, err error)
}

// noShell is a [Shell] that refuses everything with [ErrAbsent].
type noShell struct{}

var _ Shell = noShell{}

func (noShell) Run(context.Context, Command) (int, error) {
	return -1, absentError("there is no shell here")
}

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
