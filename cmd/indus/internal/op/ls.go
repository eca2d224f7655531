package op

import (
	"fmt"
	"io"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/operation"
	"github.com/spf13/cobra"
)

func newOpLs(s show.Streams) *cobra.Command {
	var f opFlags
	cmd := &cobra.Command{
		Use: "ls URL", Aliases: []string{"list"},
		Short: "List the operations of a server",
		Long:  opLsHelp,
		Args:  opArguments(false, "a URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.operations(cmd.Context(), args[0], s)
			if err != nil {
				return err
			}
			defer r.Close()
			return f.printOps(s, r)
		},
	}
	f.add(cmd)
	return cmd
}

const opLsHelp = `List the operations that the tools of a server become: the kind of each, what it
takes (a "?" marks what may be left out) and what it does. What a server lists
that cannot be an operation stands on stderr, with the reason.

Usage:
  indus op ls [FLAG]... URL

Flags:
  --json       print a JSON array of all that is known of each` + opFlagsHelp + `

A session:
  $ indus op ls http://127.0.0.1:3001/mcp --namespace all --trust-annotations
  query     all/echo(message: string)
      Echoes back the input string
  …

` + opExitHelp

func (f *opFlags) printOps(s show.Streams, r *operation.Registry) error {
	if f.asJSON {
		return s.WriteIndented(specs(r))
	}
	var b strings.Builder
	for _, spec := range specs(r) {
		fmt.Fprintf(&b, "%-8s  %s\n", spec.Kind, show.Clean(spec.Name+signature.Parse(spec.Input).Signature(arguments.Style)))
		if text := show.Summary(spec.Description); text != "" {
			fmt.Fprintf(&b, "    %s\n", text)
		}
	}
	_, err := io.WriteString(s.Out, b.String())
	return err
}
