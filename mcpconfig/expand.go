package mcpconfig

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// maxNest bounds how deep defaults may be nested, because reading them recurses.
const maxNest = 20

// expansion replaces the variables of one text of a row. No other code does that.
type expansion struct {
	*valuedRow
	fetches []fetch  // the fetches that the text needs
	inPath  bool     // whether the path of a ${file:…} is being read
	ownEnv  bool     // whether a variable that is not set is looked up in the "env" of the row
	missing []string // variables without a value and without a default
	derived bool     // whether a value is from the working directory, the environment, a file or a command
	nul     bool     // whether a NUL is in the text or a value
	reason  string   // why the text is wrong; "" if it is not
	hint    string
}

// run returns a text with its variables replaced and "$${" turned into "${". It returns "" if anything is missing or
// wrong.
func (x *expansion) run(s string) string {
	x.nul = strings.Contains(s, "\x00")
	out := x.replace(s, true, 0)
	if x.reason != "" || x.nul || len(x.missing) > 0 {
		return ""
	}
	return out
}

// replace returns a text, or a part of one, with its variables replaced. If lookup is false, the text is checked but no
// variable is looked up: it is the default of a variable that has a value.
func (x *expansion) replace(s string, lookup bool, depth int) string {
	var out strings.Builder
	for s != "" && x.reason == "" {
		at := text.VariableIndex(s)
		out.WriteString(strings.ReplaceAll(s[:at], "$${", "${"))
		s = s[at:]
		if s != "" {
			n := text.VariableLength(s)
			out.WriteString(x.expandVariable(s[:n], lookup, depth))
			s = s[n:]
		}
	}
	return out.String()
}

// expandVariable returns the value of a variable. s begins with "${" and ends with "}". It is "${KIND:REST}", or a name
// with or without a default.
func (x *expansion) expandVariable(s string, lookup bool, depth int) string {
	kind, rest := "", s[2:max(2, len(s)-1)]
	before, behind, _ := strings.Cut(rest, ":")
	if slices.Contains([]string{"env", "file", "cmd", "input"}, before) && before != rest &&
		!strings.HasPrefix(behind, "-") {
		kind, rest = before, behind
	}
	closed := text.VariableLength(s+" ") == len(s)
	switch {
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
		return x.expandNamed(kind, rest, lookup, depth)
	case kind == "file":
		return x.expandFile(rest, s, lookup, depth)
	case kind == "input":
		x.fail(`"${input:…}" is a question of an editor, and indus does not ask it`, "set a variable and write ${NAME}")
	case strings.TrimSpace(rest) == "":
		x.fail(`"${cmd:…}" names no command`, "")
	default:
		return x.expandFetch(fetch{kind: "cmd", target: rest, dir: x.base(), path: x.ownPath()}, s, lookup)
	}
	return ""
}

const unclosed = `"${" is not closed`

// expandNamed returns the value of a variable by its name. Unless the kind is "env", the variables that every file has
// come first. All others are variables of the environment, and their values may be secrets. A variable that is set to
// "" has a value, unless a default is given.
func (x *expansion) expandNamed(kind, s string, lookup bool, depth int) string {
	name := s[:text.NameLength(s)]
	fallback, hasFallback := strings.CutPrefix(s[len(name):], ":-")
	if name == "" || name != s && !hasFallback {
		x.fail(`"${" does not begin a variable`, `write ${NAME} or ${NAME:-default}, or "$${" for the characters themselves`)
		return ""
	}
	value, ok := "", false
	if lookup {
		value, ok = x.fixedVariable(name)
		if !ok || kind == "env" {
			value, ok = x.variable(name)
			x.report(value)
		}
		if own := x.ownVariable(name); !ok && x.ownEnv && own != nil && !hasFallback {
			return x.expandOwn(own, depth)
		}
		x.derived = x.derived || value != "" && name != "pathSeparator" && value != x.place.Home
	}
	if hasFallback {
		if other := x.replace(fallback, lookup && value == "", depth+1); value == "" {
			return other
		}
	} else if lookup && !ok {
		x.missing = append(x.missing, name)
	}
	return x.charge(value)
}

// ownVariable returns the value that the row's "env" gives to a variable, or nil. Of two, the last counts.
func (r *valuedRow) ownVariable(name string) (own *hujson.Value) {
	if v := r.fields["env"]; v != nil && tree.Has(v, '{') {
		own = tree.Fields(v)[name]
	}
	if own == nil || !tree.Has(own, '"', '0', 't', 'f') {
		return nil
	}
	return own
}

