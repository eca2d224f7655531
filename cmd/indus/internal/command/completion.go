package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

func newCompletion(s show.Streams) *cobra.Command {
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) },
		"zsh":        (*cobra.Command).GenZshCompletion,
		"fish":       func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
		"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
	}
	known := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a script that completes commands with Tab",
		Long:      completionHelp,
		ValidArgs: known,
		Args:      AtMost(1, "SHELL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return Usagef("completion needs a shell: %s", strings.Join(known, ", "))
			}
			write := shells[args[0]]
			if write == nil {
				return Usagef("no completion for %q: there is %s", args[0], strings.Join(known, ", "))
			}
			if err := write(cmd.Root(), s.Out); err != nil {
				return fmt.Errorf("completion: %w", err)
			}
			return nil
		},
	}
}

const completionHelp = `Print a script that completes indus commands, flags, servers and tools with Tab.

Usage:
  indus completion bash|zsh|fish|powershell

That of bash needs the package bash-completion. Tools and their arguments are those
that the ledger knows, of servers that indus serve has run; no server is started.

A session:
  $ source <(indus completion bash)                # for this shell
  $ indus completion bash > ~/.local/share/bash-completion/completions/indus
  $ indus completion zsh > "${fpath[1]}/_indus"
  $ indus completion fish > ~/.config/fish/completions/indus.fish
  $ indus mcp call ev<Tab>
  $ indus mcp call everything__`
