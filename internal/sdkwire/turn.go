package sdkwire

import (
	"context"
	"io"
)

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
