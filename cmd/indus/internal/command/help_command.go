package command

import (
	"github.com/spf13/cobra"
)

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]...",
		Short: "All about a command",
		Long:  "All about a command.\n\nUsage:\n  indus help [COMMAND]...\n\nA session:\n  $ indus help mcp call",
		RunE: func(cmd *cobra.Command, args []string) error {
			of := cmd.Root()
			for _, a := range args {
				next := child(of, a)
				if next == nil {
					return NoSuchCommand(of, []string{a})
				}
				of = next
			}
			return of.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			of := cmd.Root()
			for _, a := range args {
				if of = child(of, a); of == nil {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
			}
			return commandNames(of), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func child(of *cobra.Command, name string) *cobra.Command {
	for _, c := range of.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return c
		}
	}
	return nil
}

func commandNames(of *cobra.Command) []string {
	var names []string
	for _, c := range of.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}
