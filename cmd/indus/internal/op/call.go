package op

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/operation/bridge"
	"github.com/spf13/cobra"
)

func newOpCall(s show.Streams) *cobra.Command {
	var f opFlags
	cmd := f.command(s,
		`print the envelope, of an error too: {"id", "value"} or {"id", "error": {"code", "message", "retryable",
		"details"}}`, func(ctx context.Context, r *operation.Registry, args []string) error {
			return f.call(ctx, r, args[0], f.input, s)
		}, cobra.Command{
			Use: "call URL NAME [ARGUMENT]...", Short: "Call an operation and print its value", Long: opCallHelp,
		})
	cmd.Args = func(cmd *cobra.Command, args []string) error { // before the server is called
		err := command.Needs(2, "a URL and the name of an operation; see indus op call -h", "")(cmd, args)
		if err == nil {
			f.input, err = opInput(cmd.Context(), args[2:], s)
		}
		return err
	}
	return cmd
}

const opCallHelp = `Call an operation and print its value, which is JSON: the structured
content of the result if the tool declares any, and otherwise its content blocks.

Usage:
  indus op call [FLAG]... URL NAME [ARGUMENT]...

` + arguments.Help + `

  An input that does not fit the schema ends with INVALID_INPUT, and the server
  is not asked.

A session:
  $ indus op call http://127.0.0.1:3001/mcp echo '{"message":"hi"}' --json
  {"id":"call-1","value":[{"type":"text","text":"Echo: hi"}]}
  $ indus op call http://127.0.0.1:3001/mcp get-sum a=2
  indus: INVALID_INPUT: missing required "b" (number)

` + opExitHelp

// opInput parses the arguments of a call. One of them may be the whole input.
func opInput(ctx context.Context, words []string, s show.Streams) (*arguments.Input, error) {
	var objects []string
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		isObject := strings.HasPrefix(w, "{")
		if isObject {
			objects = append(objects, w)
		}
		return isObject
	})
	a, err := arguments.Parse(words, "", command.FileReader(ctx, s.In))
	for _, object := range objects {
		if err == nil {
			err = a.SetJSON([]byte(object), "the input")
		}
	}
	return a, err
}

func (f *opFlags) call(
	ctx context.Context, r *operation.Registry, name string, a *arguments.Input, s show.Streams,
) error {
	spec, err := f.find(name)
	if err != nil {
		return err
	}
	input, err := a.Object(spec.Input)
	if err != nil {
		return err
	}
	answer := r.Call(ctx, operation.Call{Operation: name, Input: input})
	switch {
	case f.asJSON:
		raw, err := answer.MarshalJSON() // json.Marshal would escape <, > and &
		if err != nil {
			return err
		}
		if err := s.WriteJSON(raw); err != nil {
			return err
		}
	case answer.Err == nil:
		return s.WriteJSON(json.RawMessage(show.IndentJSON(answer.Value)))
	}
	switch {
	case answer.Err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return f.exitError(answer.Err)
}

// exitError adds an exit code to the error of an operation.
func (f *opFlags) exitError(e *operation.Error) error {
	code, more := command.ExitFault, ""
	switch e.Code {
	case operation.NotFound, operation.InvalidInput:
		code = command.ExitUsage
	case bridge.Unauthorized:
		code, more = command.ExitForbidden, "; "+f.tokenAdvice()
	case bridge.Unavailable, operation.Timeout:
		code = command.ExitUnreachable
	case bridge.ToolError:
		code = command.ExitToolFailed
	case bridge.Refused:
		more = "; details: " + show.Cut(show.CompactJSON(e.Details), 500)
	}
	return &command.ExitError{Code: code, Err: fmt.Errorf("%w%s", e, more)}
}
