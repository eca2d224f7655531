package mcpconfig

import (
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// maxNest is how deep defaults may stand in defaults, because reading them recurses.
const maxNest = 20

// mark stands around a ${file:…} or ${cmd:…} that was left as it is, so that no
// text of the file and no value can pass for one: NUL stands in neither.
const mark = "\x00"

// isMarked reports whether a text still has what must be fetched.
func isMarked(s string) bool { return strings.Contains(s, mark) }

func withoutMarks(s string) string { return strings.ReplaceAll(s, mark, "") }

// fetch is what a ${file:…} or a ${cmd:…} asks for.
type fetch struct {
	kind  string // "file", "env" (a file of variables) or "cmd"
	what  string // an absolute path, or a command line
	dir   string // where the command runs
	root  string // of a file: it must not really lie outside; "": it may
	apart string // of a file: it must not really lie there; "": it may
}

// expansion replaces the variables of one text. It is the only place that does.
type expansion struct {
	text    string
	at      int
	env     func(string) (string, bool)
	fixed   func(string) (string, bool)       // ${userHome} and the like
	dir     func() string                     // where relative paths begin
	root    func(path string) string          // [fetch.root] of a path
	tilde   func(string) string               // "~/" replaced
	fetched func(fetch) (value, wrong string) // nil: they stay as they are, marked
	given   func(value string)                // hears of values of the environment, of files and of commands; nil: nobody does
	budget  *int                              // bytes that values may still add
	wants   []fetch                           // what is to be fetched
	fetches bool                              // whether any ${file:…} or ${cmd:…} stands here, wanted or not
	inPath  bool                              // reading that of a ${file:…}
	missing []string                          // variables without value and default
	nul     bool                              // whether a NUL stands in the text or a value
	reason  string                            // what is wrong with the text; "" while nothing is
	hint    string
}

const (
	unclosed     = `"${" is not closed`
	unclosedHint = `close it with "}", or write "$${" for the characters themselves`
)

// run is the text with its variables replaced and "$${" turned into "${". It is ""
// where anything is missing or wrong.
func (x *expansion) run() string {
	x.nul = strings.Contains(x.text, mark)
	out := x.until(false, true, 0)
	if x.reason != "" || x.nul || len(x.missing) > 0 {
		return ""
	}
	return out
}

// until reads up to the end, or to the "}" that closes a default or a path. What is
// not live is read and not looked up: the default of a variable that has a value.
func (x *expansion) until(closing, live bool, depth int) string {
	var out strings.Builder
	for x.at < len(x.text) && x.reason == "" {
		rest := x.text[x.at:]
		switch {
		case strings.HasPrefix(rest, "$${"):
			out.WriteString("${")
			x.at += 3
		case strings.HasPrefix(rest, "${"):
			x.at += 2
			out.WriteString(x.variable(live, depth))
		case closing && rest[0] == '}':
			return out.String()
		default:
			out.WriteByte(rest[0])
			x.at++
		}
	}
	if closing {
		x.fail(unclosed, unclosedHint)
	}
	return out.String()
}

// variable reads one, from behind its "${" to behind its "}".
func (x *expansion) variable(live bool, depth int) string {
	name, lookup := x.name(), x.lookup
	if name == "env" && x.colon() {
		x.at++
		name, lookup = x.name(), x.named
	}
	rest := x.text[x.at:]
	switch {
	case depth > maxNest:
		x.fail("defaults are nested too deep", "")
	case name != "" && strings.HasPrefix(rest, "}"):
		x.at++
		if live {
			return x.value(name, lookup)
		}
	case name != "" && strings.HasPrefix(rest, ":-"):
		x.at += 2
		value, _ := lookup(name)
		text := x.until(true, live && value == "", depth+1)
		x.at++
		if value == "" || !live {
			return text
		}
		return x.spend(value)
	case name == "" && strings.HasPrefix(rest, "/}"):
		x.at += 2
		return string(filepath.Separator)
	case rest == "":
		x.fail(unclosed, unclosedHint)
	case name == "file" && x.colon():
		return x.file(live, depth)
	case name == "cmd" && x.colon():
		return x.command(live)
	case name == "input" && rest[0] == ':':
		x.fail(`"${input:…}" is asked for by editors, and nobody asks here`, "set a variable and write ${NAME}")
	default:
		x.fail(`"${" does not begin a variable`, `write ${NAME} or ${NAME:-default}, or "$${" for the characters themselves`)
	}
	return ""
}

// colon reports whether a colon comes that does not begin a default.
func (x *expansion) colon() bool {
	rest := x.text[x.at:]
	return strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, ":-")
}

