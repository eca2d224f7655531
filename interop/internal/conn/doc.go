// Package conn is one connection to an MCP server, over any transport.
//
// [DialStdio], [DialHTTP], [DialSSE] and [DialTransport] connect, find out the era of the server, shake hands, and
// return a [Conn]. Call sends one request and waits for its answer, Close ends the connection. A dead connection stays
// dead. Package interop opens new ones, chooses the deadlines, and turns errors into faults.
//
// # How to read it
//
// Every connection is a session (session.go). It has calls that wait for answers by id, notifications by progress
// token, requests of the server (asked.go), cancellation, and a graceful close. It does not depend on a transport: a
// carrier sends one message and delivers the received ones. There are three carriers:
//
//   - stream (stream.go) reads and writes whole messages: of a child process (stdio.go), HTTP+SSE (sse.go), or a
//     transport of the SDK.
//   - streamable (streamable.go) is streamable HTTP up to 2025-11-25, with standing and resumed streams in standing.go.
//   - modern (modern.go) is streamable HTTP of 2026-07-28. Each request is a POST of its own, and the server has no
//     session.
//
// The transports over HTTP share http*.go. probe.go finds out the era on a stream, and http_dial.go over HTTP.
//
// # Errors
//
// Errors are not converted; interop classifies them. A [*protocol.RPCError] is the server's answer. A [*LostError] is a
// connection that died during the call. An [*UnsentError] is a call that did not run, and may be sent again. A
// [*ProtocolError] is an invalid answer.
//
// # Concurrency
//
// A Conn may be used by any number of goroutines. Messages of a call are delivered in wire order while it waits, never
// after it has returned. Messages that belong to no call are delivered by one goroutine of the connection. A slow
// Receiver never delays the reading of a stream.
package conn
