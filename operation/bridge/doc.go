// Package bridge joins operations and MCP: the tools of a server become operations
// ([FromMCP]), and a service's own operations go out to models behind four tools ([ToMCP]).
//
//	package main
//
//	import (
//		"context"
//		"encoding/json"
//		"fmt"
//		"log"
//
//		"github.com/indusagi/indus/operation"
//		"github.com/indusagi/indus/operation/bridge"
//	)
//
//	func main() {
//		ctx := context.Background()
//		registry := operation.NewRegistry(nil)
//		defer registry.Close() // and with it the connection
//		weather := &bridge.FromMCP{
//			Endpoint:  "https://weather.example/mcp",
//			Namespace: "weather",
//			Prefix:    true,
//			Token:     operation.NewSecret("…"), // from wherever this program keeps secrets
//		}
//		if err := registry.Import(ctx, "weather", weather); err != nil {
//			log.Fatal(err) // operation.Unauthorized, operation.DiscoveryFailed
//		}
//
//		report := operation.Spec{Name: "report", Kind: operation.Query, Visibility: operation.External}
//		handler := func(ctx context.Context, c *operation.Context, in json.RawMessage) (json.RawMessage, error) {
//			today := c.Call(ctx, "weather/today", in)
//			if today.Err != nil {
//				return nil, today.Err
//			}
//			return today.Value, nil
//		}
//		err := registry.Add(operation.Registration{Spec: report, Handler: handler, Env: []string{"weather/today"}})
//		if err != nil {
//			log.Fatal(err)
//		}
//		answer := registry.Call(ctx, operation.Call{Operation: "report", Input: json.RawMessage(`{"city":"Ulm"}`)})
//		fmt.Println(string(answer.Value), answer.Err)
//	}
//
// # Tools as operations
//
// Each tool that a server lists, on all pages, is an operation: Internal, so that only
// operations with it in their Env call it; a leaf; a Mutation, unless annotations are
// trusted. Its input schema is the tool's, byte for byte. Its output schema is the one that
// the tool declares, and then the value is the tool's structured content, which has to be
// there and to fit: where it is not or does not, the call ends with INTERNAL. A tool
// that declares none gives its content blocks, as [Content] describes them; nobody guesses
// whether a text is JSON. A schema that cannot be checked (it refers to the network, say) is
// not, which the registry's logger hears of.
//
// What is listed and cannot be an operation (a name of unprintable characters, a schema
// beyond all limits) is left out and logged, and is in [FromMCP.Quarantined].
//
// # Errors
//
// All operations declare the same four: [ToolError], [Refused], [Unauthorized] and
// [Unavailable]. A server that takes too long is a TIMEOUT, one that breaks the protocol an
// INTERNAL. Retryable is true only where the call cannot have run, or is a Query. A
// context that ends ends the call, and the server is notified.
//
// # Tokens
//
// A bearer token comes from where the operation's capabilities come from, and from nowhere
// else: the call's own of the name FromMCP.Capability, else FromMCP.Token. No environment
// variable is asked for, for this or anything else; those with which Go itself finds the
// system's roots are named at FromMCP.TLS.
//
// Calls with different tokens share a registration, and never a session, a list or an
// answer. To a server of 2026-07-28, which has no sessions, each request carries its token. With an older one each token has a session of its own, opened by its first
// call and closed when idle; the one of FromMCP.Token lives as long as the registrations.
// Nothing that a server answers is kept but the list that FromMCP.Token was shown.
//
// # Operations as tools
//
// [ToMCP] shows the External operations of a registry to models as four tools: search,
// schema, call and batch, of package toolbox/catalog. It gives a [toolbox.Source], which
// package host publishes, over HTTP and stdio. Who calls is for host.Options.Authenticate to say, with a Guard of package
// identity for example, and with which rights for ToMCPOptions.Identity, which is asked anew with each search and each
// call. Over stdio, where nobody shows a token, the caller is ToMCPOptions.Local.
//
// # Concurrency
//
// Everything is safe for concurrent use. What is imported together, or again while an
// earlier import is still registered, shares one connection, which is replaced when it
// dies, and closed by the Release of the last registration; that takes at most a few
// seconds. Only open connections have goroutines; [FromMCP.Follow] runs in its caller's.
//
// # Testing
//
// A server for tests is a host of package host behind an httptest.Server: the Example of
// FromMCP has one.
package bridge
