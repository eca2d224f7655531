package conn

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sdkwire"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
)

// framer moves whole messages over one duplex stream: one reader, many writers.
type framer interface {
	// read blocks for the next message, whose bytes are the caller's. A
	// [*wire.BadFrame] concerns that message alone; any other error is the stream's end.
	read() (wire.Envelope, error)
	// write sends one message whole, whatever becomes of ctx, or not at all.
	write(ctx context.Context, e wire.Envelope) error
	// close unblocks read and is bounded; it may be called twice.
	close()
}

// stream carries a session over a framer.
type stream struct {
	framer
	s *session
}

var _ carrier = (*stream)(nil)

// run makes f the session's carrier and begins to read from it.
func (s *session) run(f framer) {
	c := &stream{f, s}
	s.carrier = c
	s.spawn(func(context.Context) { c.readAll() })
}

func (c *stream) send(ctx context.Context, e wire.Envelope, _ *pending) error {
	err := c.write(ctx, e)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if cause := c.s.Err(); cause != nil {
		return &LostError{cause}
	}
	return err
}

func (c *stream) leave(context.Context) {}

func (c *stream) readAll() {
	for {
		env, err := c.read()
		var bad *wire.BadFrame
		switch {
		case err == nil:
			c.dispatch(&env)
		case errors.As(err, &bad):
			c.refuse(bad)
		default:
			c.s.die(err)
			c.s.cancel()
			return
		}
	}
}

// dispatch passes a message to whom it concerns.
func (c *stream) dispatch(env *wire.Envelope) {
	kind := env.Kind()
	if kind != wire.Response && string(env.Version) != `"2.0"` {
		c.refuse(&wire.BadFrame{Err: errNoVersion}) // somebody's log, which may well have ids and methods
		return
	}
	switch kind {
	case wire.Response:
		p := c.s.call(c.s.pending, env.ID)
		switch {
		case p == nil: // late, or never asked for
		case env.Error != nil:
			p.finish(nil, rpcError(env.Error, c.s.opts.Secrets))
		default:
			p.finish(env.Result, nil)
		}
	case wire.Notification:
		c.s.notified(env, nil)
	case wire.Request:
		c.s.asked(env, 0)
	default:
		c.refuse(&wire.BadFrame{ID: env.ID, Err: &ProtocolError{What: "a message that is neither request nor response"}})
	}
}

var errNoVersion = &ProtocolError{What: "JSON that is not JSON-RPC 2.0"}

// refuse counts what is no message, and fails the call that it seems to answer.
func (c *stream) refuse(bad *wire.BadFrame) {
	c.s.noise.Add(1)
	for _, id := range append([]json.RawMessage{bad.ID}, bad.More...) {
		if p := c.s.call(c.s.pending, id); p != nil {
			p.finish(nil, &ProtocolError{"a broken answer", bad.Err})
		}
	}
}

// rpcError reads the error of a response, and masks it.
func rpcError(raw json.RawMessage, secrets *secret.Set) *protocol.RPCError {
	e := protocol.ParseError(raw)
	e.Message, e.Data = secrets.Mask(e.Message), secrets.JSON(e.Data)
	return e
}

// injected carries messages over a transport of the SDK's.
type injected struct{ c sdkwire.Conn }

func (f injected) read() (wire.Envelope, error) { return f.c.Read() }
func (f injected) close()                       { f.c.Close() }

func (f injected) write(ctx context.Context, e wire.Envelope) error {
	if err := f.c.Write(ctx, e); err != nil {
		return &LostError{err}
	}
	return nil
}
