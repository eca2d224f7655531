package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
)

// framer moves whole messages over one duplex stream: one reader, many writers.
type framer interface {
	// read blocks for the next message, whose bytes are the caller's. A
	// [*wire.BadFrame] concerns that message alone; any other error is the stream's end.
	read() (wire.Envelope, error)
	// write sends one message whole, whatever becomes of ctx, or not at all.
	write(ctx context.Context, e wire.Envelope) error
	// close unblocks read and is bounded; it may be called twice.
	close()
}

// noteTimeout bounds a notification that nobody waits for.
const noteTimeout = 5 * time.Second

// streamConn is JSON-RPC over a duplex stream, in either era: stdio, HTTP+SSE
// and what is injected.
type streamConn struct {
	f       framer
	receive Peer // takes what belongs to no exchange
	secrets *secret.Set
	era     atomic.Value

	nextID  atomic.Int64
	noise   atomic.Int64 // lines that were no JSON-RPC
	queue   *inbox
	asked   chan struct{} // slots for the server's requests
	refused chan struct{} // slots for those that found none
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	dead    chan struct{}
	telling atomic.Int64  // cancellations on their way
	told    chan struct{} // one slot: there are none any more

	mu      sync.Mutex
	pending map[int64]*entry   // by request id
	serving map[string]*served // the server's requests, by id
	tokens  map[int64]*entry   // by progress token
	cause   error              // set before dead is closed
}

type entry struct {
	*mailbox
	of    uint64
	quiet bool // the server is not told when nobody waits any more
}

var _ conn = (*streamConn)(nil)

// newStreamConn begins to read from f. receive may be nil.
func newStreamConn(f framer, receive Peer, secrets *secret.Set) *streamConn {
	ctx, cancel := context.WithCancel(context.Background())
	c := &streamConn{
		f: f, receive: receive, secrets: secrets, queue: newInbox(), asked: make(chan struct{}, maxAsked),
		refused: make(chan struct{}, maxAsked), ctx: ctx, cancel: cancel, dead: make(chan struct{}), told: make(chan struct{}, 1),
		pending: map[int64]*entry{}, tokens: map[int64]*entry{}, serving: map[string]*served{},
	}
	c.era.Store(Legacy)
	c.running.Add(2)
	go func() { defer c.running.Done(); c.readAll() }()
	go func() {
		defer c.running.Done()
		c.queue.run(func(m Message) {
			if c.receive != nil {
				_, _ = c.receive(c.ctx, m)
			}
		})
	}()
	return c
}

func (c *streamConn) call(ctx context.Context, x exchange) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id := c.nextID.Add(1)
	e := &entry{newMailbox(), x.of, x.quiet}
	if err := c.register(id, x.token, e); err != nil {
		return nil, err
	}
	defer c.forget(id, x.token)
	err := c.f.write(ctx, wire.Envelope{ID: strconv.AppendInt(nil, id, 10), Method: wire.Quote(x.method), Params: x.params})
	if err != nil {
		if ctx.Err() != nil {
			c.tellCancelled(ctx, id, x)
			return nil, ctx.Err()
		}
		return nil, c.orCause(err)
	}
	for {
		select {
		case <-e.signal:
		case <-ctx.Done():
			c.tellCancelled(ctx, id, x)
			return nil, ctx.Err()
		}
		notes, result, err, done := e.take()
		if x.back != nil {
			for _, m := range notes {
				_, _ = x.back(ctx, m)
			}
		}
		if done {
			return result, err
		}
	}
}

// tellCancelled sends notifications/cancelled and does not wait for it.
func (c *streamConn) tellCancelled(ctx context.Context, id int64, x exchange) {
	if x.quiet {
		return
	}
	reason := context.Cause(ctx).Error()
	params := append([]byte(`{"requestId":`), strconv.AppendInt(nil, id, 10)...)
	params = append(append(append(params, `,"reason":`...), wire.Quote(reason)...), '}')
	c.telling.Add(1)
	c.goWhileAlive(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, noteTimeout)
		defer cancel()
		_ = c.notify(ctx, protocol.NoteCancelled, params)
		if c.telling.Add(-1) == 0 {
			select {
			case c.told <- struct{}{}:
			default:
			}
		}
	})
}

func (c *streamConn) notify(ctx context.Context, method string, params json.RawMessage) error {
	return c.f.write(ctx, wire.Envelope{Method: wire.Quote(method), Params: params})
}

func (c *streamConn) done() <-chan struct{} { return c.dead }

func (c *streamConn) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// goodbye bounds how long close tries to tell the server of what is cancelled:
// who interrupts a call often closes the next moment.
const goodbye = 250 * time.Millisecond

// close tells the server that nobody waits for the calls in flight, ends the
// stream, and waits for all that the connection started.
func (c *streamConn) close() {
	ctx, cancel := context.WithTimeout(c.ctx, goodbye)
	for _, id := range c.inFlight() {
		_ = c.notify(ctx, protocol.NoteCancelled, fmt.Appendf(nil, `{"requestId":%d,"reason":"closing"}`, id))
	}
	if c.telling.Load() > 0 {
		select {
		case <-c.told:
		case <-ctx.Done():
		}
	}
	cancel()
	c.die(errClosed)
	c.f.close()
	c.running.Wait()
}

