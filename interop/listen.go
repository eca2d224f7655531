package interop

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
)

// listenRetry is the pause before a subscription that ended is asked for again.
const listenRetry = time.Second

// maxListenRetry caps the pause, which doubles.
const maxListenRetry = time.Minute

// listen keeps a subscription to the changes of a modern server's tools
// (2026-07-28, basic/patterns/subscriptions). Nothing is replayed: what was
// listed before the server acknowledged may have changed meanwhile.
func (e *Endpoint) listen(c conn.Conn) {
	params, err := hopParams(json.RawMessage(`{"notifications":{"toolsListChanged":true}}`), e.modern, 0)
	if err != nil {
		return
	}
	pause := listenRetry
	for {
		acknowledged := false
		_, err := c.Call(e.ctx, conn.Request{Method: protocol.MethodListen, Params: params, Receive: func(ctx context.Context, m conn.Message) (json.RawMessage, error) {
			if m.Method == protocol.NoteAcknowledged {
				if !acknowledged && e.hasListed() {
					e.listChanged()
				}
				acknowledged = true
				return nil, nil
			}
			return e.received(ctx, m)
		}})
		var rpc *RPCError
		if errors.As(err, &rpc) && (rpc.Code == CodeMethodNotFound || rpc.Code == CodeInvalidParams) {
			e.opts.Logger.Warn("no subscription to changes of its tools", "server", e.server.ID, "err", err)
			return
		}
		if acknowledged {
			pause = listenRetry
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-c.Done():
			wait.Stop()
			return
		case <-e.ctx.Done():
			wait.Stop()
			return
		}
		if pause *= 2; pause > maxListenRetry {
			pause = maxListenRetry
		}
	}
}

// hasListed reports whether there is a listing that passes for the newest.
func (e *Endpoint) hasListed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.list != nil && e.list.at == e.changes
}