// expandOwn returns a value of the row's "env", with its variables replaced. The server gets that value too, and
// programs such as mcp-remote would replace the variable by it.
func (x *expansion) expandOwn(own *hujson.Value, depth int) string {
	written := tree.Text(*own)
	if !tree.Has(own, '"') {
		written = own.Value.(hujson.Literal).String()
	}
	x.ownEnv = false
	value := x.replace(written, true, depth+1)
	x.ownEnv = true
	x.report(value)
	return x.charge(value)
}

// expandFile returns the content of a file. Its path may have variables.
func (x *expansion) expandFile(path, written string, lookup bool, depth int) string {
	if x.inPath {
		x.fail(`"${file:…}" stands in another`, "")
		return ""
	}
	before := x.derived
	x.inPath, x.derived = true, false
	path = x.replace(path, lookup, depth+1)
	derived := x.derived || !filepath.IsAbs(x.tilde(path))
	x.inPath, x.derived = false, before || x.derived
	switch {
	case x.reason != "" || len(x.missing) > 0:
		return ""
	case lookup && strings.TrimSpace(path) == "":
		x.fail(`"${file:…}" names no file`, "")
		return ""
	}
	path = x.absolute(x.tilde(path))
	root := ""
	if derived || x.inProject() {
		root = x.rootOf(path)
	}
	return x.expandFetch(fetch{kind: "file", target: path, root: root}, written, lookup)
}

// expandFetch returns the fetched value. If nothing was fetched, it returns the text of the file.
func (x *expansion) expandFetch(f fetch, written string, lookup bool) string {
	if !lookup {
		return ""
	}
	x.fetches = append(x.fetches, f)
	if x.fetched == nil {
		return written
	}
	switch got := x.fetched(f); {
	case got.reason == "":
		x.derived = true
		x.report(got.value)
		return x.charge(got.value)
	case f.kind == "cmd":
		x.fail("${cmd:…} "+got.reason, "run the command by hand to see its output")
	case strings.HasPrefix(written, "${file:/"):
		x.fail(tree.Quote(written)+": "+got.reason, "")
	default:
		x.fail(tree.Quote(written)+": "+got.reason, "relative paths begin at "+tree.QuoteWord(x.base()))
	}
	return ""
}

// report keeps a value of the environment, of a file or of a command, which may be a secret.
func (x *expansion) report(value string) {
	x.server.Secrets = append(x.server.Secrets, config.NewSecret(value))
}

func (x *expansion) charge(value string) string {
	x.nul = x.nul || strings.Contains(value, "\x00")
	*x.budget -= len(value)
	if *x.budget < 0 {
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

// expand replaces the variables in a value of the row. Notes name the field. If a variable cannot be replaced, the row
// is skipped.
func (r *valuedRow) expand(s string, offset int, field string) textValue {
	r.noteControls(s, offset, field)
	name, _, _ := strings.Cut(field, "[")
	x := expansion{valuedRow: r, ownEnv: slices.Contains([]string{"command", "args", "cwd"}, name)}
	text := x.run(s)
	out := textValue{text: text, raw: s, fetches: x.fetches, fetched: r.fetched != nil, derived: x.derived}
	if x.reason != "" {
		r.skip(offset, field+": "+x.reason, x.hint)
	}
	slices.Sort(x.missing)
	for _, name := range slices.Compact(x.missing) {
		hint := "set it, or give a default: ${" + name + ":-…}"
		if !x.ownEnv && !strings.HasPrefix(field, "env ") && r.ownVariable(name) != nil {
			hint = `it is in "env", which this value does not use: write the value itself`
		}
		r.skip(offset, field+": the variable "+name+" is not set", hint)
	}
	if x.nul {
		r.skip(offset, field+" holds a NUL character", "")
	}
	r.fetches = append(r.fetches, x.fetches...)
	for _, w := range x.fetches {
		r.coverFile(w)
		if w.root == "" && decidesStart(field) {
			r.pinned = append(r.pinned, w)
		}
	}
	if out.placed = strings.Contains(s, "workspaceFolder"); out.placed {
		if dir := atomicfile.Real(r.workspace()); !r.inProject() && !r.place.isProject(dir) {
			r.skip(offset, field+": ${workspaceFolder} is "+dir+" here, which is no project",
				"run indus in a project, or write the directory itself")
		}
	}
	return out
}

// coverFile adds a file of the project to the files that an approval covers by their content.
func (r *valuedRow) coverFile(f fetch) {
	if f.root == "" || f.kind == "cmd" {
		return
	}
	result := r.place.projectFile(f)
	r.files = append(r.files, RowFile{Path: f.target, Text: result.value, Wrong: result.reason})
}
