package commandline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/text"
)

// Mistake is a probable mistake in a command line.
type Mistake struct {
	Arg          int // the index of the argument; -1: the command
	Reason, Hint string
}

// Mistakes returns the mistakes in the arguments of a command. isKnown reports whether an argument is the text that the
// program will get.
func Mistakes(command string, args []string, isKnown func(int) bool) (found []Mistake) {
	program := proc.ProgramName(command)
	for i, arg := range args {
		switch field := fmt.Sprintf("args[%d]", i); {
		case !isKnown(i):
		case flagAndValue().MatchString(arg) && (i == 0 || !slices.Contains(CodeOptions, strings.ToLower(args[i-1]))),
			i == 0 && fetchers().MatchString(program) && codeAndFlag().MatchString(arg):
			found = append(found, Mistake{i, field + " is one argument with a blank in it",
				"a blank separates no arguments: write two"})
		case shellVariable().MatchString(arg) && !shells().MatchString(program):
			found = append(found, unreplaced(i, arg, field))
		}
	}
	switch {
	case len(args) == 0:
	case (program == "node" || program == "nodejs") && (args[0] == "-y" || args[0] == "--yes"):
		found = append(found, Mistake{0, fmt.Sprintf("node has no option %q", args[0]), `did you mean "npx"?`})
	case (program == "docker" || program == "podman") && args[0] == "run":
		found = append(found, containerMistakes(program, args[1:])...)
	}
	return found
}

// OfCommand returns the mistake in a command that is a command line, or that only a shell could read. It returns false
// if there is none.
func OfCommand(command string) (m Mistake, found bool) {
	name, _, spaced := strings.Cut(command, " ")
	switch {
	case shellVariable().MatchString(command):
		return unreplaced(-1, command, `"command"`), true
	case spaced && !strings.ContainsAny(name, `/\`):
		return Mistake{-1, `"command" holds spaces`, `write the arguments in "args"`}, true
	}
	return Mistake{}, false
}

func unreplaced(arg int, variable, field string) Mistake {
	name := variable[1 : 1+text.NameLength(variable[1:])]
	return Mistake{arg, fmt.Sprintf("%s: no shell replaces %q", field, "$"+name), "write ${" + name + "}"}
}

// containerMistakes finds a container without stdin, and a container that wants a terminal.
func containerMistakes(program string, args []string) []Mistake {
	interactive := false
	for i, arg := range args {
		before := ""
		if i > 0 {
			before = args[i-1]
		}
		needsValue := strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && !switchesOfRun().MatchString(before)
		switch {
		case !strings.HasPrefix(arg, "-") && !needsValue: // the image
			if !interactive {
				return []Mistake{{-1, `"` + program + ` run" connects no stdin to the server`, `add "-i" before the image`}}
			}
			return nil
		case ttySwitch().MatchString(arg):
			return []Mistake{{-1, fmt.Sprintf("%q wants a terminal, and the server has none", arg), `write "-i"`}}
		}
		interactive = interactive || stdinSwitch().MatchString(arg)
	}
	return nil
}

var (
	flagAndValue  = text.Pattern(`^--?[A-Za-z][\w-]* +\S`)
	codeAndFlag   = text.Pattern(`^@?[\w./@-]+ +-`)
	fetchers      = text.Pattern(`^(npx|bunx|uvx|pnpx|pipx)$`)
	shells        = text.Pattern(`^(ba|da|z|k|fi)?sh$`)
	shellVariable = text.Pattern(`^\$(HOME|[A-Za-z_]\w*[/\\]\S*)$`)
	switchesOfRun = text.Pattern(`^(-[itdqP]+|--(rm|init|tty|interactive|detach|privileged|read-only|quiet|` +
		`no-healthcheck|publish-all|sig-proxy|disable-content-trust))$`)
	stdinSwitch = text.Pattern(`^(-[a-zA-Z]*i[a-zA-Z]*|--interactive(=true)?)$`)
	ttySwitch   = text.Pattern(`^(-[idqP]*t[idqP]*|--tty(=true)?)$`)
)

// Control names a control character that a backslash of a Windows path has become: "c:\temp" in JSON has a tab. It
// returns "" if there is none.
func Control(s string, isPath bool) string {
	c, ok := controlIn(s, isPath)
	if !ok {
		return ""
	}
	return cmp.Or(map[byte]string{'\t': "a tab", '\b': "a backspace", '\n': "a line feed", '\f': "a form feed",
		'\r': "a carriage return"}[c], "a control character")
}

// controlIn returns a control character in a text. Unless it is a path, blanks of a script or a key are none.
func controlIn(s string, isPath bool) (byte, bool) {
	i := strings.IndexFunc(s, func(c rune) bool {
		return c < ' ' && c != 0 && (isPath || !strings.ContainsRune("\t\n\r", c)) || c == 0x7f
	})
	if strings.ContainsAny(s, "\t\n\r") { // few texts have any, and the pattern takes longer
		if m := brokenPath().FindStringSubmatchIndex(s); m != nil && (i < 0 || m[2] < i) {
			i = m[2]
		}
	}
	if i < 0 {
		return 0, false
	}
	return s[i], true
}

// brokenPath matches a Windows path in which a backslash and its letter became a blank.
var brokenPath = text.Pattern(`(?:^|[=;,"' ])(?:[A-Za-z]:|\.{1,2}|%\w+%|\$\{\w+\})(?:[\\/]?[^\s\\/]+)*?([\t\n\r])\S`)
