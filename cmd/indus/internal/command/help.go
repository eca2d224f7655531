package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// IsURL reports a word that is a URL, or a variable with one.
func IsURL(s string) bool {
	return strings.Contains(s, "://") || strings.HasPrefix(s, "${") && !strings.ContainsAny(s, " ")
}

// What several help texts share.
const (
	configurationHelp = `Configuration:
  Servers are configured in .indusvx/mcp.json of the working directory, in
  indusvx/mcp.json of the user's configuration directory, or in a file that
  --mcp names. What a project's file configures is started once it is approved:
  naming the file approves it, and so does --trust.`

	// ConfigFlagsHelp is for commands that have [ConfigFlags].
	ConfigFlagsHelp = `
  --mcp PATH   a file, which is thereby approved, or a directory to search; may
               be repeated or separated by commas, and the later wins (default:
               the working directory, then the user's own files)
  --trust      start what a project's file configures, though nobody named it`

	// ExitHelp is all exit codes.
	ExitHelp = `Exit codes:
  0    ok
  1    a server answers with an error, or something unforeseen
  2    usage: flags, names, arguments and files
  3    the server wants authorization
  4    the server cannot be reached
  5    the tool ran and failed
  130  interrupted
  With --json an error is a JSON object on stdout, unless data is there already:
  {"error": {"code", "exit", "message", "try", "server", "kind"}}; code is fault,
  usage, forbidden, unreachable, tool_failed or interrupted.`

	logFlagsHelp = `
  -v, --verbose      log everything to stderr, as with --log-level debug
  --log-level LEVEL  log to stderr from that level on: debug, info, warn or error
                     (default: off)
  -h, --help         this text`
)

// WriteHelp prints the help text of a command, with what holds for all of them.
func WriteHelp(s show.Streams, cmd *cobra.Command) error {
	before := "\n\nA session:"
	if len(cmd.Aliases) > 0 {
		before = "\n\nThe same as:\n  " + strings.TrimSuffix(cmd.CommandPath(), cmd.Name()) + strings.Join(cmd.Aliases, ", ") + before
	}
	text := strings.Replace(cmd.Long, "\n\nA session:", before, 1)
	if cmd.HasParent() {
		common := logFlagsHelp
		if cmd.LocalNonPersistentFlags().Lookup("verbose") != nil { // it has another
			_, common, _ = strings.Cut(common[1:], "\n")
			common = "\n" + common
		}
		text = strings.Replace(text, "\n\nA session:", "\n\nFlags of every command:"+common+"\n\nA session:", 1)
	}
	if file, ok := show.Terminal(s.Out); ok {
		width, _ := show.ScreenSize(file)
		text = show.Reflow(text, width)
	}
	_, err := fmt.Fprintln(s.Out, text)
	return err
}

// NoSuchCommand refuses arguments of a command that only has sub-commands.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := DidYouMean(args[0], commandNames(cmd))
	if meant := commandFor(cmd.Root(), args[0]); meant != "" {
		near = ", did you mean " + meant + "?"
	} else if near == "" {
		near = DidYouMean(args[0], commandNames(cmd.Root()))
	}
	return Usagef("no command %q%s; see %s -h", args[0], near, cmd.CommandPath())
}

// commandFor is the command that other programs call so, or that is below another: of several the one whose group is largest.
func commandFor(of *cobra.Command, name string) string {
	largest := func(a, b *cobra.Command) int { return len(b.Commands()) - len(a.Commands()) }
	for _, c := range slices.SortedStableFunc(slices.Values(of.Commands()), largest) {
		if !c.Hidden && (c.Name() == name || c.HasAlias(name) || slices.Contains(c.SuggestFor, name)) {
			return c.CommandPath()
		}
		if found := commandFor(c, name); found != "" {
			return found
		}
	}
	return ""
}

// AtMost refuses more than n arguments, which are called what.
func AtMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		takes := "takes no argument"
		if n > 0 {
			takes = "takes one " + what
		}
		return Usagef("%s %s, and %q is too many; see %s -h", CommandPath(cmd), takes, args[n], cmd.CommandPath())
	}
}

// CommandPath is a command without the word indus: "mcp tools".
func CommandPath(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// badFlag is the error for flags that cannot be read.
func badFlag(cmd *cobra.Command, err error) error {
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return Usagef("%w; see %s -h", err, cmd.CommandPath())
	}
	hint, name := "", unknown.GetSpecifiedName()
	words := cmd.Flags().Args()
	also := flagsElsewhere[name]
	switch {
	case cmd.HasSubCommands() && len(words) > 0:
		return NoSuchCommand(cmd, words)
	case cmd.HasSubCommands():
		hint = cmp.Or(nearFlags(cmd, name), "; the flags of a command go after its name")
	case cmd.Name() == "add" && len(words) > 1 && !IsURL(words[1]):
		hint = fmt.Sprintf("; flags of the server's own command go after --: indus mcp add %s -- %s …", show.ShellWord(words[0]), show.ShellWord(words[1]))
	case also != "" && cmd.Flags().Lookup(strings.Fields(also)[0]) != nil:
		hint = ", did you mean --" + strings.ReplaceAll(also, " ", " or --") + "?"
	default:
		hint = nearFlags(cmd, name)
	}
	return Usagef("%w%s; see %s -h", err, hint, cmd.CommandPath())
}

// nearFlags is a hint at the flags of a command that are near a name.
func nearFlags(cmd *cobra.Command, name string) string {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	return DidYouMean("--"+name, known)
}

// flagsElsewhere are flags as other programs call them, and ours.
var flagsElsewhere = map[string]string{
	"listen": "addr", "bind": "addr", "port": "addr", "p": "addr", "host": "addr", "address": "addr", "hostname": "addr",
	"config": "mcp", "c": "mcp", "mcp-config": "mcp", "f": "mcp", "scope": "user project", "s": "user project",
	"global": "user", "g": "user", "local": "project", "y": "trust", "yes": "trust", "t": "transport",
	"input": "args", "params": "args", "arguments": "args", "tool-args": "args", "read-only": "deny",
	"format": "json", "output": "json", "o": "json", "client": "to", "client-name": "to", "filter": "allow",
}
