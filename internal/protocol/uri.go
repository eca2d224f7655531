package protocol

import (
	"net/url"
	"strings"
)

// A URI of a resource passes as its server wrote it, unless it could not be told from another's. On a view
// of several servers
//
//   - ui:// (apps, SEP-1865) and skill:// (SEP-2640) have the server first in their path, because servers that
//     were made from one template have the same ones: ui://form.html of the server a is ui://a/form.html;
//   - a URI that an earlier server of the configuration lists too, a skill of another scheme, and what is
//     itself of the scheme indus, is indus://SERVER/URI: file:///x of the server b is indus://b/file:///x.
//
// So no server can list what counts as another's. Both are undone by what stands in them, so that a client may keep them, and make others of them (those of
// the files beside a skill) that nobody has listed.

// foreignScheme is before the URIs of which there are two.
const foreignScheme = "indus://"

// ownedSchemes are those whose URIs always have the server in them.
var ownedSchemes = []string{"ui://", "skill://", foreignScheme}

// schemeOf is the one of ownedSchemes that a URI has; "" where it has another.
func schemeOf(uri string) string {
	for _, scheme := range ownedSchemes {
		if strings.HasPrefix(uri, scheme) {
			return scheme
		}
	}
	return ""
}

// OwnedURI is the URI of a server in a form that names the server.
func OwnedURI(server, uri string) string {
	server = url.PathEscape(server)
	if scheme := schemeOf(uri); scheme != "" && scheme != foreignScheme {
		return scheme + server + "/" + uri[len(scheme):]
	}
	return foreignScheme + server + "/" + uri
}

// IsOwned reports whether a URI is of a scheme whose URIs have the server in them.
func IsOwned(uri string) bool { return schemeOf(uri) != "" }

// SplitURI undoes OwnedURI. has says which servers there are.
func SplitURI(uri string, has func(server string) bool) (server, own string, ok bool) {
	scheme := schemeOf(uri)
	server, path, ok := strings.Cut(uri[len(scheme):], "/")
	server, err := url.PathUnescape(server)
	if scheme == "" || !ok || err != nil || !has(server) {
		return "", "", false
	}
	if scheme != foreignScheme {
		path = scheme + path
	}
	return server, path, true
}
