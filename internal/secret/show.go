package secret

import (
	"net/url"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// Text is a text of a configuration, such as a command line, of which all may be seen but
// what looks like a credential. Variables stay as they are written, but for their defaults.
func Text(s string) string {
	const most = 200 // variables; nested ones are read again at each level
	if strings.Contains(s, "PRIVATE KEY-----") || strings.Count(s, "${") > most {
		return Mask
	}
	return replaceParts(s, func(s string) string { return replaceLikely(s, hideText) }, func(one string) string {
		name, standIn, ok := strings.Cut(strings.Trim(one, "${}"), ":-")
		if ok && (Named(name) || Text(standIn) != standIn) {
			return replaceDefault(one, Literal)
		}
		return one
	})
}

// Literal masks all of a text but its variables, and the word in front of a credential. Of
// a variable the default is hideText.
func Literal(s string) string {
	word := Scheme(s)
	return word + replaceParts(s[len(word):], hideText, func(one string) string { return replaceDefault(one, Literal) })
}

// URL masks who logs in, the values of the query, the fragment, and what in the path
// looks like a key.
func URL(s string) string {
	s = replaceSecond(userinfo, s, hideText)
	s = replaceSecond(queries, s, Literal)
	if path, fragment, ok := strings.Cut(s, "#"); ok && fragment != "" {
		s = path + "#" + Mask
	}
	path, query, more := strings.Cut(s, "?")
	if path = Path(path); more {
		path += "?" + query
	}
	return path
}

// Path masks what in the path of a URL looks like a key.
func Path(s string) string {
	return replaceSecond(segments, s, func(part string) string {
		if keyLike(part) {
			return Mask
		}
		return part
	})
}

// Args masks what looks like a credential in the arguments of a command.
func Args(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if out[i] = Text(a); afterName(args, i) && Worth(a) {
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

// replaceParts is s with its literals and its variables replaced.
func replaceParts(s string, literal, one func(string) string) string {
	var b strings.Builder
	for {
		at := text.VariableIndex(s)
		b.WriteString(literal(s[:at]))
		if at == len(s) {
			return b.String()
		}
		end := at + text.VariableLength(s[at:])
		b.WriteString(one(s[at:end]))
		s = s[end:]
	}
}

// replaceDefault is a variable with its default replaced.
func replaceDefault(variable string, replace func(string) string) string {
	name, fallback, ok := strings.Cut(strings.TrimSuffix(variable, "}"), ":-")
	if !ok || strings.HasPrefix(variable, "${cmd:") || strings.HasPrefix(variable, "${file:") {
		return variable
	}
	return name + ":-" + replace(fallback) + "}"
}

// Target is a URL without user, query and fragment, where secrets stand. Variables
// stay, wherever they stand, and so does all that may become the host: who approves
// a server must see where it leads, what is sent along, and what runs before.
func Target(s string) string {
	if _, err := url.Parse(strings.TrimSpace(s)); err != nil && strings.Contains(s, "@") && !strings.Contains(s, "${") {
		return urlStart().FindStringSubmatch(s)[1] + "…" // a password with a slash, say
	}
	return partialURL{}.shown(s)
}

// partialURL is what is known of a URL in the course of reading it.
type partialURL struct {
	path  bool // the host has ended
	query bool // so has the path
	depth int  // of defaults in defaults
}

// urlStart is a scheme, and a user with a password, where they may begin. The user has
// nothing in it that ends a host, so that no host can be taken for one.
var urlStart = lazily(`^(\s*(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//)?([^/?#]+@)?`)

// shown is a text of the URL: the whole, or the default of a variable. What a default
// ends is not ended where the variable has a value.
func (a partialURL) shown(s string) string {
	return replaceParts(s, a.literal, func(s string) string { return a.variable(s) })
}

// literal is a text without variables.
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
		if shown = m[1]; m[2] != "" {
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

// variable is one as it is, but for what its default must not show.
func (a partialURL) variable(s string) string {
	a.depth++
	a.path = false         // it may begin anew, with a user
	if a.depth > maxNest { // for which no server is read
		return "${…}"
	}
	return replaceDefault(s, a.shown)
}

// maxNest is how deep defaults may be in defaults, because reading them recurses.
const maxNest = 20
