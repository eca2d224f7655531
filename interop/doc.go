// Package interop is the bridge to MCP servers. It connects to servers, lists their tools and calls them, in both eras
// of the protocol and over every transport.
//
// Begin with [Mount], which connects to any number of servers and returns their tools as one [toolbox.Box]:
//
//	servers, notes := mcpconfig.Load(ctx, ".")
//	mounted := interop.Mount(ctx, servers, nil)
//	defer mounted.Close()
//	for _, d := range mounted.Box.Descriptors() {
//		fmt.Println(d.Name) // fs__read_file …
//	}
//	out := mounted.Box.Run(ctx, toolbox.Call{Name: "fs__read_file", Input: args})
//
// Package interop/config describes the servers. Mount is built on [Fleet], which keeps many servers connected, and on
// [Endpoint], one connection to one server. Package host works in the other direction and publishes a toolbox to MCP
// clients.
//
// # Names
//
// A tool is mounted as server__tool if every model provider accepts that name, and under a shortened name otherwise:
// see [config.QualifiedName]. [Fleet.Quarantined] returns every tool that cannot be mounted, with the reason. No tool
// is dropped without a record there.
//
// [config.Server.Tools] leaves tools out, renames them and describes them. The rules are applied in one place, to the
// list of an endpoint. A call follows the rules even before there is a list. No method of this package calls a denied
// tool. A denied tool that FleetOptions.Known supplies is not listed. The rules use the server's own names of tools,
// and so does [Endpoint.Invoke]. A renamed tool is mounted as server__newname, and the server is called with the
// original name.
//
// # Bytes
//
// Schemas, arguments, results and errors pass unchanged: [toolbox.Do] and [Endpoint.Invoke] return every byte that the
// server sent. Only the values of the hop (ids, progress tokens, the keys of _meta under io.modelcontextprotocol/) are
// replaced. If Server.Tools describes a tool, the description in its tool object is replaced too.
//
// # Eras
//
// MCP before 2026-07-28 is a session with a handshake ([Legacy]). From that version on it is stateless ([Modern]). The
// fleet detects the era of a server when it connects, and remembers the era for its own lifetime. For a process,
// FleetOptions.Known can supply the era too. A process that fails after the first question is started once more as a
// legacy server. [config.Server.Era] sets the era in advance.
//
// # Clients
//
// [WithClient] sets the client of a request. A modern server receives the capabilities of that client with the request.
// A legacy server receives capabilities only in initialize. So a client that can be asked (elicitation, sampling,
// roots) has a connection of its own for its session. The clients of a principal that have no session share one
// connection, as long as the server asks nothing on it. A request of a kind that is known to ask uses a connection
// alone. FleetOptions.Lanes bounds the number of these connections. If a connection for a client cannot be opened, the
// request uses the connection that all clients share. A legacy client also has its own connection to a server that
// speaks both eras, because such a server often can ask only in a session.
//
// All other requests, and the lists for all clients, use the shared connection. It declares nothing, and the server can
// ask nothing on it. If a modern server asks by a result, a modern client receives that result unchanged. For a legacy
// client, this package asks the client and repeats the request, at most ten times. A client is never asked for a
// capability that it does not declare. Timeouts.Call is paused while the client is asked. Timeouts.Total is not.
//
// Log messages over stdio name no request. A log message goes to the one request that it can belong to. Once a
// connection has had requests of several principals, no client receives its log messages. A client's own connection
// uses the log level of that client. The shared connection never sets a level.
//
// # Pools
//
// [config.Server.Pool] gives each principal its own connection, or distributes the calls of all principals over several
// processes. It also bounds how many calls are in flight. Calls beyond the bound wait, and the principals take turns.
// Without a pool, FleetOptions.MaxCalls is the only limit that a call waits for.
//
// # Reload
//
// [Fleet.Apply] gives a fleet another configuration, and no call fails because of it. A server that changed serves
// until its successor, which connects beside it, is listed or has failed. Calls in flight then have FleetOptions.Drain
// to end on the old connection. A change of rules and profiles needs no new connection. During a replacement, two
// processes of one server run side by side. A successor may need a port or a lock that the old process holds. Such a
// successor fails once, and connects when the old process has ended, while calls wait for it (docs/adr/0007).
//
// # Idle servers
//
// With [config.Server.Lazy] and [config.Server.Idle], a fleet connects to a server when the server is needed, and ends
// the connection when it is not. The server is then idle and keeps its list. The first request that needs it connects
// it again, and all waiting requests share that connection. A call that arrives while the process ends waits for the
// next process. An idle server withdraws no tools and does not count as lost. [Fleet.Use] keeps a server connected for
// several requests. [Fleet.Idle] reports whether a server is idle.
//
// # Subscriptions
//
// [Fleet.Subscribe] reports updates of a server's resource across its connections. Each resource has one subscription
// at the server, however many clients share it. FleetOptions.Notify reports changed lists.
//
// # Faults
//
// Every failure is a [*Fault] of one of six kinds. The kind gives the place of the failure:
//
//	connecting a process       SpawnFailed
//	connecting a URL           Transport
//	listing                    Protocol
//	calling                    ToolError
//	before ready, after close  NotConnected
//	a deadline of ours         Timeout
//
// The caller's own cancellation or deadline is never a fault: it is returned as the error of the context. A tool that
// ran and failed is a result. errors.Is matches the kind and everything in the cause chain. errors.As finds an
// [*RPCError], which is the server's own error reply, and an [*HTTPError].
//
// # Concurrency
//
// Every function and method may be called from any goroutine. Calls to one server run side by side. The messages that a
// server sends during a call reach its caller in wire order, from the goroutine that waits for the result. Close is
// bounded, waits for everything that was started, and may be called twice.
//
// # Processes
//
// The process of a server has a minimal environment and a process group of its own (a session if indus has a terminal).
// It does not outlive indus: after Close, after exit, and after kill -9, none of its descendants remains. This also
// holds in the middle of a start. Descendants are found by the group, and on Linux also by INDUS_WATCH in their
// environment, daemons and browsers included. A process that must outlive indus drops that variable. Three kinds of
// processes are out of reach. The first leaves the group and drops the variable, the second runs as another user, and
// the third is started by another program on request. On macOS and the BSDs only the process group ends, on Windows
// only the process.
//
// # Testing
//
// Package interop/interoptest has servers in memory, and a suite that every transport passes.
package interop
