package op

import (
	"context"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/operation"
	"github.com/spf13/cobra"
)

func newOpSchema(s show.Streams) *cobra.Command {
	return new(opFlags).command(&cobra.Command{
		Use:   "schema URL NAME",
		Short: "Show all that is known of one operation",
		Long:  opSchemaHelp,
		Args:  opArguments(false, "a URL", "the name of an operation"),
	}, s, func(_ context.Context, r *operation.Registry, args []string) error {
		spec, err := findOp(r, args[0])
		if err != nil {
			return err
		}
		return s.WriteIndented(spec)
	})
}

const opSchemaHelp = `Show all that is known of one operation, as JSON: its name, kind and description,
the schema of its input as the server wrote it, that of its value, and the errors
with which it can end.

Usage:
  indus op schema [FLAG]... URL NAME

Flags:
  --json       print JSON, as it does anyway` + opFlagsHelp + `

A session:
  $ indus op schema http://127.0.0.1:3001/mcp get-sum | jq .input.required
  [
    "a",
    "b"
  ]

` + opExitHelp
