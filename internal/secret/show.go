package secret

import (
	"net/url"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// Text returns a text of a configuration, such as a command line, with likely credentials masked.
// Variables stay as they are written, except for their defaults.
func Text(s string) string {
	const maxVariables = 200 // variables; nested variables are read again at each level
	if strings.Count(s, "${") > maxVariables {
		return Mask
	}
	return replaceParts(s, func(s string) string { return replaceLikely(s, hideText) }, func(variable string) string {
		name, standIn, ok := strings.Cut(strings.Trim(variable, "${}"), ":-")
		if ok && (IsSecretName(name) || Text(standIn) != standIn) {
			return replaceDefault(variable, Literal)
		}
		return variable
	})
}

// Literal masks all of a text except its variables and the word in front of a credential. The
// default of a variable is masked like the text.
func Literal(s string) string {
	word := Scheme(s)
	return word + replaceParts(s[len(word):], hideText,
		func(variable string) string { return replaceDefault(variable, Literal) })
}

// URL masks the login, the values of the query, the fragment, and parts of the path that look like
// a key.
func URL(s string) string {
	s = replaceSecond(userinfo, s, hideText)
	s = replaceSecond(queries, s, Literal)
	if path, fragment, ok := strings.Cut(s, "#"); ok && fragment != "" {
		s = path + "#" + Mask
	}
	path, query, more := strings.Cut(s, "?")
	path = Path(path)
	if more {
		path += "?" + query
	}
	return path
}

// Path masks parts of the path of a URL that look like a key.
func Path(s string) string {
	return replaceSecond(segments, s, func(part string) string {
		if looksLikeKey(part) {
			return Mask
		}
		return part
	})
}

// Args masks likely credentials in the arguments of a command.
func Args(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = Text(a)
		if followsSecretFlag(args, i) && IsLongEnough(a) {
			out[i] = Mask
		}
	}
	return out
}

func hideText(s string) string {
	if s == "" {
		return ""
	}
	return Mask
}

// replaceParts returns s with its literals and its variables replaced.
func replaceParts(s string, literal, variable func(string) string) string {
	var b strings.Builder
	for {
		start := text.VariableIndex(s)
		b.WriteString(literal(s[:start]))
		if start == len(s) {
			return b.String()
		}
		end := start + text.VariableLength(s[start:])
		b.WriteString(variable(s[start:end]))
		s = s[end:]
	}
}

// replaceDefault returns a variable with its default replaced.
func replaceDefault(variable string, replace func(string) string) string {
	name, fallback, ok := strings.Cut(strings.TrimSuffix(variable, "}"), ":-")
	if !ok || strings.HasPrefix(variable, "${cmd:") || strings.HasPrefix(variable, "${file:") {
		return variable
	}
	return name + ":-" + replace(fallback) + "}"
}

// Target returns a URL without user, query and fragment, which may hold secrets. Variables stay
// everywhere, and so does every part that may become the host. A person who approves a server must
// see its destination, the data sent to it and the commands run before.
func Target(s string) string {
	if _, err := url.Parse(strings.TrimSpace(s)); err != nil && strings.Contains(s, "@") && !strings.Contains(s, "${") {
		return urlStart().FindStringSubmatch(s)[1] + "…" // such as a password with a slash
	}
	return partialURL{}.shown(s)
}

// partialURL is the state while reading a URL.
type partialURL struct {
	path  bool // the host has ended
	query bool // the path has ended
	depth int  // nesting of defaults
}

// urlStart matches a scheme, and a user with a password, at their possible places. The user has no
// characters that end a host, so that no host can be taken for a user.
var urlStart = text.Pattern(`^(\s*(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//)?([^/?#]+@)?`)

// shown returns a text of the URL: the whole URL, or the default of a variable. The state after a
// default does not apply outside of it, because the variable may have a value instead.
func (a partialURL) shown(s string) string {
	return replaceParts(s, a.literal, func(s string) string { return a.variable(s) })
}

// literal returns the visible part of a text without variables.
func (a *partialURL) literal(s string) string {
	switch {
	case s == "":
		return ""
	case a.query:
		return "…"
	}
	shown := ""
	if !a.path {
		m := urlStart().FindStringSubmatch(s)
		s = s[len(m[0]):]
		shown = m[1]
		if m[2] != "" {
			shown += "…@"
		}
	}
	a.path = a.path || strings.ContainsAny(s, "/?#")
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		a.query = true
		s = s[:i+1] + "…"
	}
	return shown + Path("x" + s)[1:]
}

// variable returns a variable as it is written, except for the hidden parts of its default.
func (a partialURL) variable(s string) string {
	a.depth++
	a.path = false         // the default may begin a new URL, with a user
	if a.depth > maxNest { // the configuration reader refuses such nesting
		return "${…}"
	}
	return replaceDefault(s, a.shown)
}

// maxNest limits the nesting of defaults, because reading them recurses.
const maxNest = 20
