package interop

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/payload"
)

// listenRetry is the pause before an ended subscription is requested again.
const listenRetry = time.Second

// maxListenRetry caps the pause, which doubles.
const maxListenRetry = time.Minute

// watchedKinds returns the lists for which the server declares notifications of changes.
func (e *Endpoint) watchedKinds() (kinds []string) {
	capabilities := e.Capabilities()
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if protocol.Declares(capabilities, kind, "listChanged") {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// reportGap reports a change of every list that may have changed without a notification.
func (e *Endpoint) reportGap() {
	e.invalidateList()
	e.reportListChanges()
	if e.opts.updatesLost != nil {
		e.opts.updatesLost()
	}
}

// reportListChanges reports to the fleet that every list may have changed.
func (e *Endpoint) reportListChanges() {
	if e.opts.broadcast == nil {
		return
	}
	for _, kind := range e.watchedKinds() {
		e.opts.broadcast(Message{Method: "notifications/" + kind + "/list_changed", Era: e.Era(), Server: e.server.ID})
	}
}

// listen keeps a subscription to the changes of a modern server's lists (2026-07-28,
// basic/patterns/subscriptions). The server replays nothing, so lists from before its
// acknowledgement may be out of date.
func (e *Endpoint) listen(c conn.Conn) {
	var filter wire.Object
	for _, kind := range e.watchedKinds() {
		filter = filter.Raw(kind+"ListChanged", []byte("true"))
	}
	params, err := payload.ServerParams(wire.Object{}.Raw("notifications", filter.JSON()).JSON(), e.modernMeta, 0)
	if err != nil {
		return
	}
	pause := newBackoff(Restart{First: listenRetry, Max: maxListenRetry})
	isNew := e.opts.private // the only client of a private connection has seen none of its lists yet
	for {
		acknowledged, begun := false, time.Now()
		ctx, cancel := context.WithCancel(e.ctx)
		e.mu.Lock()
		e.renewListen = cancel
		e.mu.Unlock()
		receive := func(ctx context.Context, m conn.Message) (json.RawMessage, error) {
			if m.Method == protocol.NoteAcknowledged {
				if !acknowledged && e.isListCurrent() {
					e.invalidateList()
				}
				if !acknowledged && !isNew {
					e.reportListChanges()
				}
				acknowledged, isNew = true, false
				return nil, nil
			}
			return e.handleIncoming(ctx, m)
		}
		_, err := c.Call(ctx, conn.Request{Method: protocol.MethodListen, Params: params, Receive: receive})
		cancel()
		rpc, _ := errors.AsType[*RPCError](err)
		if rpc != nil && (rpc.Code == CodeMethodNotFound || rpc.Code == CodeInvalidParams) {
			e.opts.Logger.Warn("no subscription to changes of its lists", "server", e.server.ID, "err", err)
			return
		}
		if acknowledged && time.Since(begun) > pause.pause {
			pause.reset()
		}
		select {
		case <-time.After(pause.next()):
		case <-c.Done():
			return
		case <-e.ctx.Done():
			return
		}
	}
}

// isListCurrent reports whether there is a list that counts as current.
func (e *Endpoint) isListCurrent() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.list != nil && e.list.Changes == e.listChanges
}

// listenEnded is called when another subscription of a connection has ended. On a stream, go-sdk
// 1.8.0 then forgets all subscriptions to list changes on that connection (its issue 1275). So
// they are renewed after a pause, and all lists are reported as changed, because notifications
// may have been lost.
func (e *Endpoint) listenEnded() {
	if _, http := e.server.Transport.(config.HTTP); http && e.opts.Transport == nil {
		return
	}
	e.mu.Lock()
	renew := e.renewListen
	e.mu.Unlock()
	if renew != nil {
		renew()
	}
}
