package interop

import (
	"context"
	"fmt"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
)

const (
	// maxUnanswered is how many requests in a row may reach their deadline without a reply. Then the
	// server is checked.
	maxUnanswered = 3
	// aliveWait bounds the wait for the reply to that check.
	aliveWait = 10 * time.Second
)

// unanswered records that a request has reached its deadline. A server that accepts requests and replies
// to none, not even to a ping, has hung. Its connection is then closed. A fleet makes another, and
// meanwhile returns that reason to callers.
func (e *Endpoint) unanswered(c conn.Conn, shake conn.Handshake) {
	if e.silent.Add(1) != maxUnanswered {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase.Usable() {
		e.running.Go(func() { e.checkAlive(c, shake) })
	}
}

// answered records a reply of the server.
func (e *Endpoint) answered() {
	if e.silent.Load() != 0 {
		e.silent.Store(0)
	}
}

// checkAlive closes the connection unless its server replies. Since 2026-07-28 there is no ping, so
// server/discover is used.
func (e *Endpoint) checkAlive(c conn.Conn, shake conn.Handshake) {
	ctx, cancel := context.WithTimeout(e.ctx, aliveWait)
	defer cancel()
	x := conn.Request{Method: protocol.MethodPing}
	if shake.Era == Modern {
		params, err := hopParams(nil, e.modern, 0)
		if err != nil {
			return
		}
		x.Method, x.Params = protocol.MethodDiscover, params
	}
	if _, err := c.Call(ctx, x); err == nil || isAnswer(err) || ctx.Err() == nil || e.ctx.Err() != nil {
		e.silent.Store(0) // otherwise its end is noticed anyway
		return
	}
	why := fmt.Errorf("the server has hung: %d requests in a row were not answered, nor %s within %v", maxUnanswered, x.Method, aliveWait)
	if e.lose("connection given up", why) {
		c.Close()
	}
}
