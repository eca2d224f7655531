package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sdkwire"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
)

// framer sends and receives whole messages over one duplex stream. It has one reader and many writers.
type framer interface {
	// read blocks for the next message. The caller owns its bytes. A [*wire.BadFrame] concerns only that message; any
	// other error ends the stream.
	read() (wire.Envelope, error)
	// write sends one message whole or not at all, even if ctx ends.
	write(ctx context.Context, e wire.Envelope) error
	// close unblocks read and is bounded; it may be called twice.
	close()
}

// wakeAfter is how long a call over stdio may be silent before the server receives one message that it ignores. A
// server built with Go 1.26 or 1.27 that reads stdin with blocking reads can stop in its garbage collector until one
// more byte arrives (docs/stall.md).
const wakeAfter = time.Second

// stream carries a session over a framer.
type stream struct {
	framer
	s       *session
	silence *time.Timer // since the last request; nil: the server is never woken
}

var _ carrier = (*stream)(nil)

// run makes f the session's carrier and begins to read from it.
func (s *session) run(f framer) {
	c := &stream{framer: f, s: s}
	s.carrier = c
	if _, ok := f.(*stdio); ok {
		c.silence = time.AfterFunc(c.s.opts.wakeAfter, c.wake)
		c.silence.Stop()
	}
	s.spawn(func(context.Context) { c.readAll() })
}

func (c *stream) send(ctx context.Context, e wire.Envelope, p *pending) error {
	err := c.write(ctx, e)
	if err == nil {
		if p != nil && c.silence != nil {
			c.silence.Reset(c.s.opts.wakeAfter)
		}
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

// wake cancels a request that was never made, if calls still wait. Every revision has this message, and servers ignore
// it (basic/utilities/cancellation).
func (c *stream) wake() {
	if len(c.s.waitingCalls()) == 0 {
		return
	}
	c.s.transport.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, noteTimeout)
		defer cancel()
		_ = c.s.cancelCall(ctx, 0, errSilent)
	})
}

func (c *stream) leave(context.Context) {}

func (c *stream) close() {
	if c.silence != nil {
		c.silence.Stop()
	}
	c.framer.close()
}

func (c *stream) readAll() {
	for {
		env, err := c.read()
		var bad *wire.BadFrame
		switch {
		case err == nil:
			c.dispatch(&env)
		case errors.As(err, &bad):
			if !bad.HasMethod {
				c.recordUnmatched(nil)
			}
			c.refuse(bad)
		default:
			c.s.die(err)
			c.s.cancel()
			return
		}
	}
}

// dispatch passes a message to its handler or call.
func (c *stream) dispatch(env *wire.Envelope) {
	kind := env.Kind()
	if kind != wire.Response && string(env.Version) != `"2.0"` {
		c.recordUnmatched(env)
		c.refuse(&wire.BadFrame{Err: errNoVersion}) // probably a log line, which may have ids and methods
		return
	}
	switch kind {
	case wire.Response:
		p := c.s.lookupCall(c.s.pending, env.ID)
		if p == nil && env.Error != nil && string(env.ID) == "null" {
			p = c.s.onlyCall() // the server could not read the request
		}
		if f, ok := c.framer.(*stdio); ok && p != nil && len(env.ID) > 0 && env.ID[0] == '"' && c.s.opts.Trace.Noise != nil {
			c.s.opts.Trace.Noise("its replies have the id as a string: " + c.s.opts.Secrets.Mask(string(f.lastLine)))
		}
		switch {
		case p == nil:
			// A reply to an id that was used before is only late.
			if n, err := strconv.ParseInt(string(env.ID), 10, 64); err != nil || n < 1 || n > c.s.nextID.Load() {
				c.recordUnmatched(env)
			}
		case env.Error != nil:
			p.finish(nil, rpcError(env.Error, c.s.opts.Secrets))
		default:
			p.finish(c.s.opts.Secrets.Result(env.Result), nil)
		}
	case wire.Notification:
		c.s.handleNotification(env, nil)
	case wire.Request:
		c.s.handleRequest(env, 0)
	default:
		if p := c.s.onlyCall(); p != nil && env.Error != nil && len(env.ID) == 0 && len(env.Method) == 0 {
			p.finish(nil, rpcError(env.Error, c.s.opts.Secrets))
			return
		}
		c.recordUnmatched(env)
		c.refuse(&wire.BadFrame{ID: env.ID, Err: &ProtocolError{What: "a message that is neither request nor response"}})
	}
}

var errNoVersion = &ProtocolError{What: "JSON that is not JSON-RPC 2.0"}

// recordUnmatched records that the last received bytes answer no request. env is nil if they are not a message.
func (c *stream) recordUnmatched(env *wire.Envelope) {
	f, ok := c.framer.(*stdio)
	switch {
	case ok:
		text := c.s.unmatched.add(c.s, f.lastLine)
		if c.s.opts.Trace.Noise != nil && env != nil {
			c.s.opts.Trace.Noise(text)
		}
	case env != nil:
		c.s.unmatched.add(c.s, wire.EncodeEnvelope(*env))
	}
}

// refuse counts a frame that is not a message, and fails the call that it seems to answer.
func (c *stream) refuse(bad *wire.BadFrame) {
	c.s.noise.Add(1)
	if bad.HasMethod {
		return // the ids of the server's requests are its own
	}
	for _, id := range append([]json.RawMessage{bad.ID}, bad.More...) {
		if p := c.s.lookupCall(c.s.pending, id); p != nil {
			p.finish(nil, &ProtocolError{"a broken answer", bad.Err})
		}
	}
	long, ok := errors.AsType[*wire.TooLong](bad)
	if ok && bad.ID == nil && bytes.HasPrefix(long.Prefix, []byte("{")) {
		c.unknownAnswer(long)
	}
}

// unknownAnswer handles an answer that was too long to see its id, because some servers write the id last. If one call
// waits, it fails. If several calls wait, the connection ends.
func (c *stream) unknownAnswer(long *wire.TooLong) {
	calls := c.s.waitingCalls()
	if len(calls) == 1 {
		calls[0].finish(nil, &ProtocolError{"a broken answer", long})
	} else if len(calls) > 1 {
		c.s.die(&ProtocolError{"a broken answer to one of several calls", long})
		c.s.cancel()
	}
}

// rpcError reads the error of a response, and masks its secrets.
func rpcError(raw json.RawMessage, secrets *secret.Set) *protocol.RPCError {
	e := protocol.ParseError(raw)
	e.Message, e.Data = secrets.Mask(e.Message), secrets.JSON(e.Data)
	return e
}

// injected carries messages over a transport of the SDK.
type injected struct{ c sdkwire.Conn }

func (f injected) read() (wire.Envelope, error) { return f.c.Read() }
func (f injected) close()                       { f.c.Close() }

func (f injected) write(ctx context.Context, e wire.Envelope) error {
	if err := f.c.Write(ctx, e); err != nil {
		return &LostError{err}
	}
	return nil
}
