package foreign

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// partKind is the kind of a part of a text.
type partKind string

const (
	literalPart   partKind = ""
	variablePart  partKind = "variable"  // of the environment
	homePart      partKind = "home"      // the user's home directory
	projectPart   partKind = "workspace" // the project's directory
	baseNamePart  partKind = "base name" // the last element of the project's directory
	separatorPart partKind = "separator" // between elements of paths
	filePart      partKind = "file"      // the content of a file
	commandPart   partKind = "command"   // the output of a command
	inputPart     partKind = "input"     // a value that the client asks its user for
	clientPart    partKind = "client"    // a value that only the client has
)

// part is a piece of a text with variables.
type part struct {
	kind partKind
	text string // the literal, or the name, path, command or id
	// fallback is the default of a variable. It is nil if there is none.
	fallback *string
}

// form is the syntax of variables of one kind in a client: the text before and behind the name. The form of another
// client is literal text.
type form struct {
	open, close string
	kind        partKind // "": several kinds
	fallback    bool     // ":-" and a default may follow the name
	// read reads a form that is more than that. It returns the part and its length in bytes. The length is 0 if s does
	// not begin with the form.
	read func(s string) (part, int)
}

// formsOf returns the forms of a [dialect], where VAR, PATH and ID stand for any name.
func formsOf(words []string) []form {
	var out []form
	for _, word := range words {
		switch word {
		case "${userHome}": // and other names of this kind
			out = append(out, form{read: readPlace})
		case "${config:…}":
			out = append(out, form{read: readEditor})
		case "$(COMMAND)":
			out = append(out, form{"$(", ")", commandPart, false, readSubstitution})
		case "${{ secrets.VAR }}":
			out = append(out, form{"${{ secrets.", " }}", variablePart, false, readSecret})
		}
		for name, kind := range map[string]partKind{"VAR": variablePart, "PATH": filePart, "ID": inputPart} {
			if open, end, ok := strings.Cut(word, name); ok && !strings.Contains(word, " ") {
				end, fallback := strings.CutPrefix(end, ":-default")
				out = append(out, form{open, end, kind, fallback, nil})
			}
		}
	}
	return out
}

// formsIn returns the forms that the client replaces at a place.
func formsIn(d *dialect, forms []form, where string) []form {
	if d.inHeadersOnly && !strings.HasPrefix(where, "headers") {
		return nil
	}
	return forms
}

// match reads a variable at the beginning of s.
func (f form) match(s string) (part, int) {
	if f.read != nil {
		return f.read(s)
	}
	rest, ok := strings.CutPrefix(s, f.open)
	n := text.NameLength(rest)
	if f.close != "" {
		n = strings.Index(rest, f.close)
	}
	if !ok || n < 0 || f.open == "%" && n < 3 { // %E4% is an octet of a URL
		return part{}, 0
	}
	p := part{kind: f.kind, text: rest[:n]}
	if name, fallback, has := strings.Cut(p.text, ":-"); has && f.fallback {
		p.text, p.fallback = name, &fallback
	}
	if f.kind == variablePart && !isName(p.text) {
		return part{}, 0
	}
	return p, len(f.open) + n + len(f.close)
}

// isAnywhere reports whether a path means the same in every file.
func isAnywhere(path string) bool {
	return (filepath.IsAbs(path) || strings.HasPrefix(path, "~/")) && !strings.Contains(path, "${")
}

// maxVariable bounds the length of a variable with its default, because a hostile text can begin a variable at every
// byte. maxNest bounds how deep variables may be nested.
const (
	maxVariable = 2 << 10
	maxNest     = 20
)

