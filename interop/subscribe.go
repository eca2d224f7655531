package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/toolbox"
)

const (
	// maxSubscribed bounds the resources of one server that are subscribed to, because each is a
	// stream of its own at a modern server over HTTP; maxCallerSubscribed what one caller holds
	// of them.
	maxSubscribed       = 4000
	maxCallerSubscribed = 1000
	// maxUpdate bounds the params of an update, in bytes: of a longer one only the URI is told.
	maxUpdate = 64 << 10
	// maxWholes bounds of how many resources one may be a part.
	maxWholes = 64
	// subscribeWait bounds the wait for the server's agreement, each time.
	subscribeWait = 30 * time.Second
	// unsubscribeWait bounds resources/unsubscribe, which nobody waits for.
	unsubscribeWait = 5 * time.Second
)

// Subscribe reports updates of a resource of a server, until stop is called. However many hold
// it, the server has one subscription to it: resources/subscribe on a legacy connection,
// subscriptions/listen on a modern one (2026-07-28, basic/patterns/subscriptions). It is made
// again on each new connection, and once it is there again updated is called: nothing is
// replayed, so whoever follows the resource has to read it.
//
// updated takes notifications/resources/updated with the server's own URI, which may be that of
// a part of the resource (file:///d/x for file:///d). It is called from several goroutines, must
// not block, and must not call stop; a call that is under way when stop is called may still be.
//
// ctx bounds nothing but the wait for the server's agreement, of half a minute at most. A server without the
// capability is an [*RPCError] with [CodeMethodNotFound]; other failures are those of [Fleet.Request].
func (f *Fleet) Subscribe(ctx context.Context, server, uri string, caller toolbox.Principal, updated func(Message)) (stop func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m := findMember(f.all(), server); m != nil {
		m.state.Load().endpoint.talks.subscribes(caller, ClientOf(ctx))
	}
	h := &subscriber{callPair: callPair{server, caller}, updated: updated, client: ClientOf(ctx)}
	s, err := f.subscriptions.join(f, h, uri)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.answered:
		err = s.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(subscribeWait):
		err = NewFault(Timeout, server, fmt.Sprintf("%s: no answer within %v", protocol.MethodSubscribe, subscribeWait), nil)
	}
	if err != nil {
		f.subscriptions.leave(h)
		return nil, err
	}
	return sync.OnceFunc(func() { f.subscriptions.leave(h) }), nil
}

// Unsubscribe has a server answer m, which is to end a subscription to one of its resources that the caller does not hold. If
// another one holds it, or the server is modern, the server is not asked.
func (f *Fleet) Unsubscribe(ctx context.Context, server, uri string, m Message) error {
	e, err := f.Endpoint(server, m.Caller)
	if err != nil || e.Era() == Modern {
		return err
	}
	t := &f.subscriptions
	t.mu.Lock()
	held := false
	for of := range t.of[server] {
		held = held || of.uri == uri
	}
	t.mu.Unlock()
	if held {
		return nil
	}
	_, err = f.Request(ctx, server, m)
	return err
}

// subscriptions are a fleet's, by server.
type subscriptions struct {
	running sync.WaitGroup

	mu      sync.Mutex
	of      map[string]map[subscribed]*subscription
	callers map[callPair]int // how many resources each holds
	hears   bool             // what happens to servers
	closed  bool
}

// subscribed is what a subscription is to, at one server.
type subscribed struct {
	own    bool              // on the connection of caller, see [PerPrincipal]; else caller is ""
	caller toolbox.Principal // and it is made for all
	uri    string
}

// callPair is a principal at a server.
type callPair struct {
	server string
	caller toolbox.Principal
}

// subscription is one of a server's resources, kept up by a goroutine of its own.
type subscription struct {
	fleet  *Fleet
	server string
	subscribed
	client   *Client         // of who was the first to hold it
	moved    bool            // those who hold it have held another one
	ctx      context.Context // ends when nobody holds it any more
	cancel   context.CancelFunc
	earlier  <-chan struct{} // closed when an earlier one of the resource has ended; nil: there is none
	answered chan struct{}   // closed when the server has agreed for the first time, or will not
	err      error           // why it will not; set before answered is closed
	wake     chan struct{}   // gets a value when the server is ready
	ended    chan struct{}   // closed when nothing of it runs

	// Guarded by subscriptions.mu.
	holders map[*subscriber]bool
	callers map[toolbox.Principal]int // whose they are, and how many each has
	over    bool                      // nobody can hold it any more
}

