package command

import (
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]...",
		Short: "All about a command",
		Long:  "All about a command.\n\nUsage:\n  indus help [COMMAND]...\n\nA session:\n  $ indus help mcp call",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, unknown, _ := cmd.Root().Find(args)
			if len(unknown) > 0 {
				return NoSuchCommand(of, unknown)
			}
			return of.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if of, unknown, _ := cmd.Root().Find(args); len(unknown) == 0 {
				names = commandNames(of)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func commandNames(of *cobra.Command) []string {
	return show.Names(of.Commands(), func(c *cobra.Command) string {
		if c.Hidden {
			return ""
		}
		return c.Name()
	})
}
