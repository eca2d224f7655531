package command

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

// codeNames are the exit codes as JSON has them.
var codeNames = map[int]string{
	ExitFault: "fault", ExitUsage: "usage", ExitForbidden: "forbidden", ExitUnreachable: "unreachable",
	ExitToolFailed: "tool_failed", exitInterrupted: "interrupted",
}

// Exit codes; exitHelp tells them to the person.
const (
	exitOK          = 0
	ExitFault       = 1
	ExitUsage       = 2
	ExitForbidden   = 3
	ExitUnreachable = 4
	ExitToolFailed  = 5
	exitInterrupted = 130
)

// ExitError is an error that knows its exit code.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }

func (e *ExitError) Unwrap() error { return e.Err }

// SilentError has nothing to say that was not said already.
type SilentError struct {
	Code int
	Err  error // what was said; nil: data on stdout says it
}

func (e *SilentError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *SilentError) Unwrap() error { return e.Err }

// AdvisedError is an error with what to try.
type AdvisedError struct {
	Err error
	Try string
}

func (e *AdvisedError) Error() string { return e.Err.Error() + "; " + e.Try }

func (e *AdvisedError) Unwrap() error { return e.Err }

func Usagef(format string, args ...any) error {
	return &ExitError{ExitUsage, fmt.Errorf(format, args...)}
}

// ExitCode is the one table from errors to exit codes. An interruption is not
// in it: who was interrupted is known by the context.
func ExitCode(err error) int {
	var own *ExitError
	var quiet *SilentError
	var unknown *toolbox.UnknownTool
	var rpc *interop.RPCError
	var fault *interop.Fault
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EIO):
		return ExitFault // whatever file it is, the person named the right one
	case errors.As(err, &quiet):
		return quiet.Code
	case errors.As(err, &own):
		return own.Code
	case errors.As(err, &unknown):
		return ExitUsage
	case isForbidden(err):
		return ExitForbidden
	case errors.As(err, &rpc):
		return ExitFault
	case errors.As(err, &fault) && fault.Kind != interop.Protocol:
		return ExitUnreachable
	}
	return ExitFault
}

func isForbidden(err error) bool {
	var answer *interop.HTTPError
	return errors.As(err, &answer) && (answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden)
}

// Explain is an error with what to try, where there is advice, and a server's
// own error with the data that it sent along.
func Explain(err error) error {
	var rpc *interop.RPCError
	var fault *interop.Fault
	switch {
	case errors.As(err, &rpc) && !isForbidden(err):
		if len(rpc.Data) > 0 {
			return fmt.Errorf("%w; data: %s", err, show.ShortJSON(rpc.Data))
		}
	case errors.As(err, &fault):
		return &AdvisedError{err, fault.Advice()}
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
func writeError(s show.Streams, err error) error {
	out := errorJSON{Exit: ExitCode(err), Message: err.Error()}
	out.Code = codeNames[out.Exit]
	if advised, ok := errors.AsType[*AdvisedError](err); ok {
		out.Message, out.Try = advised.Err.Error(), advised.Try
	}
	if fault, ok := errors.AsType[*interop.Fault](err); ok {
		out.Server, out.Kind = fault.Server, fault.Kind
	}
	return show.PrintLine(s, map[string]errorJSON{"error": out})
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

func DidYouMean(name string, known []string) string {
	near := text.Nearest(name, known, 3)
	if len(near) == 0 {
		return ""
	}
	return ", did you mean " + strings.Join(near, ", ") + "?"
}
