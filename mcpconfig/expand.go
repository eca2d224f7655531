package mcpconfig

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// maxNest is how deep defaults may be in defaults, because reading them recurses.
const maxNest = 20

// fetch is what a ${file:…} or a ${cmd:…} asks for.
type fetch struct {
	kind string // "file", "env" (a file of variables) or "cmd"
	what string // an absolute path, or a command line
	dir  string // where the command runs
	path string // of a command: the PATH that it gets; "": ours
	root string // of a file: it is the project's, and must not really lie outside; "": it may
}

// expansion replaces the variables of one text. It is the only place that does.
type expansion struct {
	env     func(string) (string, bool)
	fixed   func(string) (string, bool) // ${userHome} and the like
	dir     func() string               // where relative paths begin
	root    func(path string) string    // [fetch.root] of a path
	path    string                      // [fetch.path]
	tilde   func(string) string         // "~/" replaced
	fetched func(fetch) fetchResult     // nil: they stay as they are
	given   func(value string)          // is called with values of the environment, of files and of commands
	budget  *int                        // bytes that values may still add
	wants   []fetch                     // what is to be fetched
	inPath  bool                        // reading that of a ${file:…}
	missing []string                    // variables without value and default
	nul     bool                        // whether a NUL is in the text or a value
	reason  string                      // what is wrong with the text; "" while nothing is
	hint    string
}

// run is a text with its variables replaced and "$${" turned into "${". It is ""
// where anything is missing or wrong.
func (x *expansion) run(s string) string {
	x.nul = strings.Contains(s, "\x00")
	out := x.replace(s, true, 0)
	if x.reason != "" || x.nul || len(x.missing) > 0 {
		return ""
	}
	return out
}

// replace does it for a text or a part of one. What is not live is read and not looked up: the
// default of a variable that has a value.
func (x *expansion) replace(s string, live bool, depth int) string {
	var out strings.Builder
	for s != "" && x.reason == "" {
		at := text.VariableIndex(s)
		out.WriteString(strings.ReplaceAll(s[:at], "$${", "${"))
		if s = s[at:]; s != "" {
			n := text.VariableLength(s)
			out.WriteString(x.variable(s[:n], live, depth))
			s = s[n:]
		}
	}
	return out.String()
}

// variable is the value of one, which is from "${" to "}": "${KIND:REST}", or a name with or without a default.
func (x *expansion) variable(s string, live bool, depth int) string {
	kind, rest := "", s[2:max(2, len(s)-1)]
	if before, behind, ok := strings.Cut(rest, ":"); ok && !strings.HasPrefix(behind, "-") && slices.Contains([]string{"env", "file", "cmd", "input"}, before) {
		kind, rest = before, behind
	}
	switch closed := text.VariableLength(s+" ") == len(s); {
	case depth > maxNest:
		x.fail("defaults are nested too deep", "")
	case kind == "cmd" && x.inPath:
		x.fail(`"${cmd:…}" stands in a "${file:…}"`, "")
	case !closed && kind == "cmd":
		x.fail(unclosed, "the braces of a command must come in pairs")
	case !closed:
		x.fail(unclosed, `close it with "}", or write "$${" for the characters themselves`)
	case kind == "" && rest == "/":
		return string(filepath.Separator)
	case kind == "" || kind == "env":
		return x.named(kind, rest, live, depth)
	case kind == "file":
		return x.file(rest, s, live, depth)
	case kind == "input":
		x.fail(`"${input:…}" is asked for by editors, and nobody asks here`, "set a variable and write ${NAME}")
	case strings.TrimSpace(rest) == "":
		x.fail(`"${cmd:…}" names no command`, "")
	default:
		return x.fetch(fetch{kind: "cmd", what: rest, dir: x.dir(), path: x.path}, s, live)
	}
	return ""
}

const unclosed = `"${" is not closed`

// named is a variable that every file has, unless its kind is "env", or else one of the environment, whose value may be a
// secret. One that is set to "" has a value, unless a default is given.
func (x *expansion) named(kind, s string, live bool, depth int) string {
	name := s[:text.NameLength(s)]
	fallback, hasFallback := strings.CutPrefix(s[len(name):], ":-")
	if name == "" || name != s && !hasFallback {
		x.fail(`"${" does not begin a variable`, `write ${NAME} or ${NAME:-default}, or "$${" for the characters themselves`)
		return ""
	}
	value, ok := "", false
	if live {
		if value, ok = x.fixed(name); !ok || kind == "env" {
			value, ok = x.env(name)
			x.given(value)
		}
	}
	if hasFallback {
		if other := x.replace(fallback, live && value == "", depth+1); value == "" {
			return other
		}
	} else if live && !ok {
		x.missing = append(x.missing, name)
	}
	return x.spend(value)
}

// file is what a file holds whose path may have variables.
func (x *expansion) file(path, shown string, live bool, depth int) string {
	if x.inPath {
		x.fail(`"${file:…}" stands in another`, "")
		return ""
	}
	x.inPath = true
	path = x.replace(path, live, depth+1)
	x.inPath = false
	switch {
	case x.reason != "" || len(x.missing) > 0:
		return ""
	case live && strings.TrimSpace(path) == "":
		x.fail(`"${file:…}" names no file`, "")
		return ""
	}
	if path = x.tilde(path); !filepath.IsAbs(path) {
		path = filepath.Join(x.dir(), path)
	}
	return x.fetch(fetch{kind: "file", what: path, root: x.root(path)}, shown, live)
}

// fetch is what was fetched, or else what is in the file.
func (x *expansion) fetch(f fetch, shown string, live bool) string {
	if !live {
		return ""
	}
	x.wants = append(x.wants, f)
	if x.fetched == nil {
		return shown
	}
	switch got := x.fetched(f); {
	case got.wrong == "":
		x.given(got.value)
		return x.spend(got.value)
	case f.kind == "cmd":
		x.fail("${cmd:…} "+got.wrong, "run the command by itself to see what it says")
	case strings.HasPrefix(shown, "${file:/"):
		x.fail(tree.Quote(shown)+": "+got.wrong, "")
	default:
		x.fail(tree.Quote(shown)+": "+got.wrong, "relative paths begin at "+tree.QuoteWord(x.dir()))
	}
	return ""
}

func (x *expansion) spend(value string) string {
	x.nul = x.nul || strings.Contains(value, "\x00")
	if *x.budget -= len(value); *x.budget < 0 {
		x.fail("the variables of this file add more than 4 MiB", "")
		return ""
	}
	return value
}

func (x *expansion) fail(reason, hint string) {
	if x.reason == "" {
		x.reason, x.hint = reason, hint
	}
}
