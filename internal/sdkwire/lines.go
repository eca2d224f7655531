package sdkwire

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/indusagi/indus/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lines reads and writes lines over an injected [mcp.IOTransport]. It does not use the codec of the
// SDK, which rewrites strings and treats the first invalid line as the end.
type lines struct {
	t        *mcp.IOTransport
	received chan lineRead
	writing  turn
	ctx      context.Context // ends with Close; its cause is the reason
	stop     context.CancelCauseFunc
	once     sync.Once
}

type lineRead struct {
	env wire.Envelope
	err error
}

var _ Conn = (*lines)(nil)

func newLines(t *mcp.IOTransport, max int) *lines {
	if t.MaxLineLength > 0 {
		max = t.MaxLineLength
	}
	f := &lines{t: t, received: make(chan lineRead), writing: make(turn, 1)}
	f.ctx, f.stop = context.WithCancelCause(context.Background())
	go f.readAll(wire.NewLines(t.Reader, max))
	return f
}

// readAll reads in its own goroutine, because Close does not unblock every reader.
func (f *lines) readAll(in *wire.Lines) {
	for {
		env, err := wire.ReadEnvelope(in)
		select {
		case f.received <- lineRead{env, err}:
		case <-f.ctx.Done():
			return
		}
		if _, invalid := errors.AsType[*wire.BadFrame](err); err != nil && !invalid {
			return
		}
	}
}

func (f *lines) Read() (wire.Envelope, error) {
	select {
	case l := <-f.received:
		return l.env, l.err
	case <-f.ctx.Done():
		return wire.Envelope{}, context.Cause(f.ctx)
	}
}

func (f *lines) Write(ctx context.Context, e wire.Envelope) error {
	return f.writing.do(ctx, f.ctx, func() error {
		_, err := f.t.Writer.Write(wire.Line(e))
		if err != nil { // bytes after half a line would not be a message
			f.end(err)
		}
		return err
	})
}

func (f *lines) Close() { f.end(io.EOF) }

func (f *lines) end(cause error) {
	f.once.Do(func() {
		f.stop(cause)
		_ = f.t.Reader.Close()
		_ = f.t.Writer.Close()
	})
}
