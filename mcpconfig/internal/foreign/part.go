package foreign

import "strings"

// kind is what a part of a text stands for.
type kind string

const (
	literal   kind = ""
	variable  kind = "variable"  // of the environment
	home      kind = "home"      // the user's home directory
	workspace kind = "workspace" // the project's directory
	baseName  kind = "base name" // its last element
	separator kind = "separator" // of paths
	contents  kind = "file"      // what a file holds
	output    kind = "command"   // what a command prints
	input     kind = "input"     // what the client asks its user
	alien     kind = "alien"     // what only that client knows
)

// part is a piece of a text with variables.
type part struct {
	kind kind
	text string // the literal, or the name, path, command or id
	// fallback is the default of a variable; nil where it has none.
	fallback []part
}

// matcher reads one variable at the beginning of s: the part, and how many bytes it
// takes; 0 where s does not begin with one.
type matcher func(s string) (part, int)

// maxVariable is how long a variable may be with its default, because a hostile text
// can begin one at every byte.
const maxVariable = 2 << 10

// split cuts a text into its parts. What no matcher reads is literal.
func split(s string, vars []matcher) []part {
	var out []part
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			out = append(out, part{text: plain.String()})
			plain.Reset()
		}
	}
	for at := 0; at < len(s); {
		p, n := match(s[at:], vars)
		switch {
		case n > 0 && p.kind == literal:
			plain.WriteString(p.text)
		case n > 0:
			flush()
			out = append(out, p)
		default:
			n = 1 + strings.IndexAny(s[at+1:], "${%")
			if n == 0 || len(vars) == 0 {
				n = len(s) - at
			}
			plain.WriteString(s[at : at+n])
		}
		at += n
	}
	flush()
	return out
}

// match reads one variable by the first matcher that knows it.
func match(s string, vars []matcher) (part, int) {
	for _, read := range vars {
		if p, n := read(s[:min(len(s), maxVariable)]); n > 0 {
			return p, n
		}
	}
	return part{}, 0
}

// native writes parts as indus's own files do; "" and false where they cannot say it.
func native(parts []part) (string, bool) {
	var b strings.Builder
	for i, p := range parts {
		if p.kind == literal {
			text := strings.ReplaceAll(p.text, "${", "$${")
			if strings.HasSuffix(text, "$") && i+1 < len(parts) {
				return "", false // "$" and "${NAME}" would read as an escape
			}
			b.WriteString(text)
			continue
		}
		text, ok := nativeOne(p)
		if !ok {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

func nativeOne(p part) (string, bool) {
	switch p.kind {
	case variable:
		if !isName(p.text) {
			return "", false
		}
		if p.fallback == nil {
			return "${" + p.text + "}", true
		}
		text, ok := native(p.fallback)
		for _, f := range p.fallback {
			ok = ok && (f.kind != literal || !strings.Contains(f.text, "}"))
		}
		return "${" + p.text + ":-" + text + "}", ok && !strings.HasSuffix(text, "$")
	case home:
		return "${userHome}", true
	case workspace:
		return "${workspaceFolder}", true
	case baseName:
		return "${workspaceFolderBasename}", true
	case separator:
		return "${pathSeparator}", true
	case contents:
		return "${file:" + p.text + "}", !strings.ContainsAny(p.text, "{}")
	case output:
		return "${cmd:" + p.text + "}", paired(p.text+"}") == len(p.text) && strings.TrimSpace(p.text) != ""
	}
	return "", false
}

func isName(s string) bool { return s != "" && nameLength(s) == len(s) }

// nameLength is how much of s is a variable's name: letters, digits and "_", no digit first.
func nameLength(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}
