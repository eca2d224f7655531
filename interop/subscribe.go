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
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/payload"
	"github.com/indusagi/indus/toolbox"
)

const (
	// maxSubscriptions bounds the subscribed resources of one server, because each is a stream of its own at a modern
	// server over HTTP. maxCallerSubscriptions bounds the share of one caller.
	maxSubscriptions       = 4000
	maxCallerSubscriptions = 1000
	// maxUpdate bounds the params of an update, in bytes. Of a longer update only the URI is passed on.
	maxUpdate = 64 << 10
	// maxContaining bounds the number of resources that can contain another.
	maxContaining = 64
	// subscribeWait bounds each wait for the server's agreement.
	subscribeWait = 30 * time.Second
	// unsubscribeWait bounds resources/unsubscribe, for which no caller waits.
	unsubscribeWait = 5 * time.Second
)

// Subscribe reports updates of a server's resource until stop is called. The server has one subscription to it, for any
// number of callers. On a legacy connection this is resources/subscribe, on a modern one subscriptions/listen
// (2026-07-28, basic/patterns/subscriptions). It is made again on each new connection. Once it is restored, updated is
// called. Nothing is replayed, so the caller has to read the resource.
//
// updated receives notifications/resources/updated with the server's own URI, which may be a part of the resource
// (file:///d/x for file:///d). It is called from several goroutines, must not block, and must not call stop. A call
// that runs while stop is called may end later.
//
// ctx only bounds the wait for the server's agreement, which takes at most half a minute. If the server lacks the
// capability, the error is an [*RPCError] with [CodeMethodNotFound]. Other errors are the same as in [Fleet.Request].
func (f *Fleet) Subscribe(
	ctx context.Context, server, uri string, caller toolbox.Principal, updated func(Message),
) (stop func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m := findMember(f.currentMembers(), server); m != nil {
		m.state.Load().endpoint.active.Expect(caller, (*flightClient)(ClientOf(ctx)))
	}
	h := &subscriber{callPair: callPair{server, caller}, updated: updated, client: ClientOf(ctx)}
	s, err := f.subscriptions.join(f, h, uri)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.decided:
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

// Unsubscribe sends m to a server to end a resource subscription that the caller does not hold. If another caller holds
// it, or the server is modern, nothing is sent.
func (f *Fleet) Unsubscribe(ctx context.Context, server, uri string, m Message) error {
	e, err := f.Endpoint(server, m.Caller)
	if err != nil || e.Era() == Modern {
		return err
	}
	t := &f.subscriptions
	t.mu.Lock()
	held := false
	for key := range t.byServer[server] {
		held = held || key.uri == uri
	}
	t.mu.Unlock()
	if held {
		return nil
	}
	_, err = f.Request(ctx, server, m)
	return err
}

// subscriptions holds the subscriptions of a fleet, by server.
type subscriptions struct {
	running sync.WaitGroup

	mu           sync.Mutex
	byServer     map[string]map[subscriptionKey]*subscription
	callerCounts map[callPair]int // how many resources each pair holds
	closed       bool
}

// subscriptionKey identifies a subscription at one server.
type subscriptionKey struct {
	perPrincipal bool              // on the connection of caller, see [config.PerPrincipal]
	caller       toolbox.Principal // empty if the subscription serves all principals
	uri          string
}

// callPair is a principal at a server.
type callPair struct {
	server string
	caller toolbox.Principal
}

// subscription is the subscription to one of a server's resources. Its own goroutine renews it.
type subscription struct {
	fleet  *Fleet
	server string
	subscriptionKey
	client      *Client         // the client of the first holder
	moved       bool            // its holders came from another subscription
	ctx         context.Context // ends when there are no more holders
	cancel      context.CancelFunc
	predecessor <-chan struct{} // closed when an earlier subscription of the resource has ended; nil if there is none
	decided     chan struct{}   // closed when the server has agreed for the first time, or refuses
	err         error           // the reason of a refusal; set before decided is closed
	wake        chan struct{}   // receives a value when the server is ready
	ended       chan struct{}   // closed when no part of it runs

	// The fields below are guarded by subscriptions.mu.
	holders map[*subscriber]bool
	callers map[toolbox.Principal]int // the callers of the holders, with their numbers of holders
	closing bool                      // it accepts no more holders
}

// subscriber is one holder of a subscription.
type subscriber struct {
	callPair
	updated      func(Message)
	client       *Client       // its client; nil if there is none that could be asked
	subscription *subscription // guarded by subscriptions.mu; nil after it was removed
}

// join makes h a holder of a subscription. The first holder starts the subscription.
func (t *subscriptions) join(f *Fleet, h *subscriber, uri string) (*subscription, error) {
	to := subscriptionKey{uri: uri}
	if m := findMember(f.currentMembers(), h.server); m != nil && m.isPerPrincipal() {
		to.perPrincipal, to.caller = true, h.caller
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.joinLocked(f, h, to, false)
}

// joinLocked is join with mu held.
func (t *subscriptions) joinLocked(f *Fleet, h *subscriber, to subscriptionKey, moved bool) (*subscription, error) {
	server := h.server
	if t.closed {
		return nil, NewFault(NotConnected, server, "the fleet is closed", nil)
	}
	s := t.byServer[server][to]
	if s != nil && s.closing {
		s = &subscription{predecessor: s.ended}
	}
	switch {
	case (s == nil || s.callers[h.caller] == 0) && t.callerCounts[h.callPair] >= maxCallerSubscriptions:
		return nil, tooManySubscriptions(server, "this caller holds %d", maxCallerSubscriptions)
	case s == nil && len(t.byServer[server]) >= maxSubscriptions:
		return nil, tooManySubscriptions(server, "there are %d", maxSubscriptions)
	case s == nil:
		s = &subscription{}
	}
	if s.fleet == nil {
		s.fleet, s.server, s.subscriptionKey = f, server, to
		s.client, s.moved = h.client, moved
		s.ctx, s.cancel = context.WithCancel(context.Background())
		s.decided, s.ended = make(chan struct{}), make(chan struct{})
		s.wake = make(chan struct{}, 1)
		s.holders = map[*subscriber]bool{}
		s.callers = map[toolbox.Principal]int{}
		if t.byServer[server] == nil {
			t.byServer[server] = map[subscriptionKey]*subscription{}
		}
		t.byServer[server][to] = s
		if moved {
			close(s.decided)
		}
		t.running.Go(s.run)
	}
	if s.callers[h.caller] == 0 {
		t.callerCounts[h.callPair]++
	}
	s.holders[h] = true
	s.callers[h.caller]++
	h.subscription = s
	return s, nil
}

// move gives the holders of a subscription another one, because the principals of its server no longer share a
// connection, or now do.
func (t *subscriptions) move(s *subscription) {
	t.mu.Lock()
	s.closing = true
	var moved []*subscriber
	for h := range s.holders {
		t.removeHolder(h)
		to := subscriptionKey{uri: s.uri}
		if !s.perPrincipal {
			to.perPrincipal, to.caller = true, h.caller
		}
		if _, err := t.joinLocked(s.fleet, h, to, true); err != nil {
			s.fleet.opts.Logger.Warn("a subscription is lost", "server", s.server, "caller", h.caller, "err", err)
		}
		moved = append(moved, h)
	}
	t.mu.Unlock()
	for _, h := range moved {
		h.updated(s.uriUpdate())
	}
}

func tooManySubscriptions(server, format string, args ...any) error {
	return NewFault(Protocol, server, protocol.MethodSubscribe, &RPCError{
		Code: CodeInternal, Message: "too many subscriptions: " + fmt.Sprintf(format, args...) + " of this server",
	})
}

// leave removes h. With the last holder the subscription ends.
func (t *subscriptions) leave(h *subscriber) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := h.subscription; s != nil {
		t.removeHolder(h)
		if len(s.holders) == 0 {
			s.closing = true
			s.cancel()
		}
	}
}

// removeHolder ends the hold of h. Call it with mu held.
func (t *subscriptions) removeHolder(h *subscriber) {
	s := h.subscription
	delete(s.holders, h)
	h.subscription = nil
	s.callers[h.caller]--
	if s.callers[h.caller] > 0 {
		return
	}
	delete(s.callers, h.caller)
	t.callerCounts[h.callPair]--
	if t.callerCounts[h.callPair] == 0 {
		delete(t.callerCounts, h.callPair)
	}
}

// removeEnded removes an ended subscription from the table.
func (t *subscriptions) removeEnded(s *subscription) {
	s.cancel()
	t.mu.Lock()
	s.closing = true
	if t.byServer[s.server][s.subscriptionKey] == s {
		delete(t.byServer[s.server], s.subscriptionKey)
		if len(t.byServer[s.server]) == 0 {
			delete(t.byServer, s.server)
		}
	}
	t.mu.Unlock()
	close(s.ended)
}

// close ends all subscriptions. Callers that wait for one receive its error.
func (t *subscriptions) close() {
	t.mu.Lock()
	t.closed = true
	for _, group := range t.byServer {
		for _, s := range group {
			s.cancel()
		}
	}
	t.mu.Unlock()
	t.running.Wait()
}

// wakeServer wakes the subscriptions of a server that is ready.
func (t *subscriptions) wakeServer(server string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.byServer[server] {
		watch.Signal(s.wake)
	}
}

// dispatch handles an update that names a resource and no subscription, as legacy servers send it.
func (t *subscriptions) dispatch(m Message) {
	uri, _ := protocol.LookupString(m.Params, "uri")
	t.mu.Lock()
	var found []*subscription
	for _, candidate := range containingURIs(uri) {
		for _, to := range []subscriptionKey{{uri: candidate}, {perPrincipal: true, caller: m.Caller, uri: candidate}} {
			if s := t.byServer[m.Server][to]; s != nil {
				found = append(found, s)
			}
		}
	}
	t.mu.Unlock()
	for _, s := range found {
		s.notifyHolders(m)
	}
}

// containingURIs returns a URI and the URIs of the resources that may contain it (2025-11-25, server/resources: "This
// might be a sub-resource of the one that the client actually subscribed to").
func containingURIs(uri string) []string {
	all := []string{uri}
	for i := len(uri) - 1; i > 0 && len(all) < maxContaining; i-- {
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

// reportGap reports for all resources of a server that an update may have been lost. It covers the resources on the
// connection of one principal, or on the shared connection if that principal is nil.
func (t *subscriptions) reportGap(server string, principal *toolbox.Principal) {
	t.mu.Lock()
	var affected []*subscription
	for _, s := range t.byServer[server] {
		if !s.perPrincipal && principal == nil || s.perPrincipal && principal != nil && s.caller == *principal {
			affected = append(affected, s)
		}
	}
	t.mu.Unlock()
	for _, s := range affected {
		s.notifyHolders(s.uriUpdate())
	}
}

// uriUpdate returns an update that contains only the URI of the resource.
func (s *subscription) uriUpdate() Message {
	b := append([]byte(`{"uri":`), wire.Quote(s.uri)...)
	return Message{Method: protocol.NoteResourceUpdated, Params: append(b, '}'), Server: s.server}
}

// notifyHolders passes an update to all holders of the subscription.
func (s *subscription) notifyHolders(m Message) {
	if len(m.Params) > maxUpdate {
		m = s.uriUpdate()
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

// run subscribes, and subscribes again after each loss, until there are no more holders.
func (s *subscription) run() {
	defer s.fleet.subscriptions.removeEnded(s)
	if s.predecessor != nil {
		<-s.predecessor
	}
	established := s.moved
	pause := newBackoff(Restart{First: listenRetry, Max: maxListenRetry})
	for {
		err := s.serve(func() {
			pause.reset()
			if established {
				s.notifyHolders(s.uriUpdate())
				return
			}
			established = true
			close(s.decided)
		})
		if errors.Is(err, errMoved) {
			s.fleet.subscriptions.move(s)
			if !established { // its callers need not wait: their subscription counts as lost and is made again
				close(s.decided)
			}
			return
		}
		if !established {
			s.err = err
			close(s.decided)
			return
		}
		if s.ctx.Err() != nil {
			return
		}
		s.fleet.opts.Logger.Debug("a subscription was lost, and is made again",
			"server", s.server, "caller", s.caller, "uri", protocol.Printable(s.uri, 200), "err", err)
		select {
		case <-s.wake:
		case <-time.After(pause.next()):
		case <-s.ctx.Done():
		}
	}
}

// errMoved is returned if a subscription is on the shared connection and should be on the principals' connections, or
// the reverse.
var errMoved = errors.New("the principals of the server share a connection no more, or do now")

// serve subscribes on the server's current connection. It returns when that connection is lost, or when there are no
// more holders. onAgreed is called when the server has agreed.
func (s *subscription) serve(onAgreed func()) error {
	m, err := s.fleet.find(s.server)
	if err != nil {
		return err
	}
	if m.isPerPrincipal() != s.perPrincipal {
		return errMoved
	}
	e, err := m.awaitEndpoint(s.ctx, "")
	if err != nil {
		return err
	}
	endCall := sync.OnceFunc(e.endCall)
	defer endCall()
	if s.perPrincipal {
		var leave func()
		if e, leave, err = m.laneWithoutQuestions(WithClient(s.ctx, s.client), e, Message{Caller: s.caller}); err != nil {
			return err
		}
		defer leave()
	}
	if !protocol.Declares(e.Capabilities(), "resources", "subscribe") {
		cause := &RPCError{Code: CodeMethodNotFound, Message: "the server has no subscriptions to resources"}
		return e.newFault(Protocol, protocol.MethodSubscribe, cause)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)() // it was replaced or removed
	onEstablished := func() { endCall(); onAgreed() }
	if e.Era() == Modern {
		return s.listen(ctx, e, onEstablished)
	}
	return s.subscribe(ctx, e, onEstablished)
}

// subscribe is serve on a legacy connection.
func (s *subscription) subscribe(ctx context.Context, e *Endpoint, onAgreed func()) error {
	params := s.uriUpdate().Params
	t := &s.fleet.subscriptions
	t.mu.Lock()
	callers := slices.Collect(maps.Keys(s.callers))
	t.mu.Unlock()
	for _, caller := range callers {
		e.active.AddCaller(caller)
	}
	if _, err := e.Do(ctx, Message{Method: protocol.MethodSubscribe, Params: params}); err != nil {
		return err
	}
	onAgreed()
	select {
	case <-e.Done():
		return errors.New("the connection was lost")
	case <-ctx.Done():
	}
	if s.ctx.Err() != nil && e.Phase().Usable() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unsubscribeWait)
		defer cancel()
		if _, err := e.Do(ctx, Message{Method: protocol.MethodUnsubscribe, Params: params}); err != nil {
			s.fleet.opts.Logger.Debug("not unsubscribed",
				"server", s.server, "caller", s.caller, "uri", protocol.Printable(s.uri, 200), "err", err)
		}
	}
	return ctx.Err()
}

// listen is serve on a modern connection. Each resource has its own subscription, because a server may refuse one
// resource. Also, go-sdk 1.8.0 over stdio ends the common part of two subscriptions together with the first.
func (s *subscription) listen(ctx context.Context, e *Endpoint, onAgreed func()) error {
	c, _, err := e.readyConn()
	if err != nil {
		return err
	}
	b := append([]byte(`{"notifications":{"resourceSubscriptions":[`), wire.Quote(s.uri)...)
	params, err := payload.ServerParams(append(b, "]}}"...), e.modernMeta, 0)
	if err != nil {
		return e.newFault(Protocol, protocol.MethodListen, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	acknowledged := false
	defer e.listenEnded()
	late := time.AfterFunc(subscribeWait, func() {
		cancel(&conn.DeadlineError{After: subscribeWait, What: "no acknowledgement"})
	})
	defer late.Stop()
	receive := func(ctx context.Context, from conn.Message) (json.RawMessage, error) {
		switch {
		case from.Method == protocol.NoteAcknowledged && !acknowledged:
			acknowledged = true
			late.Stop()
			filter, _ := wire.Lookup(from.Params, "notifications")
			if uris, _ := wire.Lookup(filter, "resourceSubscriptions"); len(uris) <= len("[]") {
				cancel(&RPCError{Code: CodeInvalidParams, Message: "the server reports no updates of this resource"})
				return nil, nil
			}
			onAgreed()
		case from.Method == protocol.NoteResourceUpdated:
			if m := e.messageFrom(from); e.maskParams(&m) {
				uri, _ := protocol.LookupString(m.Params, "uri")
				if !slices.Contains(containingURIs(uri), s.uri) { // no holder subscribed to that resource
					m = s.uriUpdate()
				}
				s.notifyHolders(m)
			}
		default:
			return e.handleIncoming(ctx, from)
		}
		return nil, nil
	}
	_, err = c.Call(ctx, conn.Request{Method: protocol.MethodListen, Params: params, Receive: receive})
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
	// The subscription is tried again, and no request counts as in flight.
	if silent, ok := errors.AsType[*conn.DeadlineError](context.Cause(ctx)); ok {
		return e.newFault(Timeout, protocol.MethodListen, silent)
	}
	return e.newFault(Protocol, protocol.MethodListen, err)
}
