// Package sdkwire carries messages over a transport of the official SDK, as envelopes of bytes.
package sdkwire

import (
	"context"
	"io"

	"github.com/indusagi/indus/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Conn is one connection with one reader and many writers.
type Conn interface {
	// Read blocks until the next message. The caller owns its bytes. A [*wire.BadFrame] concerns
	// only that message. Any other error is the end of the connection.
	Read() (wire.Envelope, error)
	// Write sends one whole message or nothing. If ctx ends during the write, the message is still
	// sent whole.
	Write(ctx context.Context, e wire.Envelope) error
	// Close unblocks Read and is bounded; it may be called twice.
	Close()
}

// Dial connects over t. limit bounds a message of an [mcp.IOTransport], in bytes.
func Dial(ctx context.Context, t mcp.Transport, limit int) (Conn, error) {
	if io, ok := t.(*mcp.IOTransport); ok {
		return newLines(io, limit), nil
	}
	c, err := t.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return newCodec(c), nil
}

// turn lets one writer write at a time. A wait for it ends with the context, but a write that has
// begun does not.
type turn chan struct{}

// do runs write to its end. If ctx ends meanwhile, do returns and write continues.
func (g turn) do(ctx, life context.Context, write func() error) error {
	select {
	case g <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-life.Done():
		return io.ErrClosedPipe
	}
	if ctx.Done() == nil {
		defer func() { <-g }()
		return write()
	}
	wrote := make(chan error, 1)
	go func() {
		err := write()
		<-g
		wrote <- err
	}()
	select {
	case err := <-wrote:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
