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
  --log-level LEVEL  log debug, info, warn or error, and above (default: off)
  -h, --help         print this text`
)

// AllClients is the line of a help text that stands for the names of all clients. Their list is made if it is printed.
const AllClients = "  CLIENTS"

const (
	// helpWidth is the width of a help text that is not for a terminal. On a wider terminal, maxHelpWidth is used:
	// longer lines are hard to read.
	helpWidth    = 80
	maxHelpWidth = 100
)

// WriteHelp prints the help text of a command, with the flags of every command.
func WriteHelp(s show.Streams, cmd *cobra.Command) error {
	_, err := fmt.Fprintln(s.Out, WholeHelp(cmd, show.WidthOf(s.Out, helpWidth)))
	return err
}

// WholeHelp returns the text that WriteHelp prints on a terminal of that width.
func WholeHelp(cmd *cobra.Command, width int) string {
	return show.Reflow(wholeHelp(cmd), min(width, maxHelpWidth))
}

// wholeHelp returns the help text of a command with the flags of every command, before it is laid out.
func wholeHelp(cmd *cobra.Command) string {
	const session = "\n\n" + show.SessionTitle
	before := ""
	if len(cmd.Aliases) > 0 {
		parent := strings.TrimSuffix(cmd.CommandPath(), cmd.Name())
		before = "\n\nThe same as:\n  " + parent + strings.Join(cmd.Aliases, ", "+parent)
	}
	if cmd.HasParent() {
		common := logFlagsHelp
		if cmd.LocalNonPersistentFlags().Lookup("verbose") != nil { // the command has another -v
			_, common, _ = strings.Cut(common[1:], "\n")
			common = "\n" + common
		}
		before += "\n\n" + commonTitle + common
	}
	return strings.Replace(rawHelp(cmd), session, before+session, 1)
}

// Headings of a help text. commonTitle is above the flags that every command has.
const (
	commonTitle = "Flags of every command:"
	flagsTitle  = "Flags:"
	exitTitle   = "Exit codes:"
)

// HelpText returns the long text of a command with its usage and its flags, in 80 columns.
func HelpText(cmd *cobra.Command) string { return show.Reflow(rawHelp(cmd), helpWidth) }

// rawHelp returns the long text of a command with its usage and its flags, before it is laid out. A line that names
// flags or sub-commands is replaced by their help, and "--*" stands for all flags. Without such a line, the help of all
// of them goes before the session. If a command has no exit codes in its text, those that exitCodesHelp returns are
// added. The line [AllClients] is replaced.
func rawHelp(cmd *cobra.Command) string {
	const session = "\n\n" + show.SessionTitle
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
	isFlag := func(name string) bool { return strings.HasPrefix(name, "--") }
	isCommand := func(name string) bool { return cmd.HasParent() && subCommand(cmd, name) != nil }
	var out []string
	for lines := strings.Split(strings.Replace(text, session, generated+session, 1), "\n"); len(lines) > 0; {
		names, n := namesIn(lines, isFlag)
		commands, m := namesIn(lines, isCommand)
		switch {
		case lines[0] == AllClients:
			out = append(out, "  "+strings.Join(ClientNames(), ", "))
		case m > 0:
			out = append(out, commandsHelp(cmd, commands, ""))
		case n > 0:
			named := flags
			if names[0] != "--*" {
				named = nil
				for _, name := range names {
					named = append(named, cmd.Flags().Lookup(strings.TrimPrefix(name, "--")))
				}
			}
			out = append(out, flagsHelp(named))
		default:
			out = append(out, lines[0])
		}
		lines = lines[max(n, m, 1):]
	}
	return strings.Join(out, "\n")
}

// namesIn returns the names in the first lines that are indented and have nothing else, and the number of these lines.
func namesIn(lines []string, is func(name string) bool) (names []string, n int) {
	for _, line := range lines {
		words := strings.Fields(line)
		if !strings.HasPrefix(line, "  ") || slices.ContainsFunc(words, func(w string) bool { return !is(w) }) {
			break
		}
		names, n = append(names, words...), n+1
	}
	return names, n
}

func subCommand(group *cobra.Command, name string) *cobra.Command {
	i := slices.IndexFunc(group.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
	if i < 0 {
		return nil
	}
	return group.Commands()[i]
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
	if cmd.HasSubCommands() {
		return commandsHelp(cmd, strings.Fields(cmd.Annotations[groupOrder]), cmd.CommandPath()+" ")
	}
	usage := "  " + strings.TrimSuffix(cmd.CommandPath(), cmd.Name()) + cmd.Use
	if flags {
		usage += " [FLAG]..."
	}
	return usage
}

// commandsHelp returns a line for each of the named commands of a group. path is written before each name, and a last
// line about -h is added if there is a path.
func commandsHelp(group *cobra.Command, names []string, path string) string {
	const longest = 22 // without path; the help of the command has all of it
	var rows [][2]string
	for _, name := range names {
		c := subCommand(group, name)
		use := c.Use
		if strings.Contains(use, "|") || len(use) > longest {
			use = name + " ..."
		}
		rows = append(rows, [2]string{path + use, strings.ToLower(c.Short[:1]) + c.Short[1:]})
	}
	if path != "" {
		rows = append(rows, [2]string{path + "COMMAND -h", "the help of a command"})
	}
	return twoColumns(rows, len(path)+longest+4)
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

// Widths of the first column in a list of flags. A longer flag has a line of its own.
const (
	minFirst = 12
	maxFirst = 26
)

// twoColumns lays out rows of two columns. The first has at most most columns, and the second is wrapped later.
func twoColumns(rows [][2]string, most int) string {
	column := minFirst
	for _, row := range rows {
		if n := show.Columns(row[0]) + 4; n <= most {
			column = max(column, n)
		}
	}
	var lines []string
	for _, row := range rows {
		head := "  " + row[0]
		if show.Columns(head)+2 > column {
			lines, head = append(lines, head), ""
		}
		lines = append(lines, show.Pad(head, column)+row[1])
	}
	return strings.Join(lines, "\n")
}

// flagsHelp returns the help of flags. The usage of a flag with a value begins with the value's name and two spaces.
// Its line breaks have no meaning.
func flagsHelp(flags []*pflag.Flag) string {
	var rows [][2]string
	for _, f := range flags {
		head, text := "--"+f.Name, f.Usage
		if f.Shorthand != "" {
			head = "-" + f.Shorthand + ", --" + f.Name
		}
		if value, rest, ok := strings.Cut(text, "  "); ok {
			if f.NoOptDefVal == "" {
				head, text = head+" "+value, rest
			} else {
				head, text = head+"[="+value+"]", rest
			}
		}
		rows = append(rows, [2]string{head, strings.Join(strings.Fields(text), " ")})
	}
	return twoColumns(rows, maxFirst)
}

// NoSuchCommand returns an error for arguments of a command that only has sub-commands.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasParent() && slices.Contains([]string{"upgrade", "update", "self-update"}, args[0]) {
		return Usagef(`no command %q: indus is upgraded in the way it was installed; "indus version --check" prints the `+
			`newest version, and "indus mcp outdated" is about servers`, args[0])
	}
	if !cmd.HasParent() && slices.Contains([]string{"chat", "agent", "talk", "ask"}, args[0]) {
		return Usagef(`no command %q: "indus" alone talks to an agent, and "indus -p TEXT" prints one answer`, args[0])
	}
	near := DidYouMean(args[0], commandNames(cmd))
	if meant := commandFor(cmd.Root(), args[0]); meant != "" {
		near = ", did you mean " + meant + "?"
	} else if near == "" {
		near = DidYouMean(args[0], commandNames(cmd.Root()))
	}
	if near == "" && !cmd.HasParent() {
		near = "; a prompt for the agent goes after -p"
	}
	return Usagef("no command %q%s", args[0], thenHelp(near, cmd))
}

// thenHelp adds the command of the help to the end of an error, which may be a question.
func thenHelp(end string, cmd *cobra.Command) string {
	if strings.HasSuffix(end, "?") {
		return end + " See " + cmd.CommandPath() + " -h"
	}
	return end + "; see " + cmd.CommandPath() + " -h"
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
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		flag := missing.GetFlag()
		value, _, _ := strings.Cut(flag.Usage, "  ")
		return Usagef("--%s needs a value: --%s %s%s", flag.Name, flag.Name, value, thenHelp("", cmd))
	}
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return Usagef("%w%s", err, thenHelp("", cmd))
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
	return Usagef("%w%s", err, thenHelp(hint, cmd))
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
