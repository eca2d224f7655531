// Package host is the bridge to MCP clients: it publishes a toolbox as an MCP
// server, to clients of both eras at once.
//
// Begin with [New], which takes any [toolbox.Source]: a registry of your own
// tools, a mounted fleet, a box of both. A [Library] has prompts, resources and completions beside them
// (Options.Library). Then serve it where your clients are:
//
//	h := host.New(tools, nil)
//	defer h.Close()
//	http.ListenAndServe("127.0.0.1:7332", h.Handler()) // one URL, 2026-07-28 and everything before
//	h.SSEHandler()                                      // and those that know HTTP+SSE alone
//	h.ServeStdio(ctx)                                   // or the child process of a client
//	h.Serve(ctx, transport)                             // or in memory
//
// What another program wants to publish beside tools is behind the same
// front: a [Backend] answers requests of any method, [NewFront] serves it, and
// [Tools] is the backend over a toolbox.
//
// # Bytes
//
// Tools, schemas, results and errors go out as their owner wrote them. What
// belongs to this hop is ours: ids, tool names, resultType, ttlMs, cacheScope,
// progress tokens, and the keys of _meta under io.modelcontextprotocol/.
//
// # Changes
//
// A client that reads slowly holds nobody up. What has changed (a list, or a resource that it
// subscribed to) waits for it once, however often it changes, and is not lost; of other
// notifications a bounded number waits.
//
// # Faults
//
// A tool that failed is a result whose isError is true. So is a server that
// could not be reached: the text says what happened and what to try. A server's
// own JSON-RPC error passes on with code, message and data; an unknown tool is
// -32602.
//
// # Questions
//
// A tool asks its client with [toolbox.Elicit] and [toolbox.Sample], and writes to its log with [toolbox.Log], in
// either era; prompts and resources of a Library do, too.
//
// A [Backend] finds in Message.Client who asks, what that client declares, and the ways
// back to it. A legacy client is asked (elicitation, sampling, roots) on the stream of its
// request, or outside of any on that of its session, a bounded number of questions at once, and what
// ends a question without an answer is told the client by notifications/cancelled. A modern
// client is asked in a result, and answers in its next request (SEP-2322). Until then the call is parked: it runs on, and is
// cancelled if no answer comes within Options.ParkedWait, if the client's connection ends, or if the host drains or closes. Its
// requestState is sealed for one principal and one request, and is good once. Log messages reach
// a client from the level on that it wants.
//
// # Security
//
// On a loopback address only loopback names are taken as Host, and only loopback
// origins as Origin, so that no web page reaches the host by way of a browser.
// The pages of allowed origins may read the answers (CORS). Every message is
// bounded, and so are all together (Options.Memory), the sessions and the requests
// in flight of each client. Options.Authenticate says who a request is, or refuses it:
// package identity has API keys and the tokens of authorization servers; any other function does
// by whatever it can check.
//
// # Concurrency
//
// Everything may be called from any goroutine. Requests of one client run
// concurrently; progress of one call goes out in order, before its result. A
// modern client that goes away cancels its calls, a legacy one does not.
//
// # Lost connections
//
// A legacy client that lost its connection over streamable HTTP comes back with
// Last-Event-ID and gets what it missed, the answer of a call that went on included
// (2025-11-25, basic/transports, "Resumability and Redelivery"). What is kept for that is
// bounded (Options.Replay). A call can be resumed once its answer is an event stream: with
// the first thing that is said, or half a second after it began. Over HTTP+SSE a lost
// connection ends the session.
//
// # Testing
//
// Package interop/interoptest connects a real client endpoint to a host in memory.
package host
