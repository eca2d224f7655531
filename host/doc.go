// Package host is the bridge to MCP clients. It publishes a toolbox as an MCP server, to clients of both eras at once.
//
// Begin with [New], which takes any [toolbox.Source]: a registry of your own tools, a mounted fleet, or a box of both.
// A [Library] (Options.Library) adds prompts, resources and completions. Then serve the host where your clients are:
//
//	h := host.New(tools, nil)
//	defer h.Close()
//	http.ListenAndServe("127.0.0.1:7332", h.Handler()) // one URL, 2026-07-28 and everything before
//	h.SSEHandler()                                      // and those that know HTTP+SSE alone
//	h.ServeStdio(ctx)                                   // or the child process of a client
//	h.Serve(ctx, transport)                             // or in memory
//
// To publish more than tools, implement a [Backend], which answers requests of any method, and pass it to [NewFront].
// [Tools] returns the backend over a toolbox.
//
// # Bytes
//
// Tools, schemas, results and errors are sent as their owner wrote them. The host sets the fields of its own hop: ids,
// tool names, resultType, ttlMs, cacheScope, progress tokens, and the keys of _meta under io.modelcontextprotocol/.
//
// # Changes
//
// A client that reads slowly does not delay other clients. A change of a list, or of a resource that the client
// subscribed to, waits for it in a queue. It waits once, however often the list or resource changes, and is not lost.
// Of other notifications, a bounded number waits.
//
// # Faults
//
// A tool that failed is a result with isError true. A server that could not be reached is also such a result, and its
// text has the cause and a remedy. A server's own JSON-RPC error is passed on with code, message and data. An unknown
// tool is -32602.
//
// # Questions
//
// In either era, a tool asks its client with [toolbox.Elicit] and [toolbox.Sample], and writes to the client's log with
// [toolbox.Log]. Prompts and resources of a Library do the same.
//
// In Message.Client, a [Backend] finds a description of the client, its capabilities, and the functions that reach it.
//
// A legacy client receives questions (elicitation, sampling, roots) on the stream of its request. Questions outside of
// any request go to the stream of its session. The number of open questions is bounded. If a question ends without an
// answer, the client is notified with notifications/cancelled.
//
// A modern client receives questions in a result, and answers in its next request (SEP-2322). Until then the call is
// parked: it continues to run. It is cancelled if no answer arrives within Options.ParkedWait, if the client's
// connection ends, or if the host drains or closes. Its requestState is sealed for one principal and one request, and
// is valid once. Log messages reach a client from the level on that it wants.
//
// # Security
//
// On a loopback address, the host accepts only loopback names as Host and only loopback origins as Origin. So no web
// page reaches the host through a browser. Pages of allowed origins may read the answers (CORS). Each message is
// bounded, and so is the sum of all messages (Options.Memory). Sessions and requests in flight are bounded for each
// client. Options.Authenticate returns the caller of a request, or refuses the request. Package identity has API keys
// and the tokens of authorization servers; any other function can be used too.
//
// # Concurrency
//
// Everything may be called from any goroutine. Requests of one client run concurrently. Progress of one call is sent in
// order, before its result. If a modern client disconnects, its calls are cancelled; calls of a legacy client continue.
//
// # Lost connections
//
// A legacy client that lost its connection over streamable HTTP reconnects with Last-Event-ID and receives the messages
// that it missed. The answer of a call that continued is among them (2025-11-25, basic/transports, "Resumability and
// Redelivery"). The events kept for that are bounded (Options.Replay). A call can be resumed once its answer is an
// event stream. It becomes one with its first message, or half a second after the call began. Over HTTP+SSE a lost
// connection ends the session.
//
// # Testing
//
// Package interop/interoptest connects a real client endpoint to a host in memory.
package host
