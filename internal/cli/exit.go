package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

// codeNames are the exit codes as JSON has them.
var codeNames = map[int]string{
	exitFault: "fault", exitUsage: "usage", exitForbidden: "forbidden", exitUnreachable: "unreachable",
	exitToolFailed: "tool_failed", exitInterrupted: "interrupted",
}

// Exit codes; exitHelp tells them to the person.
const (
	exitOK          = 0
	exitFault       = 1
	exitUsage       = 2
	exitForbidden   = 3
	exitUnreachable = 4
	exitToolFailed  = 5
	exitInterrupted = 130
)

// exitError is an error that knows its exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// silentError has nothing to say that was not said already.
type silentError struct {
	code int
	err  error // what was said; nil: data on stdout says it
}

func (e *silentError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *silentError) Unwrap() error { return e.err }

// advisedError is an error with what to try.
type advisedError struct {
	err error
	try string
}

func (e *advisedError) Error() string { return e.err.Error() + "; " + e.try }
func (e *advisedError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode is the one table from errors to exit codes. An interruption is not
// in it: who was interrupted is known by the context.
func exitCode(err error) int {
	var own *exitError
	var quiet *silentError
	var unknown *toolbox.UnknownTool
	var rpc *interop.RPCError
	var fault *interop.Fault
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EIO):
		return exitFault // whatever file it is, the person named the right one
	case errors.As(err, &quiet):
		return quiet.code
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &unknown):
		return exitUsage
	case forbidden(err):
		return exitForbidden
	case errors.As(err, &rpc):
		return exitFault
	case errors.As(err, &fault) && fault.Kind != interop.Protocol:
		return exitUnreachable
	}
	return exitFault
}

func forbidden(err error) bool {
	var answer *interop.HTTPError
	return errors.As(err, &answer) && (answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden)
}

// explain is an error with what to try, where there is advice, and a server's
// own error with the data that it sent along.
func explain(err error) error {
	var rpc *interop.RPCError
	var fault *interop.Fault
	switch {
	case errors.As(err, &rpc) && !forbidden(err):
		if len(rpc.Data) > 0 {
			return fmt.Errorf("%w; data: %s", err, brief(rpc.Data))
		}
	case errors.As(err, &fault):
		return &advisedError{err, fault.Advice()}
	}
	return err
}

// errorJSON is an error, as --json prints it.
type errorJSON struct {
	Code    string       `json:"code"` // of codeNames
	Exit    int          `json:"exit"`
	Message string       `json:"message"`
	Try     string       `json:"try,omitempty"`
	Server  string       `json:"server,omitempty"`
	Kind    interop.Kind `json:"kind,omitempty"` // of a server's fault
}

// writeError prints an error where data would have been.
func (s streams) writeError(err error) error {
	out := errorJSON{Exit: exitCode(err), Message: err.Error()}
	out.Code = codeNames[out.Exit]
	if advised, ok := errors.AsType[*advisedError](err); ok {
		out.Message, out.Try = advised.err.Error(), advised.try
	}
	if fault, ok := errors.AsType[*interop.Fault](err); ok {
		out.Server, out.Kind = fault.Server, fault.Kind
	}
	return printLine(s, map[string]errorJSON{"error": out})
}

// wantsJSON reports a command line that asks for JSON, also where it cannot be read.
func wantsJSON(cmd *cobra.Command, args []string) bool {
	if f := cmd.Flags().Lookup("json"); f != nil && f.Changed {
		return f.Value.String() == "true"
	}
	if dash := slices.Index(args, "--"); dash >= 0 {
		args = args[:dash]
	}
	return slices.Contains(args, "--json")
}

// brief is JSON on one line of bounded length.
func brief(raw json.RawMessage) string {
	const most = 500
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		b.Write(raw)
	}
	return cutText(b.String(), most)
}

// cutText is s in at most n runes.
func cutText(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}

func didYouMean(name string, known []string) string {
	near := text.Nearest(name, known, 3)
	if len(near) == 0 {
		return ""
	}
	return ", did you mean " + strings.Join(near, ", ") + "?"
}
