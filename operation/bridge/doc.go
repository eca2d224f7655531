// Package bridge connects operations and MCP. It imports the tools of a server as operations ([FromMCP]), and offers a
// service's own operations to models behind four tools ([ToMCP]).
//
//	registry := operation.NewRegistry(nil)
//	defer registry.Close() // and with it the connection
//	weather := &bridge.FromMCP{
//		Endpoint:  "https://weather.example/mcp",
//		Namespace: "weather",
//		Prefix:    true,
//		Token:     operation.NewSecret("…"), // from wherever this program keeps secrets
//	}
//	err := registry.Import(ctx, "weather", weather) // operation.Unauthorized, operation.DiscoveryFailed
//
//	report := operation.Spec{Name: "report", Kind: operation.Query, Visibility: operation.External}
//	handler := func(ctx context.Context, c *operation.Context, in json.RawMessage) (json.RawMessage, error) {
//		today := c.Call(ctx, "weather/today", in)
//		if today.Err != nil {
//			return nil, today.Err
//		}
//		return today.Value, nil
//	}
//	err = registry.Add(operation.Registration{Spec: report, Handler: handler, Env: []string{"weather/today"}})
//	answer := registry.Call(ctx, operation.Call{Operation: "report", Input: json.RawMessage(`{"city":"Ulm"}`)})
//
// # Tools as operations
//
// Each tool that a server lists, on all pages, becomes an operation. The operation is Internal: only operations with
// its name in their Env can call it. It is a leaf. It is a Mutation, unless annotations are trusted. Its input schema
// is the tool's schema, byte for byte.
//
// If the tool declares an output schema, the operation has the same one, and its value is the tool's structured
// content. If this content is missing or does not fit the schema, the call ends with INTERNAL. If the tool declares no
// output schema, the value is the list of its content blocks, as [Content] describes them. Text that looks like JSON is
// not parsed. A schema that cannot be checked, for example because it refers to the network, is logged and not checked.
//
// Listed tools that cannot be operations are left out and logged. [FromMCP.Quarantined] returns them. Examples are a
// name with unprintable characters and a schema above the limits.
//
// # Errors
//
// All operations declare the same four errors: [ToolError], [Refused], [Unauthorized] and [Unavailable]. If the server
// takes too long, the error is TIMEOUT. If it breaks the protocol, the error is INTERNAL. Retryable is true only if the
// call cannot have run, or if it is a Query. When a context ends, its call ends, and the server is notified.
//
// # Tokens
//
// A bearer token comes only from capabilities: from the call's capability with the name FromMCP.Capability, or else
// from FromMCP.Token. The package reads no environment variables. Go itself reads some to find the system's roots: see
// FromMCP.TLS.
//
// Calls with different tokens share a registration, but never a session, a list or an answer. A server of 2026-07-28
// has no sessions, so each request carries its token. With an older server each token has its own session. The first
// call opens the session, and it is closed when idle. The session of FromMCP.Token lives as long as the registrations.
// The only stored answer is the list for FromMCP.Token.
//
// # Operations as tools
//
// [ToMCP] offers the External operations of a registry to models as four tools of package toolbox/catalog: search,
// schema, call and batch. It returns a [toolbox.Source], which package host publishes over HTTP and stdio.
// host.Options.Authenticate determines the caller, for example with a Guard of package identity. ToMCPOptions.Identity
// determines its rights, and is called for each search and each call. Over stdio there is no token, and the caller is
// ToMCPOptions.Local.
//
// # Concurrency
//
// Everything is safe for concurrent use. Operations of one import share a connection, also with a later import while
// the earlier one is registered. If the connection dies, it is replaced. The Release of the last registration closes
// it, which takes at most a few seconds. Only open connections have goroutines. [FromMCP.Follow] runs in its caller's
// goroutine.
//
// # Testing
//
// In a test, run a host of package host behind an httptest.Server: see the Example of FromMCP.
package bridge