// split splits a text into its parts. Text that is in none of the forms is literal.
func split(s string, forms ...form) (out []part) {
	plain := 0 // the start of the present literal
	for at := 0; at < len(s) && len(forms) > 0; {
		var p part
		var n int
		for _, f := range forms {
			p, n = f.match(s[at:min(len(s), at+maxVariable)])
			if n > 0 {
				break
			}
		}
		if n > 0 {
			if at > plain {
				out = append(out, part{text: s[plain:at]})
			}
			out = append(out, p)
			plain = at + n
		} else {
			n = 1 + strings.IndexAny(s[at+1:], "${%")
		}
		if n == 0 {
			break
		}
		at += n
	}
	if plain < len(s) {
		out = append(out, part{text: s[plain:]})
	}
	return out
}

func isName(s string) bool { return s != "" && text.NameLength(s) == len(s) }

// namedPlaces are the variables of Cursor, Visual Studio Code and indus that have no name in them. The first of a kind
// is used for writing.
var namedPlaces = []form{
	{open: "${userHome}", kind: homePart}, {open: "${workspaceFolder}", kind: projectPart},
	{open: "${workspaceRoot}", kind: projectPart}, {open: "${workspaceFolderBasename}", kind: baseNamePart},
	{open: "${pathSeparator}", kind: separatorPart}, {open: "${/}", kind: separatorPart},
}

func readPlace(s string) (part, int) {
	for _, f := range namedPlaces {
		if strings.HasPrefix(s, f.open) {
			return part{kind: f.kind}, len(f.open)
		}
	}
	return part{}, 0
}

// readEditor reads ${config:…}, ${command:…} and other variables that only an editor can replace.
func readEditor(s string) (part, int) {
	p, n := form{open: "${", close: "}", kind: clientPart}.match(s)
	about, _, more := strings.Cut(p.text, ":")
	withMore := []string{"config", "command", "workspaceFolder", "env"}
	alone := []string{"file", "fileBasename", "fileDirname", "fileWorkspaceFolder", "relativeFile", "selectedText",
		"lineNumber", "execPath", "cwd", "userDataDir"}
	if more && slices.Contains(withMore, about) || !more && slices.Contains(alone, about) {
		return p, n
	}
	return part{}, 0
}

// readSecret reads ${{ secrets.VAR }} and ${{ inputs.VAR }}, of Continue.
func readSecret(s string) (part, int) {
	p, n := form{open: "${{", close: "}}", kind: clientPart}.match(s)
	_, name, _ := strings.Cut(strings.TrimSpace(p.text), ".")
	if !isName(name) {
		return part{}, 0
	}
	return part{kind: variablePart, text: name}, n
}

// readSubstitution reads $(command), of Crush and of shells.
func readSubstitution(s string) (part, int) {
	if !strings.HasPrefix(s, "$(") || strings.HasPrefix(s, "$((") {
		return part{}, 0
	}
	depth := 0
	for i, c := range s {
		switch c {
		case '(':
			depth++
			if depth > maxNest {
				return part{}, 0
			}
		case ')':
			depth--
			if depth == 0 {
				return part{kind: commandPart, text: s[2:i]}, i + 1
			}
		}
	}
	return part{}, 0
}

