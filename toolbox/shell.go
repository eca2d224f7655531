package toolbox

import (
	"context"
	"io"
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
