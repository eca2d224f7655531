// Package conn is one connection to an MCP server, whatever carries it.
//
// [DialStdio], [DialHTTP], [DialSSE] and [DialTransport] connect, find out which era the
// server speaks, shake hands, and return a [Conn]: Call sends one request and waits for
// its answer, Close ends it. A connection that died stays dead; package interop makes
// another one, keeps the deadlines, and turns errors into faults.
//
// # How to read it
//
// There are two kinds of connection:
//
//   - A session (session.go) is what MCP up to 2025-11-25 is everywhere, and what stdio
//     is in both eras: calls that wait for answers by id, notifications by progress token,
//     requests of the server's (asked.go), cancellation, and a close that says goodbye.
//     It knows nothing of transports: a carrier sends one message and delivers what comes.
//   - modern (modern.go) is streamable HTTP of 2026-07-28, where each request is a POST of
//     its own and nothing is left behind.
//
// The carriers are stream (stream.go) over anything that reads and writes whole
// messages: a child process (stdio.go), HTTP+SSE (sse.go), a transport of the SDK's; and
// streamable (streamable.go, with its standing and resumed streams in standing.go).
// http*.go is what the three transports over HTTP share, probe.go and http_dial.go are how
// the era is found out on a stream and over HTTP.
//
// # Errors
//
// Errors are as they came, for interop to classify: a [*protocol.RPCError] is the
// server's answer, a [*LostError] a connection that died under the call, an
// [*UnsentError] a call that did not go out, a [*ProtocolError] an answer that is none.
//
// # Concurrency
//
// A Conn may be used by any number of goroutines. What belongs to a call is delivered in
// wire order while it waits, never after it has returned; what belongs to none comes from
// one goroutine of the connection's. A slow Receiver never stalls the reading of a stream.
package conn
