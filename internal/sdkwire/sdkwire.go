// Package sdkwire carries messages over a transport of the official SDK's, as
// envelopes of bytes.
package sdkwire

import (
	"context"
	"io"

	"github.com/indusagi/indus/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Conn is one connection: one reader, many writers.
type Conn interface {
	// Read blocks for the next message, whose bytes are the caller's. A
	// [*wire.BadFrame] concerns that message alone; any other error is the end.
	Read() (wire.Envelope, error)
	// Write sends one message whole, whatever becomes of ctx, or not at all.
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

// turn is one slot for one writer at a time. Waiting for it ends with the context; a write
// that has begun does not.
type turn chan struct{}

// do runs write to its end. Where ctx ends meanwhile, write goes on without its caller.
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
