package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

// codeNames maps exit codes to their names in JSON.
var codeNames = map[int]string{
	ExitFault: "fault", ExitUsage: "usage", ExitForbidden: "forbidden", ExitUnreachable: "unreachable",
	ExitToolFailed: "tool_failed", exitInterrupted: "interrupted",
}

// Exit codes. exitHelp explains them.
const (
	exitOK          = 0
	ExitFault       = 1
	ExitUsage       = 2
	ExitForbidden   = 3
	ExitUnreachable = 4
	ExitToolFailed  = 5
	exitInterrupted = 130
)

// ExitError is an error with its exit code and advice.
type ExitError struct {
	Code int // exit code; 0 stands for the code of Err
	Err  error
	Try  string // advice; may be ""
	Said bool   // the error was reported already
}

func (e *ExitError) Error() string {
	switch {
	case e.Err == nil:
		return ""
	case e.Try == "":
		return e.Err.Error()
	}
	return e.Err.Error() + "; " + e.Try
}

func (e *ExitError) Unwrap() error { return e.Err }

// Usagef returns a usage error: the command line is wrong.
func Usagef(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if errors.Is(err, cluster.ErrUnavailable) { // the usage may be right
		return &ExitError{Code: ExitUnreachable, Err: err}
	}
	return &ExitError{Code: ExitUsage, Err: err}
}

// Exclude returns the usage error for two parts of a command line that exclude each other.
func Exclude(a, b string) error {
	return Usagef("%s and %s exclude each other: leave out one of them", a, b)
}

// AsUsage turns an error into a usage error. If err is nil, it returns nil.
func AsUsage(err error) error {
	if err == nil {
		return nil
	}
	return Usagef("%w", err)
}

// Said marks an error as already reported.
func Said(err error) error { return &ExitError{Err: err, Said: true} }

// ExitCode maps errors to exit codes. It does not handle interruptions, which are known from the context.
func ExitCode(err error) int {
	own, isOwn := errors.AsType[*ExitError](err)
	unknown, rpc := (*toolbox.UnknownTool)(nil), (*interop.RPCError)(nil)
	fault := (*interop.Fault)(nil)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EIO):
		return ExitFault // the name of the file on the command line is correct
	case isOwn && own.Code != 0:
		return own.Code
	case isOwn && own.Err != nil:
		return ExitCode(own.Err)
	case errors.As(err, &unknown):
		return ExitUsage
	case errors.Is(err, cluster.ErrUnavailable):
		return ExitUnreachable
	case isForbidden(err):
		return ExitForbidden
	case errors.As(err, &rpc):
		return ExitFault
	case errors.As(err, &fault) && fault.Kind != interop.Protocol, isStep(err, true):
		return ExitUnreachable
	}
	return ExitFault
}

// isStep reports whether err is a failed step of a sign-in. If unreachable is true, only unreachable servers count,
// otherwise only other reasons.
func isStep(err error, unreachable bool) bool {
	step, ok := errors.AsType[interface {
		error
		Unreachable() bool
	}](err)
	return ok && step.Unreachable() == unreachable
}

func isForbidden(err error) bool {
	answer, ok := errors.AsType[*interop.HTTPError](err)
	fault, isFault := errors.AsType[*interop.Fault](err)
	return isFault && fault.NeedsSignIn() || isStep(err, false) ||
		ok && (answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden)
}

// Explain adds the advice to a fault, and the data to a JSON-RPC error of a server.
func Explain(err error) error {
	rpc, fault := (*interop.RPCError)(nil), (*interop.Fault)(nil)
	switch {
	case errors.As(err, &rpc) && !isForbidden(err):
		if len(rpc.Data) > 0 {
			return fmt.Errorf("%w; data: %s", err, show.Cut(show.CompactJSON(rpc.Data), 500))
		}
	case errors.As(err, &fault):
		return &ExitError{Err: err, Try: fault.Advice()}
	}
	return err
}

// errorJSON is an error in the output of --json.
type errorJSON struct {
	Code    string       `json:"code"` // a value of codeNames
	Exit    int          `json:"exit"`
	Message string       `json:"message"`
	Try     string       `json:"try,omitempty"`
	Server  string       `json:"server,omitempty"`
	Kind    interop.Kind `json:"kind,omitempty"` // of the fault of a server
}

// writeError prints an error as JSON on stdout.
func writeError(s show.Streams, err error) error {
	code := ExitCode(err)
	out := errorJSON{Exit: code, Code: codeNames[code], Message: err.Error()}
	for own, ok := errors.AsType[*ExitError](err); ok; own, ok = errors.AsType[*ExitError](own.Err) {
		if own.Try != "" {
			out.Message, out.Try = own.Err.Error(), own.Try
		}
	}
	if fault, ok := errors.AsType[*interop.Fault](err); ok {
		out.Server, out.Kind = fault.Server, fault.Kind
	}
	return show.PrintLine(s, map[string]errorJSON{"error": out})
}

// wantsJSON reports whether a command line asks for JSON. It also works if the flags could not be parsed.
func wantsJSON(cmd *cobra.Command, args []string) bool {
	if f := cmd.Flags().Lookup("json"); f != nil && f.Changed {
		return f.Value.String() == "true"
	}
	if dash := slices.Index(args, "--"); dash >= 0 {
		args = args[:dash]
	}
	return slices.Contains(args, "--json")
}

// DidYouMean returns a hint with the known names that are similar to name, or "" if there are none.
func DidYouMean(name string, known []string) string {
	return Suggest(text.Nearest(name, known, 3))
}

// Suggest returns a hint with names, or "" if there are none.
func Suggest(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return ", did you mean " + strings.Join(near, ", ") + "?"
}

// maxQuoted bounds how much of a malformed result an error quotes, in runes.
const maxQuoted = 300

// CheckResult returns a fault that quotes the result of a prompts/get or a resources/read if it has no list of messages
// or contents. Without this check, such a result would count as an empty success. A list that is null counts as empty,
// because many servers write empty lists as null.
func CheckResult(server, method string, result json.RawMessage) error {
	list := map[string]string{"prompts/get": "messages", "resources/read": "contents"}[method]
	if list == "" {
		return nil
	}
	if rows, ok := wire.Lookup(result, list); ok && (rows[0] == '[' || rows[0] == 'n') {
		return nil
	}
	return interop.NewFault(interop.Protocol, server, method,
		errors.New("a result without a list "+string(wire.Quote(list))+": "+show.Cut(show.Clean(string(result)), maxQuoted)))
}
