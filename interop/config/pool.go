package config

import "github.com/indusagi/indus/toolbox"

// Pool configures the number of connections for a server's requests in a fleet, and how many requests may be in
// flight. The zero value is one connection for all clients that cannot be asked (see interop.Client), without a bound.
//
// A change of Per requires a new connection, like a change of the transport. The other fields apply from the next
// request on.
type Pool struct {
	// Per selects how connections are shared. If it is empty, all principals share one. [PerPrincipal] gives each
	// principal its own.
	Per string
	// Instances is the maximal number of processes of a [Stdio] server for tools/call, prompts/get, resources/read and
	// completion/complete. Each such request goes to the process with the fewest requests in flight. Another process is
	// started if every process has a request. It ends after it has been idle for interop.FleetOptions.LaneIdle. All other
	// requests go to the first process: lists, subscriptions, tasks, and calls that may become a task. So the server
	// must keep no state between two requests, including any state behind its requestState. A client that can be asked
	// in a legacy session still has its own process. Zero means 1. With PerPrincipal, or for a server at a URL, it has
	// no effect.
	Instances int
	// MaxPrincipals bounds, with PerPrincipal, how many principals have a connection at a time. A further principal
	// evicts the connection that has been unused for the longest time, or waits if all are in use. Zero means 64.
	MaxPrincipals int
	// MaxConcurrent bounds the same four kinds of requests, over all of the server's connections. A successor (see
	// interop.Fleet.Apply) starts its own count. A request counts until its reply, even while a person is asked, because
	// the server is still working on it. Requests beyond the bound wait for Timeouts.Queue, and principals take turns.
	// Zero means no bound.
	MaxConcurrent int
	// MaxQueue bounds the waiting requests. Beyond it, the newest request of the principal with the most waiting
	// requests fails at once. Zero means 100. A negative value means that no request waits.
	MaxQueue int
}

// PerPrincipal is the Pool.Per value that gives each principal its own connection: a process, or a session with its own
// credentials (interop.EndpointOptions.Principal). All requests and subscriptions of the principal use it, and all
// lists except the list of tools, which the fleet's own connection lists for all. The first request opens the
// connection. It ends when no live session uses it and it has been idle for interop.FleetOptions.LaneIdle. The server's
// state in memory then ends with it. On it, a server before 2026-07-28 receives the capabilities of the client that
// opened it. A client of the same principal with other capabilities has a separate connection for questions.
const PerPrincipal = "principal"

// AnyPrincipal is the interop.EndpointOptions.Principal of the connection by which a fleet lists the tools of a server
// with [PerPrincipal] for all. It may use the credentials of any principal. No request of a principal uses it.
const AnyPrincipal toolbox.Principal = "*"
