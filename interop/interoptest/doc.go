// Package interoptest provides MCP servers in memory, for tests of programs that use
// the bridge, and a suite that every transport passes.
//
// Begin with [NewServer]. It returns a server with the tools of a test, which needs
// neither a process nor a port. [Mount] mounts it, and the result is the toolbox that
// an agent uses:
//
//	func TestAgent(t *testing.T) {
//		weather := interoptest.NewServer("weather", forecast)
//		defer weather.Close()
//		mounted := interoptest.Mount(t.Context(), weather)
//		defer mounted.Close()
//		runMyAgent(t, mounted.Box) // which sees weather__forecast
//	}
//
// Nothing is simulated. Client and server are the ones of the bridge. They perform the
// handshake of Server.Era, and every byte of every message passes through a pipe. Test
// results about deadlines, cancellation, progress and changed lists also hold for real
// servers.
//
// # Which function
//
// To see your own toolbox as a client does, use [Publish] and [Server.Endpoint]. For a
// fleet or mount with its own options, or with real servers beside servers in memory,
// use [Server.Config] and [Endpoints]. To reach a host with its own options, use
// [Pipe]. For another client library, use [Server.Transport].
//
// [TestTransport] is for authors of an [mcp.Transport], a proxy or a server. It tests a
// client of a server with the toolbox [Tools] over the transport between them.
//
// # Concurrency
//
// All functions and methods may be called from any goroutine, but Server.Era must be
// set before. A Server serves any number of clients at once. Each has its own
// connection and, in the legacy era, its own session.
//
// # Faults
//
// The faults are the faults of package interop. To its clients, a closed Server is a
// lost connection. Their endpoints are faulted, and a fleet tries to reconnect without
// success.
//
// # Testing
//
// At the end of a test, only Server.Close and the Close of the clients have to be
// awaited. Then no goroutine is left. A connection that was never closed ends with its
// server. Everything here works inside a testing/synctest bubble, because pipes in
// memory block durably.
package interoptest