// nativeText writes parts in the form of indus's own files. If that is not possible, it returns "" and false.
func nativeText(parts []part) (string, bool) {
	var b strings.Builder
	for i, p := range parts {
		if p.kind == literalPart {
			text := strings.ReplaceAll(p.text, "${", "$${")
			if strings.HasSuffix(text, "$") && i+1 < len(parts) {
				return "", false // "$" and "${NAME}" would read as an escape
			}
			b.WriteString(text)
			continue
		}
		text, ok := nativePart(p)
		if !ok {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

func nativePart(p part) (string, bool) {
	switch p.kind {
	case variablePart:
		if !isName(p.text) || p.fallback == nil {
			return "${" + p.text + "}", isName(p.text)
		}
		out := "${" + p.text + ":-" + strings.ReplaceAll(*p.fallback, "${", "$${") + "}"
		return out, !strings.Contains(*p.fallback, "}") && !strings.HasSuffix(*p.fallback, "$")
	case filePart:
		return "${file:" + p.text + "}", !strings.ContainsAny(p.text, "{}")
	case commandPart:
		out := "${cmd:" + p.text + "}"
		return out, text.VariableLength(out+" ") == len(out) && strings.TrimSpace(p.text) != ""
	}
	i := slices.IndexFunc(namedPlaces, func(f form) bool { return f.kind == p.kind })
	if i < 0 {
		return "", false
	}
	return namedPlaces[i].open, true
}

// input is a value that Visual Studio Code asks its user for.
type input struct {
	name        string // of the variable that replaces it
	description string
	fallback    *string
	command     bool
	options     []string
}

// readInputs collects the inputs, and gives each a variable of its own.
func readInputs(r *reading) {
	r.inputs = map[string]*input{}
	used := map[string]int{}
	for _, path := range [][]string{{"inputs"}, {"mcp", "inputs"}} {
		v := tree.At(r.root, path...)
		if v != nil && !tree.Has(v, '[') {
			r.remark(v.StartOffset, `"inputs" is `+tree.KindOf(v.Value)+" where a list is expected, and is left out", "")
		}
		for _, e := range tree.Elements(v) {
			r.input(e, used)
		}
	}
}

func (r *reading) input(v *hujson.Value, used map[string]int) {
	id := tree.TextAt(v, "id")
	if id == "" {
		r.remark(v.StartOffset, "an input without an id is left out", "")
		return
	}
	in := &input{description: cmp.Or(tree.TextAt(v, "description"), id), command: tree.TextAt(v, "type") == "command"}
	if d := tree.At(v, "default"); tree.Has(d, '"') {
		s := tree.Text(*d)
		in.fallback = &s
	}
	for _, e := range tree.Elements(tree.At(v, "options")) { // strings, or objects with a value
		in.options = append(in.options, cmp.Or(tree.TextAt(e, "value"), tree.Text(*e)))
	}
	if old := r.inputs[id]; old != nil {
		r.remark(v.StartOffset, "the input "+tree.Quote(id)+" comes again; the last counts",
			"remove or rename one of the two")
		in.name = old.name
	} else {
		in.name = newName(variableName(id), used)
	}
	r.inputs[id] = in
}

// newName returns a name that is not used yet. If the name is used, it gets a number.
func newName(name string, used map[string]int) string {
	out := name
	for used[out] > 0 {
		used[name]++
		out = fmt.Sprintf("%s_%d", name, used[name])
	}
	used[out] = 1
	return out
}

// variableName returns the name of a variable for an id: GITHUB_TOKEN for github-token.
func variableName(id string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z':
			return c - 'a' + 'A'
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			return c
		}
		return '_'
	}, id)
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "_" + name
	}
	return name[:min(len(name), 64)]
}

// inputVariable returns a variable that replaces an input, or a value that only the client has.
func (m *serverRow) inputVariable(where string, p part, offset int) part {
	in := m.inputs[p.text]
	if p.kind == clientPart || in == nil {
		name, quoted := variableName(p.text), tree.Quote(p.text)
		reason := fmt.Sprintf("%s: the input %s is not defined; it has become ${%s}", where, quoted, name)
		if p.kind == clientPart {
			reason = fmt.Sprintf("%s: ${%s} is known to %s alone and has become ${%s}",
				where, quoted[1:len(quoted)-1], m.title, name)
		}
		m.remark(offset, reason, "set the variable "+name)
		return part{kind: variablePart, text: name}
	}
	out := part{kind: variablePart, text: in.name, fallback: in.fallback}
	if _, ok := nativePart(out); !ok {
		out.fallback = nil
	}
	hint := fmt.Sprintf("set the variable %s: %s", in.name, tree.Quote(in.description))
	if len(in.options) > 0 {
		hint += ", one of " + tree.Quote(strings.Join(in.options, ", "))
	}
	if in.command {
		hint += "; a command of the editor gave its value"
	}
	m.remark(offset, fmt.Sprintf("%s: the input %s has become ${%s}", where, tree.Quote(p.text), in.name), hint)
	return out
}
