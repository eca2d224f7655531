package foreign

import "strings"

// These are the variables that the clients know, each form by itself. A client's
// list of them says what it replaces; anything else it takes literally.

// enclosed is the text between open and close, and the length of all three.
func enclosed(s, open, close string) (inner string, n int) {
	rest, ok := strings.CutPrefix(s, open)
	if !ok {
		return "", 0
	}
	end := strings.Index(rest, close)
	if end < 0 {
		return "", 0
	}
	return rest[:end], len(open) + end + len(close)
}

// named is the variable that inner names, with a default behind ":-".
func named(inner string, n int) (part, int) {
	name, fallback, has := strings.Cut(inner, ":-")
	if !isName(name) {
		return part{}, 0
	}
	p := part{kind: variable, text: name}
	if has {
		p.fallback = text(fallback)
	}
	return p, n
}

// text is never nil, so that an empty default is one.
func text(s string) []part {
	if s == "" {
		return []part{}
	}
	return []part{{text: s}}
}

// braced is ${VAR} and ${VAR:-default}; the default ends at the first "}".
func braced(s string) (part, int) {
	inner, n := enclosed(s, "${", "}")
	return named(inner, n)
}

// plainBraced is ${VAR} alone.
func plainBraced(s string) (part, int) {
	inner, n := enclosed(s, "${", "}")
	if strings.Contains(inner, ":-") {
		return part{}, 0
	}
	return named(inner, n)
}

// envColon is ${env:VAR}, of Cursor and Visual Studio Code.
func envColon(s string) (part, int) {
	inner, n := enclosed(s, "${env:", "}")
	if strings.Contains(inner, ":-") {
		return part{}, 0
	}
	return named(inner, n)
}

// envURL is ${env://VAR} and ${env://VAR:-default}, of mcphost.
func envURL(s string) (part, int) {
	inner, n := enclosed(s, "${env://", "}")
	return named(inner, n)
}

// dollarEnv is $env:VAR, of mcporter.
func dollarEnv(s string) (part, int) {
	rest, ok := strings.CutPrefix(s, "$env:")
	n := nameLength(rest)
	if !ok || n == 0 {
		return part{}, 0
	}
	return part{kind: variable, text: rest[:n]}, len("$env:") + n
}

// dollar is $VAR, of Gemini CLI and of shells.
func dollar(s string) (part, int) {
	rest, ok := strings.CutPrefix(s, "$")
	n := nameLength(rest)
	if !ok || n == 0 {
		return part{}, 0
	}
	return part{kind: variable, text: rest[:n]}, 1 + n
}

// percent is %VAR%, of Gemini CLI. What could be an octet of a URL (%E4%) is not read.
func percent(s string) (part, int) {
	inner, n := enclosed(s, "%", "%")
	if len(inner) < 3 || !isName(inner) {
		return part{}, 0
	}
	return part{kind: variable, text: inner}, n
}

// curly is {env:VAR} and {file:path}, of opencode.
func curly(s string) (part, int) {
	if inner, n := enclosed(s, "{env:", "}"); n > 0 && isName(inner) {
		return part{kind: variable, text: inner}, n
	}
	inner, n := enclosed(s, "{file:", "}")
	return part{kind: contents, text: inner}, n
}

// fileColon is ${file:path}, of Windsurf.
func fileColon(s string) (part, int) {
	inner, n := enclosed(s, "${file:", "}")
	return part{kind: contents, text: inner}, n
}

// places are ${userHome}, ${workspaceFolder} and their like, of Cursor and Visual Studio Code.
func places(s string) (part, int) {
	for name, k := range map[string]kind{
		"userHome": home, "workspaceFolder": workspace, "workspaceRoot": workspace,
		"workspaceFolderBasename": baseName, "pathSeparator": separator, "/": separator,
	} {
		if strings.HasPrefix(s, "${"+name+"}") {
			return part{kind: k}, len(name) + 3
		}
	}
	return part{}, 0
}

// inputColon is ${input:ID}, of Visual Studio Code.
func inputColon(s string) (part, int) {
	inner, n := enclosed(s, "${input:", "}")
	return part{kind: input, text: inner}, n
}

