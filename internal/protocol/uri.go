package protocol

import (
	"net/url"
	"strings"
)

// The URI of a resource stays as its server wrote it, unless it could be confused with the URI of another server. On a
// view of several servers, some URIs get another form:
//
//   - ui:// (apps, SEP-1865) and skill:// (SEP-2640) get the server as the first part of their path, because servers
//     made from one template have the same URIs: ui://form.html of the server a is ui://a/form.html.
//   - three kinds of URI become indus://SERVER/URI: a URI that an earlier server of the configuration also lists, a
//     skill of another scheme, and a URI with the scheme indus. For example, file:///x of the server b is
//     indus://b/file:///x.
//
// So no server can list a URI that counts as the URI of another server. Both forms can be reversed from the URI alone.
// A client may keep such URIs, and may derive URIs that no server has listed, such as the URIs of the files beside a
// skill.

// foreignScheme is the prefix for URIs that several servers use.
const foreignScheme = "indus://"

// ownedSchemes lists the schemes with URIs that always contain the server.
var ownedSchemes = []string{"ui://", "skill://", foreignScheme}

// schemeOf returns the scheme of a URI if it is in ownedSchemes, or "".
func schemeOf(uri string) string {
	for _, scheme := range ownedSchemes {
		if strings.HasPrefix(uri, scheme) {
			return scheme
		}
	}
	return ""
}

// OwnedURI returns the URI of a server in a form that contains the server.
func OwnedURI(server, uri string) string {
	server = url.PathEscape(server)
	if scheme := schemeOf(uri); scheme != "" && scheme != foreignScheme {
		return scheme + server + "/" + uri[len(scheme):]
	}
	return foreignScheme + server + "/" + uri
}

// IsOwned reports whether the URIs of this URI's scheme contain the server.
func IsOwned(uri string) bool { return schemeOf(uri) != "" }

// SplitURI reverses OwnedURI. has reports whether a server exists.
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
