// Package identity says who sends an HTTP request: by API keys, by the tokens of authorization servers, or by a list of tokens. It
// knows no MCP.
//
// Begin with [NewGuard]:
//
//	guard := identity.NewGuard(nil, identity.NewKeys("keys.json"))
//	http.Handle("/", guard.Handler(mux))                                        // any handler
//	h := host.New(tools, &host.Options{Authenticate: guard.Principal})          // MCP
//
// Guard.Principal is for host.Options.Authenticate; [FromContext] has the whole identity behind a handler of [Guard.Handler].
//
// # Tokens
//
// A token comes in the Authorization header (RFC 6750, section 2.1), never in a URL. [Keys] are API keys of a file, [JWT] is tokens that
// authorization servers sign (RFC 9068), [Introspection] asks the authorization server about each (RFC 7662), and [Tokens] is a list.
// A guard asks them in order, and the first that knows the kind of a token decides.
//
// # Resources
//
// A guard may stand before several resources (Options.Resource), each with a URL of its own. A token of an authorization server
// is good for the resource that it was issued for (RFC 8707), and an API key for the views that it names. What is refused is told
// how to get a token: by a challenge, and by metadata at the well-known places (RFC 9728). Both follow from the name that was asked for,
// whether there is such a resource or not: they tell nobody which ones there are.
//
// # Faults
//
// An error of [Guard.Authenticate] is a [*Refusal]: 401, 403, or 503 where nobody can say whose a token is. None is let in then.
//
// # Bounds
//
// A token has 16 KiB at most. Of tokens that were found good 10,000 are remembered, each until it expires. What an authorization server
// sends is bounded (1 MiB, 10 s), redirects are not followed, and tokens signed with unknown keys make it be asked once in 5 minutes, however
// many come.
//
// # Concurrency
//
// All methods may be called from any goroutine. Who needs something fetches it, and others that need it meanwhile wait with
// them. When a request is given up, what was fetched for it goes on for the others, and ends within 10 s; nothing else runs
// in the background, and nothing need be closed.
package identity