// file reads a path, which may have variables, from its colon on.
func (x *expansion) file(live bool, depth int) string {
	if x.inPath {
		x.fail(`"${file:…}" stands in another`, "")
		return ""
	}
	x.at++
	start := x.at
	x.inPath = true
	path := x.until(true, live, depth+1)
	x.inPath = false
	shown := "${file:" + x.text[start:x.at] + "}"
	x.at++
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

// command reads a command line from its colon on. It is the shell's: its braces
// come in pairs, and the "}" that is left over ends it.
func (x *expansion) command(live bool) string {
	if x.inPath {
		x.fail(`"${cmd:…}" stands in a "${file:…}"`, "")
		return ""
	}
	start, depth := x.at+1, 0
	for end := start; end < len(x.text); end++ {
		switch x.text[end] {
		case '{':
			depth++
		case '}':
			if depth--; depth >= 0 {
				continue
			}
			line := x.text[start:end]
			x.at = end + 1
			if strings.TrimSpace(line) == "" {
				x.fail(`"${cmd:…}" names no command`, "")
				return ""
			}
			return x.fetch(fetch{kind: "cmd", what: line, dir: x.dir()}, "${cmd:"+line+"}", live)
		}
	}
	x.fail(unclosed, "the braces of a command must come in pairs")
	return ""
}

// fetch is what was fetched, or else what stands in the file, marked.
func (x *expansion) fetch(f fetch, shown string, live bool) string {
	x.fetches = true
	if !live {
		return ""
	}
	x.wants = append(x.wants, f)
	if x.fetched == nil {
		return mark + shown + mark
	}
	switch value, wrong := x.fetched(f); {
	case wrong == "":
		x.give(value)
		return x.spend(value)
	case f.kind == "cmd":
		x.fail("${cmd:…} "+wrong, "run the command by itself to see what it says")
	case strings.HasPrefix(shown, "${file:/"):
		x.fail(tree.Quote(shown)+": "+wrong, "")
	default:
		x.fail(tree.Quote(shown)+": "+wrong, "relative paths begin at "+quoteWord(x.dir()))
	}
	return ""
}

// name reads a variable's name: letters, digits and "_", no digit first.
func (x *expansion) name() string {
	start := x.at
	for ; x.at < len(x.text); x.at++ {
		c := x.text[x.at]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (x.at == start || c < '0' || c > '9') {
			break
		}
	}
	return x.text[start:x.at]
}

// lookup is a variable that every file has, else one of the environment.
func (x *expansion) lookup(name string) (string, bool) {
	if value, ok := x.fixed(name); ok {
		return value, true
	}
	return x.named(name)
}

// named is a variable of the environment, whose value may be a secret.
func (x *expansion) named(name string) (string, bool) {
	value, ok := x.env(name)
	x.give(value)
	return value, ok
}

func (x *expansion) give(value string) {
	if x.given != nil {
		x.given(value)
	}
}

// value looks up a variable that has no default. One that is set to "" has a value.
func (x *expansion) value(name string, lookup func(string) (string, bool)) string {
	value, ok := lookup(name)
	if !ok {
		x.missing = append(x.missing, name)
	}
	return x.spend(value)
}

func (x *expansion) spend(value string) string {
	x.nul = x.nul || strings.Contains(value, mark)
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
