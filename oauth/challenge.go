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
	foreign  bool     // it names schemes, and Bearer is not among them
}

func challengeOf(h http.Header) challenge {
	headers, size := h["Www-Authenticate"], 0
	for _, one := range headers {
		size += len(one)
	}
	if size > maxChallenge {
		return challenge{}
	}
	var c challenge
	bearer := false
	for _, header := range headers {
		all, _ := oauthex.ParseWWWAuthenticate([]string{header}) // a header that cannot be parsed is ignored
		for _, one := range all {
			if c.metadata == "" {
				c.metadata = one.Params["resource_metadata"]
			}
			c.foreign, bearer = true, bearer || one.Scheme == "bearer"
			if one.Scheme == "bearer" && c.err == "" && c.scopes == nil {
				c.err, c.scopes = one.Params["error"], scopesOf(one.Params["scope"])
			}
		}
	}
	c.foreign = c.foreign && !bearer
	return c
}

// scopesOf returns the valid scopes of a list (RFC 6749 section 3.3), each once. It is nil if
// there is none.
func scopesOf(list string) []string { return union(strings.Fields(list)) }

// union returns the scopes of all lists, each once, in their order.
func union(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		for _, s := range list {
			if len(all) < maxScopes && isScope(s) && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

func isScope(s string) bool {
	return s != "" && len(s) <= maxScope && !strings.ContainsFunc(s, func(r rune) bool {
		return r < '!' || r > '~' || r == '"' || r == '\\'
	})
}

// contains reports whether all has every element of some.
func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}
