package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

const (
	// noteTimeout bounds a message without an answer.
	noteTimeout = 5 * time.Second
	// cancelsAtOnce bounds how many calls are cancelled at the same time when a session closes.
	cancelsAtOnce = 16
)

// carrier transports the messages of a session.
type carrier interface {
	// send sends one message whole or not at all, even if ctx ends. p is the call of the request, or nil for other
	// messages. On streamable HTTP, the answer to a POST is the answer to the request, so send also receives it.
	send(ctx context.Context, e wire.Envelope, p *pending) error
	// leave ends the session at the server, if the transport has a message for that.
	leave(ctx context.Context)
	// close ends the transport; it is bounded.
	close()
}

// session handles requests and answers in both directions over a carrier. Stdio, injected transports and HTTP+SSE use
// [stream]. Streamable HTTP uses [streamable] up to 2025-11-25, and [modern] since 2026-07-28.
type session struct {
	*lifetime           // of calls, and of answers to the server
	transport *lifetime // of the carrier, and of cancellations, which outlive their calls
	carrier   carrier   // set before the first call
	leaveWait time.Duration
	opts      Options
	log       *slog.Logger
	closing   sync.Once

	handshake    atomic.Pointer[Handshake] // nil before the handshake
	nextID       atomic.Int64
	noise        atomic.Int64
	queue        queue         // notifications that belong to no call
	refusalSlots chan struct{} // slots for refusals of requests beyond maxAsking

	unmatched unmatched

	table    sync.Mutex
	pending  map[int64]*pending // calls by request id
	tokens   map[int64]*pending // by progress token
	requests map[*serverRequest]bool
}

var _ Conn = (*session)(nil)

func newSession(o Options, leaveWait time.Duration) *session {
	s := &session{
		lifetime: newLifetime(), transport: newLifetime(), leaveWait: leaveWait, opts: o, log: o.Logger,
		queue: queue{signal: make(chan struct{}, 1)}, refusalSlots: make(chan struct{}, maxAsking),
		pending: map[int64]*pending{}, tokens: map[int64]*pending{}, requests: map[*serverRequest]bool{},
	}
	s.spawn(func(ctx context.Context) {
		s.queue.run(ctx, func(m Message) {
			if o.Receive != nil {
				_, _ = o.Receive(ctx, m)
			}
		})
	})
	return s
}

func (s *session) era() protocol.Era {
	if h := s.handshake.Load(); h != nil {
		return h.Era
	}
	return protocol.Legacy
}

// Noise implements [Conn].
func (s *session) Noise() int { return int(s.noise.Load()) }

// Call implements [Conn].
func (s *session) Call(ctx context.Context, r Request) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.alive(); err != nil {
		return nil, err
	}
	p, before := newPending(ctx, s.nextID.Add(1), &r), s.unmatched.total()
	s.register(p)
	defer s.unregister(p)
	if h := s.handshake.Load(); r.Sending != nil && h != nil {
		r.Sending.Sent(p.id, h.Version)
	}
	e := wire.Envelope{ID: strconv.AppendInt(nil, p.id, 10), Method: wire.Quote(r.Method), Params: r.Params}
	err := s.carrier.send(ctx, e, p)
	if _, lost, done := p.outcome(); err != nil && done && lost != nil {
		err = lost
	}
	for err == nil {
		var result json.RawMessage
		var done bool
		select {
		case <-p.signal:
			result, err, done = p.take()
		case <-ctx.Done():
			result, err, done = p.outcome()
			if !done {
				err = ctx.Err()
			}
		case <-s.ctx.Done():
			result, err, done = p.take()
			if !done {
				err = &LostError{s.Err()}
			}
		}
		if done {
			return result, err
		}
	}
	if ctx.Err() == nil || err != ctx.Err() { //nolint:errorlint // it is the error of the caller's context itself
		return nil, err
	}
	if !r.quiet {
		s.transport.spawn(func(life context.Context) {
			life, cancel := context.WithTimeout(life, noteTimeout)
			defer cancel()
			_ = s.cancelCall(life, p.id, context.Cause(ctx))
		})
	}
	return nil, s.lateError(ctx, before)
}

// Notify implements [Conn].
func (s *session) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if s.era() == protocol.Modern {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	return s.notify(ctx, method, params)
}

// notify sends a notification.
func (s *session) notify(ctx context.Context, method string, params json.RawMessage) error {
	return s.carrier.send(ctx, wire.Envelope{Method: wire.Quote(method), Params: params}, nil)
}

// cancelCall notifies the server that the answer to a call is no longer needed.
func (s *session) cancelCall(ctx context.Context, id int64, reason error) error {
	params := wire.Object{}.Raw("requestId", strconv.AppendInt(nil, id, 10)).Text("reason", reason.Error()).JSON()
	return s.notify(ctx, protocol.NoteCancelled, params)
}