// subscriber is one who holds a subscription.
type subscriber struct {
	callPair
	updated func(Message)
	client  *Client       // whose it is; nil: nobody's who could be asked
	of      *subscription // guarded by subscriptions.mu; nil: none any more
}

// join makes h one of those who hold a subscription, which is begun with the first.
func (t *subscriptions) join(f *Fleet, h *subscriber, uri string) (*subscription, error) {
	to := subscribed{uri: uri}
	if m := findMember(f.all(), h.server); m != nil && m.isPerPrincipal() {
		to.own, to.caller = true, h.caller
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.add(f, h, to, false)
}

// add is join with mu held.
func (t *subscriptions) add(f *Fleet, h *subscriber, to subscribed, moved bool) (*subscription, error) {
	server := h.server
	if t.closed {
		return nil, NewFault(NotConnected, server, "the fleet is closed", nil)
	}
	s := t.of[server][to]
	if s != nil && s.over {
		s = &subscription{earlier: s.ended}
	}
	switch {
	case (s == nil || s.callers[h.caller] == 0) && t.callers[h.callPair] >= maxCallerSubscribed:
		return nil, tooManySubscriptions(server, "this caller holds %d", maxCallerSubscribed)
	case s == nil && len(t.of[server]) >= maxSubscribed:
		return nil, tooManySubscriptions(server, "there are %d", maxSubscribed)
	case s == nil:
		s = &subscription{}
	}
	if s.fleet == nil {
		s.fleet, s.server, s.subscribed, s.client, s.moved = f, server, to, h.client, moved
		s.ctx, s.cancel = context.WithCancel(context.Background())
		s.answered, s.wake, s.ended = make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
		s.holders, s.callers = map[*subscriber]bool{}, map[toolbox.Principal]int{}
		if t.of[server] == nil {
			t.of[server] = map[subscribed]*subscription{}
		}
		t.of[server][to] = s
		if moved {
			close(s.answered)
		}
		if !t.hears {
			t.hears = true
			f.events.add(t.hear)
		}
		t.running.Go(s.keep)
	}
	if s.callers[h.caller] == 0 {
		t.callers[h.callPair]++
	}
	s.holders[h] = true
	s.callers[h.caller]++
	h.of = s
	return s, nil
}

// move gives those who hold a subscription another one, because its server's principals share a connection no
// more, or do from now on.
func (t *subscriptions) move(s *subscription) {
	t.mu.Lock()
	s.over = true
	var moved []*subscriber
	for h := range s.holders {
		t.remove(h)
		to := subscribed{uri: s.uri}
		if !s.own {
			to.own, to.caller = true, h.caller
		}
		if _, err := t.add(s.fleet, h, to, true); err != nil {
			s.fleet.opts.Logger.Warn("a subscription is lost", "server", s.server, "caller", h.caller, "err", err)
		}
		moved = append(moved, h)
	}
	t.mu.Unlock()
	for _, h := range moved {
		h.updated(s.plain())
	}
}

func tooManySubscriptions(server, format string, args ...any) error {
	return NewFault(Protocol, server, protocol.MethodSubscribe, &RPCError{
		Code: CodeInternal, Message: "too many subscriptions: " + fmt.Sprintf(format, args...) + " of this server",
	})
}

// leave takes h out; with the last one the subscription ends.
func (t *subscriptions) leave(h *subscriber) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := h.of; s != nil {
		if t.remove(h); len(s.holders) == 0 {
			s.over = true
			s.cancel()
		}
	}
}

// remove has h hold nothing. Call it with mu held.
func (t *subscriptions) remove(h *subscriber) {
	s := h.of
	delete(s.holders, h)
	h.of = nil
	if s.callers[h.caller]--; s.callers[h.caller] > 0 {
		return
	}
	delete(s.callers, h.caller)
	if t.callers[h.callPair]--; t.callers[h.callPair] == 0 {
		delete(t.callers, h.callPair)
	}
}

// gone takes a subscription that has ended off the table.
func (t *subscriptions) gone(s *subscription) {
	s.cancel()
	t.mu.Lock()
	s.over = true
	if t.of[s.server][s.subscribed] == s {
		if delete(t.of[s.server], s.subscribed); len(t.of[s.server]) == 0 {
			delete(t.of, s.server)
		}
	}
	t.mu.Unlock()
	close(s.ended)
}

