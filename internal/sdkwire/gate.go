package sdkwire

import (
	"context"
	"io"
)

// gate lets one writer through at a time. Who writes by one looks at no
// context; who waits for it does.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

// through runs write to its end, in the order of the callers. Where ctx ends
// meanwhile, write goes on without its caller.
func (g gate) through(ctx, life context.Context, write func() error) error {
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
