package command

import (
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

// newHelp is the help command of a group, or of the root; example is a command below it.
func newHelp(group *cobra.Command, example string) *cobra.Command {
	path := group.CommandPath() + " help"
	return &cobra.Command{
		Use:    "help [COMMAND]...",
		Short:  "All about a command",
		Hidden: group.HasParent(), // -h does it too
		Long:   "All about a command.\n\nUsage:\n  " + path + " [COMMAND]...\n\nA session:\n  $ " + path + " " + example,
		RunE: func(cmd *cobra.Command, args []string) error {
			of, unknown, _ := group.Find(args)
			if len(unknown) > 0 {
				return NoSuchCommand(of, unknown)
			}
			return of.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if of, unknown, _ := group.Find(args); len(unknown) == 0 {
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
