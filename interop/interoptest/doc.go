// Package interoptest is MCP servers in memory, for the tests of those who use
// the bridge, and a suite that every transport passes.
//
// Reach for [NewServer] first: a server with the tools that a test gives it,
// which needs neither a process nor a port. [Mount] mounts it, and what comes
// out is what an agent works with:
//
//	func TestAgent(t *testing.T) {
//		weather := interoptest.NewServer("weather", forecast)
//		defer weather.Close()
//		mounted := interoptest.Mount(t.Context(), weather)
//		defer mounted.Close()
//		runMyAgent(t, mounted.Box) // which sees weather__forecast
//	}
//
// Nothing is simulated: client and server are those of the bridge, they shake
// hands in the era that Server.Era says, and every byte of every message
// crosses a pipe between them. What a test finds out about deadlines,
// cancellation, progress and changed lists holds in earnest.
//
// # Which one
//
// A toolbox of one's own is looked at through a client's eyes by [Publish] and
// [Server.Endpoint]. A fleet or mount with options of its own, or with real
// servers beside those in memory, takes [Server.Config] and [Endpoints]. A host
// with options of its own is reached by [Pipe], and a client of another make is
// given [Server.Transport].
//
// [TestTransport] is for who writes an [mcp.Transport], a proxy or a server: it
// tests a client of a server with the toolbox [Tools] over whatever lies between.
//
// # Concurrency
//
// All functions and methods may be called from any goroutine; Server.Era is set
// before. A Server serves any number of clients at once, each on a connection
// and, in the legacy era, in a session of its own.
//
// # Faults
//
// They are those of package interop. A Server that is closed is to its clients a
// connection lost: their endpoints are faulted, and a fleet tries to connect
// again, in vain.
//
// # Testing
//
// There is nothing to wait for in the end but Server.Close and what closes the
// clients: then no goroutine is left. A connection that was made and never
// closed ends with its server. Inside a testing/synctest bubble everything here
// works, for pipes in memory block durably.
package interoptest
