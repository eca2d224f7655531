package interoptest

import (
	"context"
	"io"

	"github.com/indusagi/indus/host"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Pipe connects to a host in memory: what is written to the transport is a line
// that h reads, and the other way round, byte for byte. Each call is one client's
// connection, for EndpointOptions.Transport or a client of the SDK's. It ends
// when either side closes; closing h waits for it.
func Pipe(h *host.Host) *mcp.IOTransport {
	fromClient, toHost := io.Pipe()
	fromHost, toClient := io.Pipe()
	go func() { _ = h.ServeIO(context.Background(), fromClient, toClient) }() // what fails here, the client sees
	return &mcp.IOTransport{Reader: fromHost, Writer: toHost}
}
