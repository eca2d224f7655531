// Package gateway serves many MCP servers as one server: their tools, prompts, resources and completions, their
// notifications and their questions. It serves clients of both eras.
//
//	g := gateway.New(ctx, servers, nil)
//	defer g.Close()
//	http.ListenAndServe("127.0.0.1:7332", g.Handler())
//
// # Views
//
// Each path is a view, with its own clients and lists:
//
//	/mcp          all servers, under qualified names (server__name)
//	/mcp/SERVER   one server, under its own names
//	/mcp/@NAME    the selection NAME of Options.Views; a server with the id @NAME is at /mcp/@@NAME
//
// # Methods
//
// One table (internal/methods) has a row for each method. The row states the kind of the owner's name in the params,
// what is rewritten and what is merged. A method without a row passes through a view of one server, and is unknown on
// the other views.
//
// # Guards
//
// Options.Guard decides about every request of a caller, for each part of a server that the request reaches: it begins
// an exchange, admits the parts, and ends the exchange with the answer. This includes the calls that the catalog's
// tools make, subscriptions, completions and requests about tasks. A part that the caller may not use is in no list,
// and a request for it gets the answer for a part that does not exist. Package control has the guard of indus serve.
// Without a guard all requests are permitted.
//
// # Names
//
// A name has up to four forms: the owner's own name, the qualified name (server__name), the name that a view lists, and
// the name that a client calls. A client may call a name that is not listed. Views of several servers name tools and
// prompts by [config.QualifiedName].
//
// A resource keeps its URI, with two exceptions. The path of a ui:// or skill:// URI begins with the server
// (ui://SERVER/page.html). A URI that an earlier server of the configuration also lists becomes indus://SERVER/URI.
// Links in results are rewritten in the same way, and URIs in requests are translated back.
//
// A URI that no server lists belongs to the first server, in the order of the configuration, with a matching template.
// If no template matches, the servers that have resources are asked: at most 64, eight at a time, for half a minute in
// all. The first server in that order that knows the URI answers. Idle servers are not started for this. A server that
// is down keeps its URIs, so that no other server can answer for it.
//
// # Lists
//
// A list contains all pages of all servers, in the order of the configuration. The list of a server is cached until the
// server sends list_changed or its ttlMs is over. If a server offers neither, it is asked each time. A list with a
// private part is kept for each principal separately.
//
// # Changes
//
// Updates of a resource reach the clients that subscribed to it (resources/subscribe, or subscriptions/listen). Each
// client gets them in its own era, whatever the era of the server is. A server has one subscription to a resource,
// however many clients hold it. A lost connection is made again with its subscriptions. Each client is then sent one
// update of each resource, because nothing is replayed.
//
// If a list changes, all clients of the views that contain the server are notified. Changes that come close together
// cause one notification. While a server changes its list all the time, the notifications become less frequent.
//
// # Questions
//
// A question of a server (elicitation, sampling, roots) reaches the client that sent the request which the server
// handles. The client gets it in its own era, and only if it declared the capability. relay.go lists the four pairings
// of eras. If a legacy server asks during a call of a modern client, the host parks the call and its connection (see
// [host.Options].ParkedWait). The state that resumes it, a modern server's requestState and the ids of tasks are
// sealed: each is valid for one principal, one request and one server.
//
// On a view of several servers, the message of an elicitation begins with "[SERVER] ". There the _meta of every
// question has the id of the server as com.indusagi/server.
package gateway
