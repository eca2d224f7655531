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

// IsURL reports whether a word is a URL or begins with a variable, which may hold a URL.
func IsURL(s string) bool {
	return strings.Contains(s, "://") || strings.HasPrefix(s, "${") && !strings.ContainsAny(s, " ")
}

// Parts of several help texts.
const (
	configurationHelp = `Configuration:
  Servers are configured in .indusvx/mcp.json of the working directory, in
  indusvx/mcp.json of the user's configuration directory, or in a file that
  --mcp names. The servers of a project's file start after they are approved.
  Naming the file with --mcp approves them, and so does --trust.`

	// toolFailedHelp is the line of exitHelp about commands that call a tool.
	toolFailedHelp = `
  5    the tool ran and failed`
	// exitHelp lists all exit codes.
	exitHelp = `Exit codes:
  0    ok
  1    a server returned an error, or another fault
  2    usage: flags, names, arguments and files
  3    the server requires authorization
  4    the server cannot be reached` + toolFailedHelp + `
  130  interrupted` + jsonErrorHelp
	jsonErrorHelp = `
  With --json, an error is a JSON object on stdout, unless data was already written:
  {"error": {"code", "exit", "message", "try", "server", "kind"}}; code is fault,
  usage, forbidden, unreachable, tool_failed or interrupted.`

	logFlagsHelp = `
  -v, --verbose      log everything to stderr, like --log-level debug
  --log-level LEVEL  log this level and above to stderr: debug, info, warn, error
                     (default: off)
  -h, --help         print this text`
)

// AllClients is the line of a help text that stands for the names of all clients. Their list is made if it is printed.
const AllClients = "  CLIENTS"

// WriteHelp prints the help text of a command, with the flags of every command.
func WriteHelp(s show.Streams, cmd *cobra.Command) error {
	const session = "\n\nA session:"
	before := ""
	if len(cmd.Aliases) > 0 {
		before = "\n\nThe same as:\n  " + strings.TrimSuffix(cmd.CommandPath(), cmd.Name()) + strings.Join(cmd.Aliases, ", ")
	}
	if cmd.HasParent() {
		common := logFlagsHelp
		if cmd.LocalNonPersistentFlags().Lookup("verbose") != nil { // the command has another -v
			_, common, _ = strings.Cut(common[1:], "\n")
			common = "\n" + common
		}
		before += "\n\nFlags of every command:" + common
	}
	text := strings.Replace(HelpText(cmd), session, before+session, 1)
	if file, ok := show.Terminal(s.Out); ok {
		width, _ := show.ScreenSize(file)
		text = show.Reflow(text, width)
	}
	_, err := fmt.Fprintln(s.Out, text)
	return err
}

// HelpText returns the long text of a command with its usage and its flags. A line that names flags is replaced by
// their help, and "--*" stands for all flags. Without such a line, the help of all flags goes before the session. If a
// command has no exit codes in its text, those that exitCodesHelp returns are added. The line [AllClients] is replaced.
func HelpText(cmd *cobra.Command) string {
	const session = "\n\nA session:"
	text, flags, generated := cmd.Long, ownFlags(cmd), ""
	if !strings.Contains(text, "\n\nUsage:\n") {
		generated = "\n\nUsage:\n" + usageHelp(cmd, len(flags) > 0)
	}
	if len(flags) > 0 && !strings.Contains(text, "\n  --") {
		generated += "\n\nFlags:\n  --*"
	}
	if !strings.Contains(text, "\n\nExit codes:\n") {
		text += exitCodesHelp(cmd)
	}
	lines := strings.Split(strings.Replace(text, session, generated+session, 1), "\n")
	for i, line := range lines {
		if line == AllClients {
			lines[i] = show.Wrap(strings.Join(ClientNames(), ", "), 2)
			continue
		}
		names := strings.Fields(line)
		isWord := func(name string) bool { return !strings.HasPrefix(name, "--") }
		if strings.HasPrefix(line, "  --") && !slices.ContainsFunc(names, isWord) {
			named := flags
			if names[0] != "--*" {
				named = nil
				for _, name := range names {
					named = append(named, cmd.Flags().Lookup(strings.TrimPrefix(name, "--")))
				}
			}
			lines[i] = flagsHelp(named)
		}
	}
	return strings.Join(lines, "\n")
}

// exitCodesHelp returns the exit codes of a command with --mcp or --ledger.
func exitCodesHelp(cmd *cobra.Command) string {
	hasFlag := func(name string) bool { return cmd.Flags().Lookup(name) != nil }
	help := exitHelp
	switch {
	case hasFlag("ledger") && (hasFlag("wait") || !hasFlag("mcp")):
		return "\n\n" + ledgerExitHelp
	case !hasFlag("mcp"):
		return ""
	case !hasFlag("args"): // it calls no tool
		help = strings.Replace(help, toolFailedHelp, "", 1)
	}
	if !hasFlag("json") {
		help = strings.TrimSuffix(help, jsonErrorHelp)
	}
	return "\n\n" + help
}