// inFlight is the ids of the requests that somebody waits for, unless the
// connection is dead.
func (c *streamConn) inFlight() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []int64
	for id, e := range c.pending {
		if c.cause == nil && !e.quiet {
			ids = append(ids, id)
		}
	}
	return ids
}

// errClosed is the end of a connection that we ended ourselves.
var errClosed = errors.New("connection closed")

func (c *streamConn) readAll() {
	for {
		env, err := c.f.read()
		var bad *wire.BadFrame
		switch {
		case err == nil:
			c.dispatch(&env)
		case errors.As(err, &bad):
			c.refuse(bad)
		default:
			c.die(err)
			return
		}
	}
}

// dispatch gives a message to whom it concerns.
func (c *streamConn) dispatch(env *wire.Envelope) {
	kind := env.Kind()
	if kind != wire.Response && string(env.Version) != `"2.0"` {
		c.refuse(&wire.BadFrame{Err: errNoVersion}) // somebody's log, which may well have ids and methods
		return
	}
	switch kind {
	case wire.Response:
		e := c.byID(env.ID)
		switch {
		case e == nil: // late, or never asked for
		case env.Error != nil:
			e.finish(nil, parseRPCError(env.Error, c.secrets))
		default:
			e.finish(env.Result, nil)
		}
	case wire.Notification:
		m := c.message(env)
		if m.Method == protocol.NoteCancelled {
			c.cancelled(m)
			return
		}
		if e := c.ownerOf(&m); e != nil {
			m.Of = e.of
			e.note(m)
			return
		}
		if m.Method != protocol.NoteProgress { // of a call that has ended
			c.queue.put(m)
		}
	case wire.Request:
		if len(env.ID) > maxIDBytes {
			c.refuse(&wire.BadFrame{Err: errLongID})
			return
		}
		c.answer(c.message(env))
	default:
		c.refuse(&wire.BadFrame{ID: env.ID, Err: &protocolError{"a message that is neither request nor response", nil}})
	}
}

// maxIDBytes bounds the id of a server's request, which waits for its answer.
const maxIDBytes = 1 << 10

var errLongID = &protocolError{"a request whose id is too long", nil}

var errNoVersion = &protocolError{"JSON that is not JSON-RPC 2.0", nil}

func (c *streamConn) message(env *wire.Envelope) Message {
	return Message{ID: env.ID, Params: env.Params, Method: env.MethodName(), Era: c.era.Load().(Era)}
}

// ownerOf finds the exchange that a notification belongs to.
func (c *streamConn) ownerOf(m *Message) *entry {
	if m.Method == protocol.NoteProgress {
		token, ok := wire.Lookup(m.Params, "progressToken")
		if !ok {
			return nil
		}
		n, err := strconv.ParseInt(string(token), 10, 64)
		if err != nil {
			return nil
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.tokens[n]
	}
	if !bytes.Contains(m.Params, []byte(protocol.MetaSubscription)) {
		return nil
	}
	meta, ok := wire.Lookup(m.Params, "_meta")
	if !ok {
		return nil
	}
	if id, ok := wire.Lookup(meta, protocol.MetaSubscription); ok {
		return c.byID(id)
	}
	return nil
}

// refuse counts what is no message, and fails the call whose answer it seems to be.
func (c *streamConn) refuse(bad *wire.BadFrame) {
	c.noise.Add(1)
	for _, id := range append([]json.RawMessage{bad.ID}, bad.More...) {
		if e := c.byID(id); e != nil {
			e.finish(nil, &protocolError{"a broken answer", bad.Err})
		}
	}
}

// goWhileAlive starts f unless the connection is dead; close waits for it.
func (c *streamConn) goWhileAlive(f func(context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return
	}
	c.running.Add(1)
	go func() { defer c.running.Done(); f(c.ctx) }()
}

func (c *streamConn) register(id, token int64, e *entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return &unsentError{&lostError{c.cause}}
	}
	c.pending[id] = e
	if token != 0 {
		c.tokens[token] = e
	}
	return nil
}

func (c *streamConn) forget(id, token int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
	delete(c.tokens, token)
}

func (c *streamConn) byID(raw json.RawMessage) *entry {
	id, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending[id]
}

func (c *streamConn) orCause(err error) error {
	if cause := c.err(); cause != nil {
		return &lostError{cause}
	}
	return &lostError{err}
}

// die is the one way a connection ends.
func (c *streamConn) die(cause error) {
	c.mu.Lock()
	if c.cause != nil {
		c.mu.Unlock()
		return
	}
	c.cause = cause
	waiting := make([]*entry, 0, len(c.pending))
	for _, e := range c.pending {
		waiting = append(waiting, e)
	}
	c.mu.Unlock()
	for _, e := range waiting {
		e.finish(nil, &lostError{cause})
	}
	c.cancel()
	c.queue.close()
	close(c.dead)
}
