package standard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/indusagi/indus/toolbox"
)

// bashLimit is the default time limit of a command in seconds. It suits a build, and no server.
const bashLimit = 120

// Bash returns the tool "bash", which runs one command line in the context's shell to its end.
//
// It runs in the context's directory or below it, without input, for two minutes by default and ten at most. Its
// background processes end with it. The result is its output: both streams in the order in which they were written,
// without terminal controls. If the output exceeds the budget, the middle is cut out. An exit status other than 0 is an
// error result. While the command runs, progress reports the end of the output so far and its number of bytes.
//
// Processes that leave the command's session (setsid, a daemon) keep running. If the tool belongs to a [Deck], they end
// with the deck, on Linux.
//
// The directory is only the place where a command starts, and confines nothing: a command may do everything that the
// user may do.
func Bash() toolbox.Tool {
	return define("bash",
		"Run a command line with the user's shell and wait for its end. "+
			"The result is its output (stdout and stderr together; of a long one the beginning and the end) "+
			"and its exit status. "+
			"It cannot ask questions: there is no input and no terminal. It is stopped after timeout seconds. "+
			"Each call is a new shell: cd and variables are forgotten. What it leaves in the background (&) ends with it: "+
			"use process for servers and watchers. Use read, grep and find to look at files.",
		bash)
}

type bashInput struct {
	Command string `json:"command" jsonschema:"minLength=1" jsonschema_description:"The command line."`
	Timeout *int   `json:"timeout,omitempty" jsonschema:"minimum=1,maximum=600" jsonschema_description:"How many seconds it may take, 120 by default."`
	Dir     string `json:"dir,omitempty" jsonschema_description:"Where it starts, relative to the working directory or absolute inside it; the working directory by default."`
}

func bash(ctx context.Context, tc *toolbox.Context, in bashInput) (*toolbox.Result, error) {
	dir, err := startDir(tc, in.Dir)
	if err != nil {
		return nil, err
	}
	limit := time.Duration(valueOr(in.Timeout, bashLimit)) * time.Second
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out := newOutputBuffer(tc)
	stop := out.report(tc)
	exit, err := tc.Shell.Run(limited, toolbox.Command{Line: in.Command, Dir: dir, Stdout: out, Stderr: out})
	stop()
	output := out.take(newPage(tc).room)
	switch {
	case err == nil && exit == 0:
		return textResult("%s", withNotes(output, "")), nil
	case err == nil:
		return toolbox.ErrorResult(withNotes(output, fmt.Sprintf("exit status %d", exit))), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil && errors.Is(err, limited.Err()):
		note := fmt.Sprintf("stopped after %v; pass a longer timeout, or use process for what goes on running", limit)
		return toolbox.ErrorResult(withNotes(output, note)), nil
	}
	return toolbox.ErrorResult(withNotes(output, "bash: "+err.Error())), nil
}

// withNotes returns the output of a command with notes about it.
func withNotes(output string, notes ...string) string {
	if output == "" {
		output = "(no output)"
	}
	for _, note := range notes {
		if note != "" {
			output += "\n(" + note + ")"
		}
	}
	return strings.TrimSuffix(output, "\n")
}

// startDir returns the directory in which a command starts, for [toolbox.Command]. It must be a directory of the
// context's files.
func startDir(tc *toolbox.Context, dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	name, err := tc.Path(dir)
	if err != nil {
		return "", pathFault(dir, err)
	}
	info, err := tc.FS.Stat(name)
	if err != nil {
		return "", explain(tc, name, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", show(name))
	}
	return filepath.FromSlash(name), nil
}