// usageHelp returns the usage line of a command, or the list of sub-commands of a group.
func usageHelp(cmd *cobra.Command, flags bool) string {
	if !cmd.HasSubCommands() {
		usage := "  " + strings.TrimSuffix(cmd.CommandPath(), cmd.Name()) + cmd.Use
		if flags {
			usage += " [FLAG]..."
		}
		return usage
	}
	const column = 37 // of the short descriptions
	var lines []string
	for _, name := range strings.Fields(cmd.Annotations[groupOrder]) {
		c := cmd.Commands()[slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == name })]
		head := "  " + cmd.CommandPath() + " " + c.Use
		if len(head) > column-2 {
			lines = append(lines, head)
			head = ""
		}
		lines = append(lines, show.WrapColumn(show.Pad(head, column)+c.Short, column, helpWidth)...)
	}
	last := show.Pad("  "+cmd.CommandPath()+" COMMAND -h", column) + "the help of a command"
	return strings.Join(append(lines, last), "\n")
}

// ownFlags returns the flags of a command without the flags of every command, in the order of their definition.
func ownFlags(cmd *cobra.Command) (own []*pflag.Flag) {
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && cmd.Root().PersistentFlags().Lookup(f.Name) != f {
			own = append(own, f)
		}
	})
	return own
}

const (
	flagColumn = 15 // of the texts of flags; a longer flag has a line of its own
	helpWidth  = 85
)

// flagsHelp returns the help of flags. The usage of a flag with a value begins with the value's name and two spaces.
func flagsHelp(flags []*pflag.Flag) string {
	var lines []string
	for _, f := range flags {
		head, text := "  --"+f.Name, f.Usage
		if f.Shorthand != "" {
			head = "  -" + f.Shorthand + ", --" + f.Name
		}
		if value, rest, ok := strings.Cut(text, "  "); ok {
			if f.NoOptDefVal == "" {
				head, text = head+" "+value, rest
			} else {
				head, text = head+"[="+value+"]", rest
			}
		}
		if len(head) > flagColumn-2 {
			lines = append(lines, head)
			head = ""
		}
		lines = append(lines, show.WrapColumn(show.Pad(head, flagColumn)+text, flagColumn, helpWidth)...)
	}
	return strings.Join(lines, "\n")
}

// NoSuchCommand returns an error for arguments of a command that only has sub-commands.
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

// commandFor returns the path of the command with a name, an alias or a name in other programs. The largest group wins.
func commandFor(parent *cobra.Command, name string) string {
	largest := func(a, b *cobra.Command) int { return len(b.Commands()) - len(a.Commands()) }
	for _, c := range slices.SortedStableFunc(slices.Values(parent.Commands()), largest) {
		if !c.Hidden && (c.Name() == name || c.HasAlias(name) || slices.Contains(c.SuggestFor, name)) {
			return c.CommandPath()
		}
		if found := commandFor(c, name); found != "" {
			return found
		}
	}
	return ""
}

// badFlag returns the error for flags that cannot be parsed.
func badFlag(cmd *cobra.Command, err error) error {
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return Usagef("%w; see %s -h", err, cmd.CommandPath())
	}
	hint, name := "", unknown.GetSpecifiedName()
	words := cmd.Flags().Args()
	equivalent := flagsElsewhere[name]
	switch {
	case cmd.HasSubCommands() && len(words) > 0:
		return NoSuchCommand(cmd, words)
	case cmd.HasSubCommands():
		hint = cmp.Or(nearFlags(cmd, name), "; the flags of a command go after its name")
	case cmd.Name() == "add" && len(words) > 1 && !IsURL(words[1]):
		hint = fmt.Sprintf("; flags of the server's own command go after --: indus mcp add %s -- %s …",
			show.ShellWord(words[0]), show.ShellWord(words[1]))
	case equivalent != "" && cmd.Flags().Lookup(strings.Fields(equivalent)[0]) != nil:
		hint = ", did you mean --" + strings.ReplaceAll(equivalent, " ", " or --") + "?"
	default:
		hint = nearFlags(cmd, name)
	}
	return Usagef("%w%s; see %s -h", err, hint, cmd.CommandPath())
}

// nearFlags returns a hint with the flags of a command that are similar to name.
func nearFlags(cmd *cobra.Command, name string) string {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	return DidYouMean("--"+name, known)
}

// flagsElsewhere maps flag names of other programs to the flags of indus.
var flagsElsewhere = map[string]string{
	"listen": "addr", "bind": "addr", "port": "addr", "p": "addr", "host": "addr", "address": "addr", "hostname": "addr",
	"config": "mcp", "c": "mcp", "mcp-config": "mcp", "f": "mcp", "scope": "user project", "s": "user project",
	"global": "user", "g": "user", "local": "project", "y": "trust", "yes": "trust", "t": "transport",
	"input": "args", "params": "args", "arguments": "args", "tool-args": "args", "read-only": "deny",
	"format": "json", "output": "json", "o": "json", "client": "to", "client-name": "to", "filter": "allow",
}
