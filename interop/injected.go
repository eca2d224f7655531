package interop

import (
	"context"

	"github.com/indusagi/indus/internal/sdkwire"
	"github.com/indusagi/indus/internal/wire"
)

// injectedFramer carries messages over a transport of the SDK's.
type injectedFramer struct{ c sdkwire.Conn }

var _ framer = injectedFramer{}

func (f injectedFramer) read() (wire.Envelope, error) { return f.c.Read() }
func (f injectedFramer) close()                       { f.c.Close() }
func (f injectedFramer) write(ctx context.Context, e wire.Envelope) error {
	return f.c.Write(ctx, e)
}
