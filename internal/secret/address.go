package secret

import (
	"net/url"
	"strings"
)

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
