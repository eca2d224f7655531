// Package fidelity contains only tests. They check that indus passes bytes on unchanged.
//
// In the middle are a mount and a host, combined as in `indus serve`. On one side is the fixture
// (internal/testkit/fixture), a server that writes bytes from files, and reports the bytes that it
// received. On the other side is a small client that writes and reads bytes. Neither shares code
// with the middle, nor decodes the messages.
//
// Two messages are equal if they are equal without whitespace outside strings and without the parts
// of each hop: id, tool name, resultType, ttlMs, cacheScope, progressToken, and the keys of _meta
// under io.modelcontextprotocol/.
//
// Every case runs for every kind of server and every kind of client: servers of both eras on stdio
// and HTTP, clients of both eras on HTTP and on a pipe.
package fidelity
