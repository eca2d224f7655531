// Package oauth signs in towards servers that want OAuth, as the authorization pages of the Model Context
// Protocol (2026-07-28, and before) have it: what it needs of MCP is an HTTP request and its answer.
//
// [New] makes a client, and [Client.Transport] an http.RoundTripper that puts a principal's token on
// requests, renews it before it expires, and finds out from a refusal what is wanted. A program with a
// person before it says how to ask:
//
//	c, err := oauth.New(&oauth.Options{Interact: &oauth.Loopback{Open: openBrowser}})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	client := &http.Client{Transport: c.Transport(nil, "https://mcp.example.com/mcp", "")}
//
// Without Options.Interact a request that needs a person fails at once with a [*SignInError]; when somebody
// has signed in, be it in another process that shares the [Store], the next request finds the token.
//
// # What it does
//
// Protected resource metadata (RFC 9728), authorization server metadata (RFC 8414, OpenID Connect
// Discovery), several authorization servers in order; a client id that is configured, a Client ID
// Metadata Document, or registration (RFC 7591), which is kept with its issuer; authorization codes with
// PKCE (S256 and nothing else), resource indicators on every request (RFC 8707), iss (RFC 9207), step-up by
// insufficient_scope; client credentials with a secret or private_key_jwt; token exchange (RFC 8693) and
// enterprise-managed authorization (SEP-990); revocation (RFC 7009).
//
// A refresh token that is refused (4xx but 408 and 429, or a 200 with an error) is kept, and a person is asked once the access
// token has expired. A registration that the authorization server no longer knows is discarded. Any other failure means that
// the authorization server cannot be reached: its metadata are read again, and the sign-in stays.
//
// # What it guards against
//
// All that servers name is bounded: 1 MiB of each document, 15 s of each request, four authorization servers; 16 KiB of each
// token, 32 KiB of what is kept of a sign-in, 2 MiB of all at one server, so that none fills the store of others. Documents
// come by https, or by http from this machine where the server is on it; redirects stay within their origin, and
// requests with secrets follow none; a server on the Internet cannot lead into private networks. A token goes to
// the origin that it is for and nowhere else.
//
// An authorization server cannot get the code of another one (mix-up; RFC 9700 section 4.4): either its answers say who it is
// (RFC 9207), or this client is registered there with an address that it is known by nowhere else. That cannot be
// of a client id that is configured, or a metadata document, whose address stands: there it takes RFC 9207.
//
// # Concurrency
//
// At most one flow is under way for a server and a principal, and whoever needs its outcome shares it; across
// processes [Store].Lock does the same. A refresh token that was rotated is stored before its access token is used.
// All methods may be called from any goroutine. [Client.Close] waits for what is under way.
package oauth
