package interop

import (
	"context"
	"fmt"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
)

const (
	// maxUnanswered is how many requests in a row a connection may leave without an answer, each until its
	// deadline, before its server is asked whether it is there at all.
	maxUnanswered = 3
	// aliveWait is how long that answer may take.
	aliveWait = 10 * time.Second
)

// unanswered notes that a request has met its deadline. A server that takes requests and answers none, not
// even a ping, has hung: its connection is given up, so that a fleet makes another, and says so to callers
// meanwhile.
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

// answered notes that the server answers.
func (e *Endpoint) answered() {
	if e.silent.Load() != 0 {
		e.silent.Store(0)
	}
}

// checkAlive gives the connection up unless its server answers. Since 2026-07-28 there is no ping.
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
		e.silent.Store(0) // else its end is noticed anyway
		return
	}
	why := fmt.Errorf("the server has hung: %d requests in a row were not answered, nor %s within %v", maxUnanswered, x.Method, aliveWait)
	if e.lose("connection given up", why) {
		c.Close()
	}
}
