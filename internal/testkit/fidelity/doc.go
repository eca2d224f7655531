// Package fidelity shows that bytes pass through indus as they are: it is tests
// and nothing else.
//
// In the middle stand a mount and a host, as `indus serve` puts them together.
// On one side is the fixture (internal/testkit/fixture), a server that writes bytes as
// files give them to it, and tells what it received. On the other is a client
// of a few lines that writes and reads bytes. Neither shares code with what is
// between them, nor decodes what it passes on.
//
// Equal means equal after removing whitespace outside strings and what belongs
// to each hop: id, tool name, resultType, ttlMs, cacheScope, progressToken, and
// the keys of _meta under io.modelcontextprotocol/.
//
// Every case runs for every way in and every way out: servers of both eras on
// stdio and HTTP, clients of both eras on HTTP and on a pipe.
package fidelity
