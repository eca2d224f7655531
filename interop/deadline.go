package interop

import (
	"context"
	"fmt"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/payload"
)

const (
	// maxUnanswered is how many requests in a row may reach their deadline without a reply. Then the
	// server is checked.
	maxUnanswered = 3
	// aliveWait bounds the wait for the reply to that check.
	aliveWait = 10 * time.Second
)

// recordTimeout records that a request has reached its deadline. A server that accepts requests and replies
// to none, not even to a ping, has hung. Its connection is then closed. A fleet makes another, and
// meanwhile returns that reason to callers.
func (e *Endpoint) recordTimeout(c conn.Conn, handshake conn.Handshake) {
	if e.timeouts.Add(1) != maxUnanswered {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase.Usable() {
		e.running.Go(func() { e.checkAlive(c, handshake) })
	}
}

// recordReply records a reply of the server.
func (e *Endpoint) recordReply() {
	if e.timeouts.Load() != 0 {
		e.timeouts.Store(0)
	}
}

// checkAlive closes the connection unless its server replies. Since 2026-07-28 there is no ping, so
// server/discover is used.
func (e *Endpoint) checkAlive(c conn.Conn, handshake conn.Handshake) {
	ctx, cancel := context.WithTimeout(e.ctx, aliveWait)
	defer cancel()
	x := conn.Request{Method: protocol.MethodPing}
	if handshake.Era == Modern {
		params, err := payload.ServerParams(nil, e.modernMeta, 0)
		if err != nil {
			return
		}
		x.Method, x.Params = protocol.MethodDiscover, params
	}
	if _, err := c.Call(ctx, x); err == nil || isErrorReply(err) || ctx.Err() == nil || e.ctx.Err() != nil {
		e.timeouts.Store(0) // otherwise its end is noticed anyway
		return
	}
	why := fmt.Errorf("the server has hung: %d requests in a row were not answered, nor %s within %v",
		maxUnanswered, x.Method, aliveWait)
	if e.fail("connection given up", why) {
		c.Close()
	}
}
