package protocol

import (
	"slices"
	"strings"
)

// reservedHeaders are the headers that belong to the connection, the body or the protocol. "Host" sets the host.
var reservedHeaders = []string{
	"Host", "Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
	HeaderVersion, HeaderMethod, HeaderName, HeaderSession, "Last-Event-ID",
}

// ReservedHeader reports whether users cannot set a header of requests to a server.
func ReservedHeader(name string) bool {
	return slices.ContainsFunc(reservedHeaders, func(r string) bool { return strings.EqualFold(r, name) })
}
