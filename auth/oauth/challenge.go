package oauth

import (
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const (
	maxChallenge = 16 << 10 // of all headers WWW-Authenticate, in bytes; their parser is quadratic
	maxScopes    = 100
	maxScope     = 256 // bytes
)

// challenge is the content of a server's 401 or 403 (RFC 6750 section 3, RFC 9728 section
// 5.1).
type challenge struct {
	metadata string   // the address of its metadata; "" if it has none
	scopes   []string // the scopes that the request needs; nil if it has none
	err      string   // "insufficient_scope" and the like
	noBearer bool     // it names schemes, and Bearer is not among them
}

func parseChallenge(h http.Header) challenge {
	headers, size := h["Www-Authenticate"], 0
	for _, header := range headers {
		size += len(header)
	}
	if size > maxChallenge {
		return challenge{}
	}
	var c challenge
	bearer := false
	for _, header := range headers {
		challenges, _ := oauthex.ParseWWWAuthenticate([]string{header}) // a header that cannot be parsed is ignored
		for _, parsed := range challenges {
			if c.metadata == "" {
				c.metadata = parsed.Params["resource_metadata"]
			}
			c.noBearer, bearer = true, bearer || parsed.Scheme == "bearer"
			if parsed.Scheme == "bearer" && c.err == "" && c.scopes == nil {
				c.err, c.scopes = parsed.Params["error"], scopesOf(parsed.Params["scope"])
			}
		}
	}
	c.noBearer = c.noBearer && !bearer
	return c
}

// scopesOf returns the valid scopes of a list (RFC 6749 section 3.3), each once. It is nil if
// there is none.
func scopesOf(list string) []string { return union(strings.Fields(list)) }

// union returns the scopes of all lists, each once, in their order.
func union(lists ...[]string) []string {
	var scopes []string
	for _, list := range lists {
		for _, s := range list {
			if len(scopes) < maxScopes && isScope(s) && !slices.Contains(scopes, s) {
				scopes = append(scopes, s)
			}
		}
	}
	return scopes
}

func isScope(s string) bool {
	return s != "" && len(s) <= maxScope && !strings.ContainsFunc(s, func(r rune) bool {
		return r < '!' || r > '~' || r == '"' || r == '\\'
	})
}

// contains reports whether set has every element of subset.
func contains(set, subset []string) bool {
	return !slices.ContainsFunc(subset, func(s string) bool { return !slices.Contains(set, s) })
}
