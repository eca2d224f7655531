package toolbox

import (
	"context"
	"io"
)

// Command is one line for a [Shell].
type Command struct {
	// Line is in the shell's own language.
	Line string
	// Dir is where it runs: "" is the shell's directory, and a relative path starts there.
	Dir string
	// Env is added to the shell's own environment, as "NAME=value"; the later wins.
	Env []string
	// Stdin is what it reads; nil is nothing.
	Stdin io.Reader
	// Stdout and Stderr hear what it writes; nil throws it away. If both are
	// the same writer, one goroutine at a time writes to it.
	Stdout, Stderr io.Writer
}

// Shell runs commands for tools. It is safe for concurrent use.
type Shell interface {
	// Run runs a command to its end. exit is its exit status; a command that ran
	// and failed is not an error. When ctx ends, the command and everything it started is
	// ended, and the error is ctx's own.
	Run(ctx context.Context, c Command) (exit int, err error)
}

// noShell is a [Shell] that refuses everything with [ErrAbsent].
type noShell struct{}

var _ Shell = noShell{}

func (noShell) Run(context.Context, Command) (int, error) {
	return -1, absence("there is no shell here")
}
