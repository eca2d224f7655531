package op

import (
	"context"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/operation"
	"github.com/spf13/cobra"
)

func newOpLs(s show.Streams) *cobra.Command {
	var f opFlags
	return f.command(s, "print a JSON array of all that is known of each",
		func(_ context.Context, r *operation.Registry, _ []string) error { return f.printOps(s, r) },
		cobra.Command{
			Use: "ls URL", Aliases: []string{"list"}, Short: "List the operations of a server", Long: opLsHelp,
			Args: opArguments(false, "a URL"),
		})
}

const opLsHelp = `List the operations that the tools of a server become: the kind of each, what it
takes (a "?" marks what may be left out) and what it does. What a server lists
that cannot be an operation is reported on stderr, with the reason.

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
	var p show.Page
	for _, spec := range specs(r) {
		p.Printf("%-8s  %s\n", spec.Kind, spec.Name+signature.Parse(spec.Input).Signature(arguments.Style))
		if text := show.Summary(spec.Description); text != "" {
			p.Printf("    %s\n", text)
		}
	}
	return s.Print(&p)
}
