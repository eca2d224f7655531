package op

import (
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

func newOpSchema(s show.Streams) *cobra.Command {
	var f opFlags
	cmd := &cobra.Command{
		Use:   "schema URL NAME",
		Short: "Show all that is known of one operation",
		Long:  opSchemaHelp,
		Args:  opArguments(false, "a URL", "the name of an operation"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.operations(cmd.Context(), args[0], s)
			if err != nil {
				return err
			}
			defer r.Close()
			spec, err := findOp(r, args[1])
			if err != nil {
				return err
			}
			return s.WriteIndented(spec)
		},
	}
	f.add(cmd)
	return cmd
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
