package mcpconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// noteCommandLine notes frequent mistakes in a command line. The server may start in spite of them, but it does not
// answer, or not as meant.
func (r *valuedRow) noteCommandLine(written textValue) {
	if r.skipped {
		return
	}
	command := r.fields["command"].StartOffset
	args := slices.Collect(func(yield func(*hujson.Value) bool) {
		for _, e := range tree.Elements(r.fields["args"]) {
			if tree.Has(e, '"', '0', 't', 'f') && !yield(e) {
				return
			}
		}
	})
	offset := func(i int) int {
		if i < len(args) {
			return args[i].StartOffset
		}
		return command
	}
	if !written.pending() {
		r.noteCommand(written.text, r.note)
	}
	program := proc.ProgramName(written.text)
	var words []string
	for _, v := range r.args {
		words = append(words, v.text)
	}
	for i, arg := range words {
		switch field := fmt.Sprintf("args[%d]", i); {
		case r.args[i].pending():
		case flagAndValue().MatchString(arg) && (i == 0 || !slices.Contains(codeOptions, strings.ToLower(words[i-1]))),
			i == 0 && fetchers().MatchString(program) && codeAndFlag().MatchString(arg):
			r.note(offset(i), field+" is one argument with a blank in it", "a blank separates no arguments: write two")
		case shellVariable().MatchString(arg) && !shells().MatchString(program):
			r.noteShellVariable(arg, field, offset(i), r.note)
		}
	}
	switch {
	case len(words) == 0:
	case (program == "node" || program == "nodejs") && (words[0] == "-y" || words[0] == "--yes"):
		r.note(offset(0), fmt.Sprintf("node has no option %q", words[0]), `did you mean "npx"?`)
	case (program == "docker" || program == "podman") && words[0] == "run":
		r.noteContainer(program, words[1:], command)
	}
}

// noteCommand notes a command that is a command line, or that only a shell could read. It reports whether it did.
func (r *valuedRow) noteCommand(command string, note func(offset int, reason, hint string)) bool {
	at := r.fields["command"].StartOffset
	name, _, spaced := strings.Cut(command, " ")
	switch {
	case shellVariable().MatchString(command):
		r.noteShellVariable(command, `"command"`, at, note)
	case spaced && !strings.ContainsAny(name, `/\`):
		note(at, `"command" holds spaces`, `write the arguments in "args"`)
	default:
		return false
	}
	return true
}

func (r *valuedRow) noteShellVariable(s, field string, at int, note func(offset int, reason, hint string)) {
	name := s[1 : 1+text.NameLength(s[1:])]
	note(at, field+": no shell replaces "+tree.Quote("$"+name), "write ${"+name+"}")
}

// noteContainer notes a container without stdin, and a container that wants a terminal.
func (r *valuedRow) noteContainer(program string, args []string, at int) {
	interactive := false
	for i, arg := range args {
		before := ""
		if i > 0 {
			before = args[i-1]
		}
		needsValue := strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && !switchesOfRun().MatchString(before)
		switch {
		case !strings.HasPrefix(arg, "-") && !needsValue:
			if !interactive {
				r.note(at, `"`+program+` run" connects no stdin to the server`, `add "-i" before the image`)
			}
			return // the image
		case ttySwitch().MatchString(arg):
			r.note(at, tree.Quote(arg)+" wants a terminal, and the server has none", `write "-i"`)
			return
		}
		interactive = interactive || stdinSwitch().MatchString(arg)
	}
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

// noteControls notes control characters that a backslash of a Windows path has become: "c:\temp" in JSON has a tab.
func (r *valuedRow) noteControls(s string, offset int, field string) {
	name, _, _ := strings.Cut(field, "[")
	name, _, _ = strings.Cut(name, " ")
	if !slices.Contains([]string{"command", "args", "cwd", "url", "env", "envFile"}, name) {
		return
	}
	c, ok := controlIn(s, name == "command" || name == "cwd" || name == "url" || name == "envFile")
	if !ok {
		return
	}
	kind := cmp.Or(map[byte]string{'\t': "a tab", '\b': "a backspace", '\n': "a line feed", '\f': "a form feed",
		'\r': "a carriage return"}[c], "a control character")
	r.note(offset, field+" holds "+kind, `write \\ for a backslash`)
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
