package mcpconfig

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/text"
)

// plainURL is a URL without user, query and fragment, where secrets stand. Variables
// stay, wherever they stand, and so does all that may become the host: who approves
// the row must see where it leads, what is sent along, and what runs before.
func plainURL(s string) string {
	if s == "" { // no string: the row will be skipped
		return ""
	}
	if _, err := url.Parse(strings.TrimSpace(s)); err != nil && strings.Contains(s, "@") && !strings.Contains(s, "${") {
		return quoteWord(front.FindStringSubmatch(s)[1] + "…") // a password with a slash, say
	}
	return quoteWord(address{}.plain(s))
}

// address is what is known of a URL in the course of reading it.
type address struct {
	path  bool // the host has ended
	query bool // so has the path
	depth int  // of defaults in defaults
}

// front is a scheme, and a user with a password, where they may begin. The user has
// nothing in it that ends a host, so that no host can be taken for one.
var front = regexp.MustCompile(`^(\s*(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//)?([^/?#]+@)?`)

// plain is a text of the URL: the whole, or the default of a variable. What a default
// ends is not ended where the variable has a value.
func (a address) plain(s string) string {
	var out strings.Builder
	for s != "" {
		at := text.VariableIndex(s)
		out.WriteString(a.literal(s[:at]))
		end := at + text.VariableLength(s[at:])
		out.WriteString(a.variable(s[at:end]))
		s = s[end:]
	}
	return out.String()
}

// literal is a text without variables.
func (a *address) literal(s string) string {
	switch {
	case s == "":
		return ""
	case a.query:
		return "…"
	}
	shown := ""
	if !a.path {
		m := front.FindStringSubmatch(s)
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
	return shown + secret.Path("x" + s)[1:]
}

// variable is one as it is, but for what its default must not show.
func (a address) variable(s string) string {
	name, standIn, ok := strings.Cut(strings.TrimSuffix(s, "}"), ":-")
	if !ok || strings.HasPrefix(s, "${cmd:") || strings.HasPrefix(s, "${file:") {
		return s
	}
	if a.depth++; a.depth > maxNest { // which gives the row up
		return "${…}"
	}
	a.path = false // it may begin anew, with a user
	return name + ":-" + a.plain(standIn) + "}"
}