// Close cancels the calls in flight, because a server may continue them otherwise. Then it leaves the session and ends
// the transport.
func (s *session) Close() {
	s.closing.Do(func() {
		alive := s.Err() == nil
		calls := s.calls(func(p *pending) bool { return !p.request.quiet })
		s.die(errClosed)
		if alive { // otherwise the calls have ended already
			s.failCalls(errClosed)
		}
		s.cancel()
		s.transport.die(errClosed)
		if alive {
			ctx, cancel := context.WithTimeout(s.transport.ctx, s.leaveWait)
			s.cancelAll(ctx, calls)
			s.transport.wait(ctx)
			s.carrier.leave(ctx)
			cancel()
		}
		s.transport.cancel()
		s.carrier.close()
		s.transport.end()
		s.end()
	})
}

// failCalls ends the calls in flight. The server's replies to their cancellation are not their answers.
func (s *session) failCalls(cause error) {
	for _, p := range s.calls(func(*pending) bool { return true }) {
		p.finish(nil, &LostError{cause})
	}
}

func (s *session) cancelAll(ctx context.Context, calls []*pending) {
	var sending sync.WaitGroup
	defer sending.Wait()
	slots := make(chan struct{}, cancelsAtOnce)
	for _, p := range calls {
		slots <- struct{}{}
		sending.Go(func() {
			defer func() { <-slots }()
			_ = s.cancelCall(ctx, p.id, errClosed)
		})
	}
}

// calls returns the calls in flight for which match returns true.
func (s *session) calls(match func(*pending) bool) (matching []*pending) {
	s.table.Lock()
	defer s.table.Unlock()
	for _, p := range s.pending {
		if match(p) {
			matching = append(matching, p)
		}
	}
	return matching
}

// waitingCalls returns the calls that wait for an answer. Subscriptions are left out, because they wait only for their
// end.
func (s *session) waitingCalls() []*pending {
	return s.calls(func(p *pending) bool { return !p.request.quiet && p.request.Method != protocol.MethodListen })
}

func (s *session) register(p *pending) {
	s.table.Lock()
	defer s.table.Unlock()
	s.pending[p.id] = p
	if p.request.Token != 0 {
		s.tokens[p.request.Token] = p
	}
}

func (s *session) unregister(p *pending) {
	p.endDelivery()
	s.table.Lock()
	defer s.table.Unlock()
	delete(s.pending, p.id)
	delete(s.tokens, p.request.Token)
}

// onlyCall returns the call that waits for an answer if there is exactly one, or nil. Subscriptions do not count.
func (s *session) onlyCall() *pending {
	calls := s.calls(func(p *pending) bool { return p.request.Method != protocol.MethodListen })
	if len(calls) != 1 {
		return nil
	}
	return calls[0]
}

// lookupCall returns the call with a request id or a progress token, or nil. Like most clients, it also accepts a
// number that the server repeats as a string or as 1.0.
func (s *session) lookupCall(from map[int64]*pending, raw json.RawMessage) *pending {
	if text, ok := wire.Unquote(raw); ok {
		raw = json.RawMessage(text)
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(string(raw), ".0"), 10, 64)
	if err != nil {
		return nil
	}
	s.table.Lock()
	defer s.table.Unlock()
	return from[n]
}

// callByOf returns the call with Request.Of equal to of. If there is none or of is 0, it returns nil.
func (s *session) callByOf(of uint64) *pending {
	if calls := s.calls(func(p *pending) bool { return of != 0 && p.request.Of == of }); len(calls) > 0 {
		return calls[0]
	}
	return nil
}

// handleNotification handles a notification of the server. streamCall is the call with its own stream on which the
// notification arrived, or nil. handleNotification returns the call to which it added the notification.
func (s *session) handleNotification(env *wire.Envelope, streamCall *pending) (owner *pending) {
	m := Message{Params: env.Params, Method: env.MethodName(), Era: s.era()}
	if m.Method == protocol.NoteCancelled {
		s.handleCancelled(m)
		return nil
	}
	owner = s.owner(&m)
	if owner == nil && !ConcernsAll(m.Method) {
		owner = streamCall
		if owner == nil && s.opts.Belongs != nil {
			owner = s.callByOf(s.opts.Belongs(m.Method))
		}
	}
	if owner != nil && owner.add(m) {
		return owner
	}
	if m.Method != protocol.NoteProgress { // progress of a call that has its answer is dropped
		s.queue.put(m)
	}
	return nil
}

// ConcernsAll reports whether a notification belongs to no call, whatever stream it arrives on.
func ConcernsAll(method string) bool {
	return strings.HasSuffix(method, "/list_changed") || method == protocol.NoteResourceUpdated
}

// owner finds the call that a notification names, by progress token or subscription.
func (s *session) owner(m *Message) *pending {
	if m.Method == protocol.NoteProgress {
		token, _ := wire.Lookup(m.Params, "progressToken")
		return s.lookupCall(s.tokens, token)
	}
	if !bytes.Contains(m.Params, []byte(protocol.MetaSubscription)) {
		return nil
	}
	meta, _ := wire.Lookup(m.Params, "_meta")
	id, _ := wire.Lookup(meta, protocol.MetaSubscription)
	return s.lookupCall(s.pending, id)
}
