package interop

import (
	"context"
	"encoding/json"
	"time"

	"github.com/indusagi/indus/internal/wire"
)

// tellsOutsideOfCalls reports whether a server declares anything that it would
// say on a standing stream: changes, updates, logs. One that does not is spared
// a connection.
func tellsOutsideOfCalls(capabilities json.RawMessage) bool {
	for _, f := range [...][2]string{
		{"tools", "listChanged"}, {"prompts", "listChanged"}, {"resources", "listChanged"}, {"resources", "subscribe"},
	} {
		feature, _ := wire.Lookup(capabilities, f[0])
		if flag, _ := wire.Lookup(feature, f[1]); string(flag) == "true" {
			return true
		}
	}
	_, logs := wire.Lookup(capabilities, "logging")
	return logs
}

// stand keeps the standing stream, on which the server tells and asks what
// belongs to no call, until the connection dies. A server that has none, and
// says so, is not asked again. The stream's death is not the connection's.
func (c *httpLegacy) stand(ctx context.Context) {
	s := &eventStream{
		retry: -1,
		note:  func(env *wire.Envelope) error { c.told(nil, env); return nil },
		ask:   func(env *wire.Envelope) { c.asks(0, env) },
	}
	opened := false
	for failed := 0; ; {
		r, err := c.get(ctx, s.lastID)
		switch {
		case err == nil:
			if opened && s.lastID == "" && c.gap != nil { // nothing is replayed
				c.gap()
			}
			opened, s.heard = true, false
			start := time.Now()
			c.standWhile(s, r)
			failed++
			if s.heard || time.Since(start) > httpRetryMax {
				failed = 0
			}
		case !passing(err):
			if opened { // it was there, so the answer is about the session
				_ = c.judge(err)
			}
			if s.lastID == "" {
				c.server.log.Debug("no standing stream", "err", err)
				return
			}
			s.lastID = "" // or about the event, which it no longer has
		default:
			failed++
		}
		wait := httpRetryDefault
		if s.retry >= 0 {
			wait = max(s.retry, httpRetryFloor)
		}
		if failed > 1 {
			wait = jittered(wait, failed-1)
		}
		if c.pause(ctx, wait) != nil {
			return
		}
	}
}

// standWhile takes messages from one standing stream until it ends. There is no
// call that a broken message could fail: it is logged and left out.
func (c *httpLegacy) standWhile(s *eventStream, r *httpReply) {
	defer r.close()
	events := c.server.events(r)
	for {
		_, err, final := s.read(events)
		if !final {
			return
		}
		c.server.log.Warn("a message on the standing stream was left out", "err", err)
	}
}
