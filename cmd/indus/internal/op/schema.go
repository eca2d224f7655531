package op

import (
	"context"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/operation"
	"github.com/spf13/cobra"
)

func newOpSchema(s show.Streams) *cobra.Command {
	return new(opFlags).command(s, "print JSON, as it does anyway", func(_ context.Context, r *operation.Registry, args []string) error {
		spec, err := findOp(r, args[0])
		if err != nil {
			return err
		}
		return s.WriteIndented(spec)
	}, cobra.Command{
		Use: "schema URL NAME", Short: "Show all that is known of one operation", Long: opSchemaHelp,
		Args: opArguments(false, "a URL", "the name of an operation"),
	})
}

const opSchemaHelp = `Show all that is known of one operation, as JSON: its name, kind and description,
the schema of its input as the server wrote it, that of its value, and the errors
with which it can end.

A session:
  $ indus op schema http://127.0.0.1:3001/mcp get-sum | jq .input.required
  [
    "a",
    "b"
  ]

` + opExitHelp
