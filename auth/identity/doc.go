// Package identity authenticates HTTP requests: by API keys, by tokens of authorization servers, or by a list of
// tokens. It does not depend on MCP.
//
// Begin with [NewGuard]:
//
//	guard := identity.NewGuard(nil, identity.NewKeys("keys.json"))
//	http.Handle("/", guard.Handler(mux))                                        // any handler
//	h := host.New(tools, &host.Options{Authenticate: guard.Principal})          // MCP
//
// Guard.Principal is for host.Options.Authenticate. [FromContext] returns the whole identity of a request: behind
// [Guard.Handler], and behind [Carry], which is for programs that call the guard elsewhere:
//
//	http.Handle("/mcp", identity.Carry(h.Handler()))
//
// # Tokens
//
// A token comes in the Authorization header (RFC 6750, section 2.1), never in a URL. There are four verifiers. [Keys]
// accepts the API keys of a file. [JWT] accepts tokens that authorization servers sign (RFC 9068). [Introspection] asks
// the authorization server about each token (RFC 7662). [Tokens] accepts a list of tokens. A guard asks its verifiers
// in order, and the first that knows the kind of a token decides.
//
// # Resources
//
// A guard may protect several resources (Options.Resource), each with its own URL. A token of an authorization server
// is valid for the resource that it was issued for (RFC 8707). An API key is valid for the views that it names. A
// refused client learns how to get a token: from a challenge, and from metadata at the well-known places (RFC 9728).
// Both depend only on the requested name, whether the resource exists or not. Thus they do not reveal which resources
// exist.
//
// # Faults
//
// An error of [Guard.Authenticate] is a [*Refusal] with the status 401 or 403, or 503 if no verifier can check the
// token. The request is refused in each case.
//
// # Bounds
//
// A token has at most 16 KiB. A cache holds up to 10,000 valid tokens, each until it expires. A response of an
// authorization server is limited to 1 MiB and 10 s, and redirects are not followed. Tokens that are signed with
// unknown keys cause one request to the authorization server in 5 minutes, however many arrive.
//
// # Concurrency
//
// All methods may be called from any goroutine. The first request that needs keys or an answer fetches them, and other
// requests wait for the same fetch. If a request is cancelled, its fetch goes on for the others and ends within 10 s.
// Nothing else runs in the background, and nothing needs to be closed.
package identity
