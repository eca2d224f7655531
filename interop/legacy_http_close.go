package interop

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// close ends all that runs and says goodbye to the session.
func (c *httpLegacy) close() {
	c.leaving.Do(func() {
		alive, ids := c.err() == nil, c.inFlight()
		c.queue.close()
		c.end()
		if alive {
			c.leave(ids)
		}
		c.posts.end()
	})
	c.end()
	c.server.close()
}

// leave cancels what was in flight, because a server may keep it running
// otherwise, and its session with it; then it deletes the session.
func (c *httpLegacy) leave(ids []int64) {
	ctx, cancel := context.WithTimeout(context.Background(), httpLeaveWait)
	defer cancel()
	tellAll(ctx, c.notify, ids)
	if c.session.Load().id == "" {
		return
	}
	if r, err := c.server.send(ctx, c.posts, http.MethodDelete, c.headers(httpAcceptBoth), nil); err == nil {
		r.close()
	}
}

// tellAll cancels calls because their connection is closed.
func tellAll(ctx context.Context, notify func(context.Context, string, json.RawMessage) error, ids []int64) {
	var telling sync.WaitGroup
	defer telling.Wait()
	slots := make(chan struct{}, httpLeaveAtOnce)
	for _, id := range ids {
		slots <- struct{}{}
		telling.Go(func() {
			defer func() { <-slots }()
			_ = notify(ctx, protocol.NoteCancelled, cancelledParams(id, errClosed))
		})
	}
}

func cancelledParams(id int64, reason error) json.RawMessage {
	b := append(strconv.AppendInt([]byte(`{"requestId":`), id, 10), `,"reason":`...)
	return append(append(b, wire.Quote(reason.Error())...), '}')
}