// close ends all; those who wait for one get its error.
func (t *subscriptions) close() {
	t.mu.Lock()
	t.closed = true
	for _, of := range t.of {
		for _, s := range of {
			s.cancel()
		}
	}
	t.mu.Unlock()
	t.running.Wait()
}

// hear wakes the subscriptions of a server that is ready.
func (t *subscriptions) hear(e Event) {
	if e.Kind != ServerReady {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.of[e.Server] {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// updated takes an update that names a resource and no subscription, as legacy servers send it.
func (t *subscriptions) updated(m Message) {
	uri, _ := protocol.LookupString(m.Params, "uri")
	t.mu.Lock()
	var of []*subscription
	for _, whole := range wholes(uri) {
		for _, own := range []bool{false, true} {
			to := subscribed{own: own, uri: whole}
			if own {
				to.caller = m.Caller
			}
			if s := t.of[m.Server][to]; s != nil {
				of = append(of, s)
			}
		}
	}
	t.mu.Unlock()
	for _, s := range of {
		s.updated(m)
	}
}

// wholes is a URI, and those of what it may be a part of (2025-11-25, server/resources: "This might
// be a sub-resource of the one that the client actually subscribed to").
func wholes(uri string) []string {
	all := []string{uri}
	for i := len(uri) - 1; i > 0 && len(all) < maxWholes; i-- {
		switch uri[i] {
		case '/':
			if i+1 < len(uri) {
				all = append(all, uri[:i+1])
			}
			fallthrough
		case '?', '#':
			all = append(all, uri[:i])
		}
	}
	return all
}

// missed says of all resources of a server that they may have changed unheard: those on the connection of one
// principal, or on the one of all, where that is nil.
func (t *subscriptions) missed(server string, whose *toolbox.Principal) {
	t.mu.Lock()
	var of []*subscription
	for _, s := range t.of[server] {
		if !s.own && whose == nil || s.own && whose != nil && s.caller == *whose {
			of = append(of, s)
		}
	}
	t.mu.Unlock()
	for _, s := range of {
		s.updated(s.plain())
	}
}

// plain is an update that says nothing but which resource.
func (s *subscription) plain() Message {
	b := append([]byte(`{"uri":`), wire.Quote(s.uri)...)
	return Message{Method: protocol.NoteResourceUpdated, Params: append(b, '}'), Server: s.server}
}

// updated gives an update to all who hold the subscription.
func (s *subscription) updated(m Message) {
	if len(m.Params) > maxUpdate {
		m = s.plain()
	}
	t := &s.fleet.subscriptions
	t.mu.Lock()
	holders := make([]*subscriber, 0, len(s.holders))
	for h := range s.holders {
		holders = append(holders, h)
	}
	t.mu.Unlock()
	for _, h := range holders {
		h.updated(m)
	}
}

// keep subscribes, and again whenever that was lost, until nobody holds the subscription.
func (s *subscription) keep() {
	defer s.fleet.subscriptions.gone(s)
	if s.earlier != nil {
		<-s.earlier
	}
	agreed := s.moved
	pause := newBackoff(Restart{First: listenRetry, Max: maxListenRetry})
	for {
		err := s.hold(func() {
			pause.reset()
			if agreed {
				s.updated(s.plain())
				return
			}
			agreed = true
			close(s.answered)
		})
		if errors.Is(err, errMoved) {
			s.fleet.subscriptions.move(s)
			if !agreed { // who waits for it waits for nothing: it is lost like any other, and made again
				close(s.answered)
			}
			return
		}
		if !agreed {
			s.err = err
			close(s.answered)
			return
		}
		if s.ctx.Err() != nil {
			return
		}
		s.fleet.opts.Logger.Debug("a subscription was lost, and is made again", "server", s.server, "caller", s.caller, "uri", protocol.Printable(s.uri, 200), "err", err)
		select {
		case <-s.wake:
		case <-time.After(pause.next()):
		case <-s.ctx.Done():
		}
	}
}

// errMoved is why a subscription ends that is on the connection of all, and should be on its principals', or the other way round.
var errMoved = errors.New("the principals of the server share a connection no more, or do now")

// hold subscribes on the server's connection of now, and returns when that is lost, or nobody
// holds the subscription any more. agreed is called when the server has agreed.
func (s *subscription) hold(agreed func()) error {
	m := findMember(s.fleet.all(), s.server)
	if m == nil {
		return NewFault(NotConnected, s.server, "no such server", nil)
	}
	if m.isPerPrincipal() != s.own {
		return errMoved
	}
	e, err := m.connected(s.ctx, "")
	if err != nil {
		return err
	}
	begun := sync.OnceFunc(e.end)
	defer begun()
	if s.own {
		var leave func()
		if e, leave, err = m.ownLane(WithClient(s.ctx, s.client), e, Message{Caller: s.caller}); err != nil {
			return err
		}
		defer leave()
	}
	if !protocol.Declares(e.Capabilities(), "resources", "subscribe") {
		return e.newFault(Protocol, protocol.MethodSubscribe, &RPCError{Code: CodeMethodNotFound, Message: "the server has no subscriptions to resources"})
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)() // it has been replaced, or taken out
	established := func() { begun(); agreed() }
	if e.Era() == Modern {
		return s.listen(ctx, e, established)
	}
	return s.subscribe(ctx, e, established)
}

// subscribe is hold on a legacy connection.
func (s *subscription) subscribe(ctx context.Context, e *Endpoint, agreed func()) error {
	params := s.plain().Params
	t := &s.fleet.subscriptions
	t.mu.Lock()
	callers := slices.Collect(maps.Keys(s.callers))
	t.mu.Unlock()
	for _, caller := range callers {
		e.talks.uses(caller)
	}
	if _, err := e.Do(ctx, Message{Method: protocol.MethodSubscribe, Params: params}); err != nil {
		return err
	}
	agreed()
	select {
	case <-e.Done():
		return errors.New("the connection was lost")
	case <-ctx.Done():
	}
	if s.ctx.Err() != nil && e.Phase().Usable() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unsubscribeWait)
		defer cancel()
		if _, err := e.Do(ctx, Message{Method: protocol.MethodUnsubscribe, Params: params}); err != nil {
			s.fleet.opts.Logger.Debug("not unsubscribed", "server", s.server, "caller", s.caller, "uri", protocol.Printable(s.uri, 200), "err", err)
		}
	}
	return ctx.Err()
}

// listen is hold on a modern connection: a subscription of its own, because a server may
// refuse one resource, and go-sdk 1.8.0 over stdio ends what two subscriptions have in common
// with the first.
func (s *subscription) listen(ctx context.Context, e *Endpoint, agreed func()) error {
	c, _, err := e.ready()
	if err != nil {
		return err
	}
	b := append([]byte(`{"notifications":{"resourceSubscriptions":[`), wire.Quote(s.uri)...)
	params, err := hopParams(append(b, "]}}"...), e.modern, 0)
	if err != nil {
		return e.newFault(Protocol, protocol.MethodListen, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	acknowledged := false
	defer e.unlistened()
	late := time.AfterFunc(subscribeWait, func() { cancel(&conn.DeadlineError{After: subscribeWait, What: "no acknowledgement"}) })
	defer late.Stop()
	_, err = c.Call(ctx, conn.Request{Method: protocol.MethodListen, Params: params, Receive: func(ctx context.Context, from conn.Message) (json.RawMessage, error) {
		switch {
		case from.Method == protocol.NoteAcknowledged && !acknowledged:
			acknowledged = true
			late.Stop()
			filter, _ := wire.Lookup(from.Params, "notifications")
			if uris, _ := wire.Lookup(filter, "resourceSubscriptions"); len(uris) <= len("[]") {
				cancel(&RPCError{Code: CodeInvalidParams, Message: "the server reports no updates of this resource"})
				return nil, nil
			}
			agreed()
		case from.Method == protocol.NoteResourceUpdated:
			if m := e.receivedFrom(from); e.discreet(&m) {
				uri, _ := protocol.LookupString(m.Params, "uri")
				if !slices.Contains(wholes(uri), s.uri) { // nobody asked for that one
					m = s.plain()
				}
				s.updated(m)
			}
		default:
			return e.received(ctx, from)
		}
		return nil, nil
	}})
	var refused *RPCError
	switch {
	case errors.As(context.Cause(ctx), &refused):
		err = refused
	case err == nil && !acknowledged:
		err = errors.New("the subscription ended before it was acknowledged")
	case err == nil:
		err = errors.New("the server ended the subscription")
	}
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if silent, ok := errors.AsType[*conn.DeadlineError](context.Cause(ctx)); ok { // it is asked again, and no request counts as under way
		return e.newFault(Timeout, protocol.MethodListen, silent)
	}
	return e.newFault(Protocol, protocol.MethodListen, err)
}
