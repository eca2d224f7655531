package command

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/host"
	"github.com/spf13/cobra"
)

// newHelp returns the help command of a group or of the root. example is the command in its example session.
func newHelp(group *cobra.Command, example string) *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]...",
		Short:  "All about a command",
		Hidden: group.HasParent(), // -h does the same
		Long:   "All about a command.\n\nA session:\n  $ " + group.CommandPath() + " help " + example,
		RunE: func(cmd *cobra.Command, args []string) error {
			target, unknown, _ := group.Find(args)
			if len(unknown) > 0 {
				return NoSuchCommand(target, unknown)
			}
			return target.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if target, unknown, _ := group.Find(args); len(unknown) == 0 {
				names = commandNames(target)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func commandNames(parent *cobra.Command) []string {
	return show.Names(parent.Commands(), func(c *cobra.Command) string {
		if c.Hidden {
			return ""
		}
		return c.Name()
	})
}

func newCompletion(s show.Streams) *cobra.Command {
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) },
		"zsh":        (*cobra.Command).GenZshCompletion,
		"fish":       func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
		"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
	}
	known := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print a script that completes commands with Tab", Long: completionHelp,
		ValidArgs: known,
		Args:      Needs(1, "a shell: "+strings.Join(known, ", "), "SHELL"),
		RunE: func(cmd *cobra.Command, args []string) error {
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

The script for bash needs the package bash-completion. Tools and their arguments come from
the ledger, which indus serve writes. No server is started.

A session:
  $ source <(indus completion bash)                # for this shell
  $ indus completion bash > ~/.local/share/bash-completion/completions/indus
  $ indus completion zsh > "${fpath[1]}/_indus"
  $ indus completion fish > ~/.config/fish/completions/indus.fish
  $ indus mcp call ev<Tab>
  $ indus mcp call everything__`

func newVersion(s show.Streams) *cobra.Command {
	var asJSON, check bool
	cmd := New(s, func(ctx context.Context, _ []string, s show.Streams) (err error) {
		newest := ""
		if check {
			if newest, err = newestVersion(ctx, ReleasesPage); err != nil {
				return err
			}
		}
		if asJSON {
			return s.WriteIndented(struct {
				Version string `json:"version"`
				Go      string `json:"go"`
				OS      string `json:"os"`
				Arch    string `json:"arch"`
				Newest  string `json:"newest,omitempty"`
			}{ModuleVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, newest})
		}
		if err = printVersion(s); err == nil && check {
			_, err = fmt.Fprintf(s.Out, "newest %s  %s/tag/%[1]s\n", newest, ReleasesPage)
		}
		return err
	}, cobra.Command{
		Use: "version", Short: "Print the version",
		Long: "Print the version.\n\nA session:\n  $ indus version\n  indus " + ModuleVersion(),
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object: version, go, os, arch, and with --check newest")
	cmd.Flags().BoolVar(&check, "check", false, "print the newest released version too, by one request to GitHub")
	return cmd
}

// addVersionFlag adds --version to the root command. The template of cobra would link text/template, which can call
// every exported method by name. The linker would then keep all methods of all packages, which costs 40 MB.
func addVersionFlag(root *cobra.Command, s show.Streams) {
	wanted := root.Flags().Bool("version", false, "print the version")
	run := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *wanted {
			return printVersion(s)
		}
		return run(cmd, args)
	}
}

func printVersion(s show.Streams) error {
	_, err := fmt.Fprintf(s.Out, "indus %s\n", ModuleVersion())
	return err
}

// ModuleVersion returns the module version from the build info, or else the default version with "-dev".
func ModuleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return host.DefaultInfo().Version + "-dev"
	}
	return info.Main.Version
}
