// Package oauth signs in to servers that require OAuth, as the authorization pages of the Model Context Protocol
// (2026-07-28, and before) describe it. Of MCP it needs only an HTTP request and its response.
//
// [New] makes a client. [Client.Transport] returns an http.RoundTripper that adds a principal's token to requests. It
// renews the token before it expires, and reads from a refusal which token the server requires. A program that can ask
// a person sets Options.Interact:
//
//	c, err := oauth.New(&oauth.Options{Interact: &oauth.Loopback{Open: openBrowser}})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	client := &http.Client{Transport: c.Transport(nil, "https://mcp.example.com/mcp", "")}
//
// Without Options.Interact, a request that needs a person fails at once with a [*SignInError]. After a sign-in, the
// next request finds the token. The sign-in may be in another process that shares the [Store].
//
// # What it does
//
// The package supports:
//
//   - protected resource metadata (RFC 9728), and authorization server metadata (RFC 8414, OpenID Connect Discovery)
//   - several authorization servers, tried in order
//   - a configured client id, a Client ID Metadata Document, or registration (RFC 7591), which is kept with its issuer
//   - authorization codes with PKCE (only S256), resource indicators on every request (RFC 8707), and iss (RFC 9207)
//   - step-up after insufficient_scope
//   - client credentials with a secret or private_key_jwt
//   - token exchange (RFC 8693) and enterprise-managed authorization (SEP-990)
//   - revocation (RFC 7009)
//
// A refresh token that is refused is kept, and a person is asked once the access token has expired. A refusal is a 4xx
// other than 408 and 429, or a 200 with an error. A registration that the authorization server no longer knows is
// discarded. Any other failure means that the authorization server cannot be reached: its metadata are read again, and
// the sign-in stays.
//
// # What it guards against
//
// All input from servers is bounded. A document has at most 1 MiB, a request takes at most 15 s, and at most four
// authorization servers are tried. A token has at most 16 KiB, a stored sign-in 32 KiB, and all sign-ins at one server
// 2 MiB. So no server can fill the store of the others.
//
// Documents are read over https. If the server is on this machine, http to this machine is allowed too. Redirects stay
// within their origin, and requests with secrets follow none. A server on the Internet cannot lead into private
// networks. A token is sent only to the origin for which it was issued.
//
// An authorization server cannot get the code of another one (mix-up; RFC 9700 section 4.4). Either its answers name
// the issuer (RFC 9207), or this client registers with an address that no other authorization server knows. A
// configured client id and a metadata document have a fixed address, so only RFC 9207 protects them.
//
// # Concurrency
//
// At most one flow runs for a server and a principal. All callers that need its outcome share it. Across processes,
// [Store].Lock has the same effect. A refresh token that was rotated is stored before its access token is used. All
// methods may be called from any goroutine. [Client.Close] waits for running flows.
package oauth
