package interoptest

import (
	"context"
	"io"

	"github.com/indusagi/indus/host"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Pipe connects to a host in memory. Each line that is written to the transport is read
// by h, and the reverse, byte for byte. Each call makes one client's connection, for
// EndpointOptions.Transport or a client of the SDK. The connection ends when either
// side closes. Closing h waits for it.
func Pipe(h *host.Host) *mcp.IOTransport {
	fromClient, toHost := io.Pipe()
	fromHost, toClient := io.Pipe()
	go func() { _ = h.ServeIO(context.Background(), fromClient, toClient) }() // the client sees any failure
	return &mcp.IOTransport{Reader: fromHost, Writer: toHost}
}
