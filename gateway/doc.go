// Package gateway puts many MCP servers behind one: their tools, prompts, resources and
// completions, what they report and what they ask, for clients of both eras.
//
//	g := gateway.New(ctx, servers, nil)
//	defer g.Close()
//	http.ListenAndServe("127.0.0.1:7332", g.Handler())
//
// # Views
//
// Each path is a view, with clients and lists of its own:
//
//	/mcp          everything, under qualified names (server__name)
//	/mcp/SERVER   one server, under its own names
//	/mcp/@NAME    a selection that Options.Views has by that name
//
// # Methods
//
// What becomes of a method is a row of one table (methods.go): where in its params and
// results the owner's name stands, what is rewritten and what is merged. A method
// that has no row passes on a view of one server, and is unknown on the others.
//
// # Questions
//
// What a server asks its client (elicitation, sampling, roots) reaches the client whose
// request the server handles, in that client's own era. The four pairings are in relay.go.
package gateway
