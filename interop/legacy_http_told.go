package interop

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// legacySink takes what belongs to one call. Nearly all of it comes on the
// call's own stream, from the calling goroutine; some servers send progress on
// the standing stream, and that comes from the connection's. The lock is what
// keeps them apart, and both from a call that has returned: it is held around
// back on purpose.
type legacySink struct {
	ctx  context.Context
	back Peer
	of   uint64

	mu   sync.Mutex
	over bool
}

func (s *legacySink) put(m Message) {
	if s.back == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		m.Of = s.of
		_, _ = s.back(s.ctx, m)
	}
}

// watch makes a call known, and its sink by the progress token, until unwatch.
func (c *httpLegacy) watch(id int64, x *exchange, s *legacySink) {
	c.table.Lock()
	defer c.table.Unlock()
	c.calls[id] = !x.quiet
	if x.token != 0 {
		c.sinks[x.token] = s
	}
}

// unwatch ends a call's sink: after it, back is not called again.
func (c *httpLegacy) unwatch(id int64, x *exchange, s *legacySink) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	c.table.Lock()
	defer c.table.Unlock()
	delete(c.calls, id)
	if x.token != 0 {
		delete(c.sinks, x.token)
	}
}

// inFlight is the calls whose end the server is to be told.
func (c *httpLegacy) inFlight() []int64 {
	c.table.Lock()
	defer c.table.Unlock()
	var ids []int64
	for id, tell := range c.calls {
		if tell {
			ids = append(ids, id)
		}
	}
	return ids
}

// told takes a notification. s is the call on whose stream it came; nil: none.
func (c *httpLegacy) told(s *legacySink, env *wire.Envelope) {
	m := Message{Params: env.Params, Method: env.MethodName(), Era: Legacy}
	switch {
	case m.Method == protocol.NoteCancelled:
		c.stopAnswering(m.Params)
	case s == nil || concernsAll(m.Method):
		c.queue.put(m)
	default:
		s.put(m)
	}
}

// concernsAll reports a notification that belongs to no call, whatever stream it takes.
func concernsAll(method string) bool {
	return strings.HasSuffix(method, "/list_changed") || method == "notifications/resources/updated"
}

// deliver hands on what came outside of calls; it runs in one goroutine.
func (c *httpLegacy) deliver(m Message) {
	if m.Method == protocol.NoteProgress {
		if s := c.sinkOf(m.Params); s != nil { // otherwise its call has returned
			s.put(m)
		}
		return
	}
	if c.receive != nil {
		_, _ = c.receive(c.ctx, m)
	}
}

func (c *httpLegacy) sinkOf(params json.RawMessage) *legacySink {
	raw, _ := wire.Lookup(params, "progressToken")
	token, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return nil
	}
	c.table.Lock()
	defer c.table.Unlock()
	return c.sinks[token]
}

// asks takes a request of the server's, and answers it from a goroutine of its
// own. of is the exchange on whose stream it came.
func (c *httpLegacy) asks(of uint64, env *wire.Envelope) {
	m := Message{ID: env.ID, Params: env.Params, Method: env.MethodName(), Era: Legacy, Of: of}
	select {
	case c.asked <- struct{}{}:
		if !c.spawn(func(ctx context.Context) { defer func() { <-c.asked }(); c.answer(ctx, m) }) {
			<-c.asked
		}
		return
	default:
	}
	select {
	case c.refused <- struct{}{}:
		busy := &RPCError{Code: CodeInternal, Message: "too many requests at once"}
		if !c.spawn(func(ctx context.Context) { defer func() { <-c.refused }(); c.reply(ctx, m.ID, nil, busy) }) {
			<-c.refused
		}
	default:
		c.server.log.Warn("a request of the server's was dropped", "method", m.Method)
	}
}

func (c *httpLegacy) answer(ctx context.Context, m Message) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	key := string(m.ID)
	c.table.Lock()
	c.answering[key] = cancel
	c.table.Unlock()
	result, err := answerServer(ctx, m, c.receive)
	c.table.Lock()
	delete(c.answering, key)
	c.table.Unlock()
	if ctx.Err() == nil { // cancelled by its asker: it expects no answer
		c.reply(ctx, m.ID, result, err)
	}
}

func (c *httpLegacy) reply(ctx context.Context, id, result json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	e := wire.Envelope{ID: id, Result: result}
	if err != nil {
		e.Result, e.Error = nil, encodeRPCError(err)
	} else if result == nil {
		e.Result = json.RawMessage(`{}`)
	}
	if err := c.post(ctx, wire.EncodeEnvelope(e)); err != nil {
		c.server.log.Debug("the server did not take an answer", "err", err)
	}
}

// stopAnswering heeds the server's notifications/cancelled.
func (c *httpLegacy) stopAnswering(params json.RawMessage) {
	id, _ := wire.Lookup(params, "requestId")
	c.table.Lock()
	defer c.table.Unlock()
	if cancel := c.answering[string(id)]; cancel != nil {
		cancel()
	}
}
