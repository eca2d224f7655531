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
//	/mcp/@NAME    a selection that Options.Views has by that name; a server @NAME is at /mcp/@@NAME
//
// # Methods
//
// What becomes of a method is a row of one table (methods.go): where in its params and
// results the owner's name stands, what is rewritten and what is merged. A method
// that has no row passes on a view of one server, and is unknown on the others.
//
// # Names
//
// A name is its owner's own, qualified (server__name), shown in a view, or called by a client, which may
// call what is not listed. On views of several servers tools and prompts are named as [interop.QualifiedName] has it. A
// resource keeps its URI, unless it could be taken for another server's: ui:// and skill://
// have the server first in their path (ui://SERVER/page.html), and a URI that an earlier
// server of the configuration lists too is indus://SERVER/URI. Links in results are changed in
// the same way, and what a client asks for is changed back.
//
// A URI that nobody lists is the first server's whose template it fits, in the order of the
// configuration; else those with resources are asked, up to 64, eight at a time and half a minute in all, and the first in that
// order counts that knows it. Idle servers are not started for that. A
// server that is down keeps its URIs: nobody else answers for it.
//
// # Lists
//
// All pages of all servers are one list, in the order of the configuration. What a server
// listed is kept until it says that it changed, or its ttlMs is over; where it says neither,
// it is asked each time. A list with a private part is each principal's own.
//
// # Changes
//
// Updates of a resource reach the clients that asked for them (resources/subscribe, or
// subscriptions/listen), in their own era and whatever their server's is; a server has one
// subscription to a resource, however many clients hold it. A connection that was lost is made
// again with its subscriptions, and each client is then sent one update of each, because nothing
// is replayed. A list that has changed is told of to all clients of the views that have its
// server, once for changes that come close together, and ever less often while a server changes
// it all the time.
//
// # Questions
//
// What a server asks its client (elicitation, sampling, roots) reaches the client whose
// request the server handles, in that client's own era, and it is never asked what it has not
// declared. The four pairings are in relay.go. A call of a modern client's that a legacy server asks in is
// parked by its host (see [host.Options].ParkedWait), and its connection with it; what it is resumed with, a modern server's
// requestState and the ids of tasks are sealed: for one principal, one request and one server.
//
// On a view of several servers an elicitation's message begins with "[SERVER] ", and the _meta of every question
// has the server's id as com.indusagi/server.
package gateway