// editor is ${config:…}, ${command:…} and the rest that only an editor can replace.
func editor(s string) (part, int) {
	inner, n := enclosed(s, "${", "}")
	about, _, _ := strings.Cut(inner, ":")
	switch about {
	case "config", "command", "workspaceFolder", "env":
		if about == inner {
			return part{}, 0
		}
	case "file", "fileBasename", "fileDirname", "fileWorkspaceFolder", "relativeFile", "selectedText", "lineNumber", "execPath", "cwd", "userDataDir":
		if about != inner {
			return part{}, 0
		}
	default:
		return part{}, 0
	}
	return part{kind: alien, text: inner}, n
}

// secrets is ${{ secrets.VAR }} and ${{ inputs.VAR }}, of Continue.
func secrets(s string) (part, int) {
	inner, n := enclosed(s, "${{", "}}")
	_, name, _ := strings.Cut(strings.TrimSpace(inner), ".")
	if n == 0 || !isName(name) {
		return part{}, 0
	}
	return part{kind: variable, text: name}, n
}

// substitution is $(command), of Crush and of shells.
func substitution(s string) (part, int) {
	if !strings.HasPrefix(s, "$(") || strings.HasPrefix(s, "$((") {
		return part{}, 0
	}
	depth := 0
	for i, c := range s {
		switch c {
		case '(':
			if depth++; depth > maxNest {
				return part{}, 0
			}
		case ')':
			if depth--; depth == 0 {
				return part{kind: output, text: s[2:i]}, i + 1
			}
		}
	}
	return part{}, 0
}

// own is every variable of indus's own files. "$${" is the escape.
func own(s string) (part, int) {
	if strings.HasPrefix(s, "$${") {
		return part{text: "${"}, 3
	}
	if p, n := places(s); n > 0 && !strings.HasPrefix(s, "${workspaceRoot}") {
		return p, n
	}
	if rest, ok := strings.CutPrefix(s, "${file:"); ok {
		if end := ownEnd(rest); end >= 0 {
			return part{kind: contents, text: rest[:end]}, len("${file:") + end + 1
		}
	}
	if rest, ok := strings.CutPrefix(s, "${cmd:"); ok {
		if end := paired(rest); end >= 0 {
			return part{kind: output, text: rest[:end]}, len("${cmd:") + end + 1
		}
	}
	rest, ok := strings.CutPrefix(s, "${")
	if !ok {
		return part{}, 0
	}
	rest = strings.TrimPrefix(rest, "env:")
	start := len(s) - len(rest)
	n := nameLength(rest)
	p := part{kind: variable, text: rest[:n]}
	switch {
	case n == 0:
		return part{}, 0
	case strings.HasPrefix(rest[n:], "}"):
		return p, start + n + 1
	case strings.HasPrefix(rest[n:], ":-"):
		fallback, m := ownDefault(rest[n+2:])
		p.fallback = fallback
		if m == 0 {
			return part{}, 0
		}
		return p, start + n + 2 + m
	}
	return part{}, 0
}

// opened is what is left over of "${" where no variable begins.
func opened(s string) (part, int) {
	if strings.HasPrefix(s, "${") {
		return part{kind: alien, text: "${"}, 2
	}
	return part{}, 0
}

// paired is where the "}" stands that has no "{" before it; -1 where there is none.
func paired(s string) int {
	depth := 0
	for i, c := range s {
		switch c {
		case '{':
			if depth++; depth > maxNest {
				return -1
			}
		case '}':
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return -1
}

// maxNest is how deep defaults may stand in defaults, because reading them recurses.
const maxNest = 20

// ownDefault reads a default with its variables, and the "}" that ends it.
func ownDefault(s string) ([]part, int) {
	end := ownEnd(s)
	if end < 0 {
		return nil, 0
	}
	parts := split(s[:end], []matcher{own})
	if parts == nil {
		parts = []part{}
	}
	return parts, end + 1
}

// ownEnd is where the "}" stands that belongs to no variable inside.
func ownEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "$${"):
			i += 2
		case strings.HasPrefix(s[i:], "${"):
			if depth++; depth > maxNest {
				return -1
			}
			i++
		case s[i] == '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}
