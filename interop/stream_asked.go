package interop

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/indusagi/indus/internal/wire"
)

// maxAsked bounds the server's own requests that are being answered at once,
// and likewise those that are being refused for that. Of more nobody takes note.
const maxAsked = 64

// answer runs a request of the server's in a goroutine of its own.
func (c *streamConn) answer(m Message) {
	m.ID = bytes.Clone(m.ID) // what waits for a server that does not read is no whole frame
	select {
	case c.asked <- struct{}{}:
		one := c.serve(m.ID)
		c.goWhileAlive(func(ctx context.Context) {
			defer func() { <-c.asked }()
			result, err := answerServer(one.ctx, m, c.receive)
			m.Params = nil
			if c.finished(m.ID, one) {
				c.reply(ctx, m.ID, result, err)
			}
		})
		return
	default:
	}
	select {
	case c.refused <- struct{}{}:
		m.Params = nil
		c.goWhileAlive(func(ctx context.Context) {
			defer func() { <-c.refused }()
			c.reply(ctx, m.ID, nil, &RPCError{Code: CodeInternal, Message: "too many requests at once"})
		})
	default: // it does not read either
	}
}

// served is a request of the server's that is being answered.
type served struct {
	ctx  context.Context
	stop context.CancelFunc
}

// serve notes a request before any message that follows it is read.
func (c *streamConn) serve(id json.RawMessage) *served {
	one := &served{}
	one.ctx, one.stop = context.WithCancel(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving[string(id)] = one
	return one
}

// finished reports whether the server still waits for the answer.
func (c *streamConn) finished(id json.RawMessage, one *served) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serving[string(id)] == one {
		delete(c.serving, string(id))
	}
	wanted := one.ctx.Err() == nil
	one.stop()
	return wanted
}

// cancelled ends what the server no longer wants: a request of its own, or a
// request of ours that it will not answer, which only a modern server may say
// (2026-07-28, basic/patterns/cancellation).
func (c *streamConn) cancelled(m Message) {
	id, _ := wire.Lookup(m.Params, "requestId")
	c.mu.Lock()
	one := c.serving[string(id)]
	c.mu.Unlock()
	if one != nil {
		one.stop()
		return
	}
	if e := c.byID(id); e != nil && m.Era == Modern {
		e.finish(nil, errServerCancelled)
	}
}

func (c *streamConn) reply(ctx context.Context, id, result json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	env := wire.Envelope{ID: id, Result: result}
	if err != nil {
		env.Result, env.Error = nil, encodeRPCError(err)
	}
	_ = c.f.write(ctx, env)
}
