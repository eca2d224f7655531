// Package interop is the bridge to MCP servers: it connects them, lists their
// tools, and calls them, in both eras of the protocol and over every transport.
//
// Begin with [Mount], which connects any number of servers and gives their tools
// as one [toolbox.Box]:
//
//	servers, notes := mcpconfig.Load(ctx, ".")
//	mounted := interop.Mount(ctx, servers, nil)
//	defer mounted.Close()
//	for _, d := range mounted.Box.Descriptors() {
//		fmt.Println(d.Name) // fs__read_file …
//	}
//	out := mounted.Box.Run(ctx, toolbox.Call{Name: "fs__read_file", Input: args})
//
// Below it stand [Fleet], many servers that are kept connected, and [Endpoint],
// one connection to one server. Package host goes the other way and publishes a
// toolbox to MCP clients.
//
// # Names
//
// A tool is mounted as server__tool where that is a name which every model
// provider takes, and under a shortened one otherwise: [QualifiedName]. What a
// server lists and cannot be mounted is in [Fleet.Quarantined], with the
// reason; nothing is dropped in silence.
//
// [Server.Tools] leaves tools out, renames and describes them. The rules are applied
// in one place, to what an endpoint lists, and a call goes by them before there is a
// list: a tool that is denied is never called, in no way, nor listed because it is
// known. They name tools as their server does; so does [Endpoint.Invoke]. A renamed
// tool is mounted as server__newname, and called by its own name.
//
// # Bytes
//
// Schemas, arguments, results and errors pass as they are: [toolbox.Do] and
// [Endpoint.Invoke] give every byte that the server sent. What belongs to the hop
// (ids, progress tokens, the keys of _meta under io.modelcontextprotocol/) is
// replaced. Where Server.Tools describes a tool, the description in its tool object is
// replaced too.
//
// # Eras
//
// MCP before 2026-07-28 is a session with a handshake ([Legacy]); from then on it
// is stateless ([Modern]). Which one a server speaks is found out when it is
// connected, and remembered while the fleet lives; for a process also by what is Known of
// it. A process that fails after the question is started once more, and spoken to as a
// legacy server. [Server.Era] says it beforehand.
//
// # Clients
//
// [WithClient] says whose request is passed on. A modern server is shown that client's
// capabilities with the request. A legacy one is shown them in initialize, so a client that can
// be asked (elicitation, sampling, roots) has a connection of its own, for its session. The clients of a principal that have no session
// share one, as long as nothing is asked there; a request of a kind that was seen to ask has a connection alone,
// FleetOptions.Lanes of them. Where a connection cannot be opened, the one that all share serves. So has a legacy client
// of a server that speaks both eras, because what a server asks in a session it often cannot
// ask otherwise. All else, and every listing, goes over the one connection that all share, on
// which nothing is declared and nothing is asked. What a modern server asks by a result goes
// to a modern client as it is; for a legacy one it is asked here, at most ten times. A client is
// asked nothing that it does not declare. While it is asked the server is not silent:
// Timeouts.Call stands still, Timeouts.Total does not.
//
// Log messages over stdio name no request. They go to the one that they can be for, and
// to nobody once a connection has had requests of several principals. On a client's own
// connection the level is set as the client has it; on the shared one never, for it is everybody's.
//
// # Pools
//
// [Server.Pool] gives each principal a connection of its own, or the calls of all several processes, and bounds how many
// are in flight; those beyond wait, principals by turns. Without it a call waits for nothing but FleetOptions.MaxCalls.
//
// # Reload
//
// [Fleet.Apply] gives a fleet another configuration, and no call fails of it. A server
// that changed serves until its successor, connected beside it, is listed or has
// failed; calls that are in flight then have FleetOptions.Drain to end on the old
// connection. Rules and profiles alone change without a connection. Two processes of
// one server run side by side for that time: a successor that needs what the other one
// holds, a port or a lock, fails once, and comes up when the other one has gone, while
// calls wait for it (docs/adr/0007).
//
// # Idle servers
//
// [Server.Lazy] and [Server.Idle] have a fleet connect a server when it is needed, and end it when it is not: it is
// idle then, with what it listed. Whatever needs it connects it again, once for all who wait, and a call that
// comes while its process ends waits for the next one. Nothing is withdrawn meanwhile, and nothing counts as
// lost. [Fleet.Use] keeps a server for several requests, [Fleet.Idle] says whether one is idle.
//
// # Subscriptions
//
// [Fleet.Subscribe] reports updates of a server's resource across its connections: each is one
// subscription at the server, whoever holds it. FleetOptions.Notify reports changed lists.
//
// # Faults
//
// Every failure is a [*Fault] of one of six kinds, which say where it happened:
//
//	connecting a process       SpawnFailed
//	connecting a URL           Transport
//	listing                    Protocol
//	calling                    ToolError
//	before ready, after close  NotConnected
//	a deadline of ours         Timeout
//
// The caller's own cancellation or deadline is never a fault: it comes back as
// the context's error. A tool that ran and failed is a result. errors.Is knows
// the kind and everything in the cause chain; errors.As finds an [*RPCError], a
// server's own answer, and an [*HTTPError].
//
// # Concurrency
//
// Everything may be called from any goroutine. Calls to one server run side by
// side. What a server sends during a call reaches its caller in wire order, from
// the goroutine that waits for the result. Close is bounded, waits for all that
// was started, and may be called twice.
//
// # Processes
//
// A server's process has a minimal environment and a process group of its own (a session
// where we have a terminal), and does not outlive us: after Close, after exit, and after
// kill -9 also in the middle of a start, none of its descendants remains. They are found by
// the group, and on Linux by INDUS_WATCH in their environment, daemons and browsers too:
// what is meant to live on drops that variable. Out of reach is what leaves the group and drops
// the variable, what runs as another user, and what somebody else starts on request.
// On macOS and the BSDs only the process group ends, on Windows the process alone.
//
// # Testing
//
// Package interop/interoptest has servers in memory, and a suite that every
// transport passes.
package interop
