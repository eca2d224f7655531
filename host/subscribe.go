package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

const (
	// maxSubscriptions bounds the resources to which one session, or one subscriptions/listen, is subscribed.
	// maxCallerSubscriptions bounds the subscriptions of all sessions of a caller together.
	maxSubscriptions       = 1000
	maxCallerSubscriptions = 100_000
	// maxSubscribedURI bounds each URI, in bytes.
	maxSubscribedURI = 4 << 10
	// subscribeWait bounds how long the acknowledgement of subscriptions/listen waits for its resources.
	// subscribesAtOnce bounds the resources that are subscribed to at the same time.
	subscribeWait    = 10 * time.Second
	subscribesAtOnce = 16
)

// follow sends the listener the states of the tasks that it names. agreed lists the tasks that the backend accepts.
func (f *front) follow(
	ctx context.Context, r *frontRequest, ids []string, queue *noteQueue,
) (agreed []string, stop func(), err error) {
	b, ok := f.backend.(Follower)
	if !ok || len(ids) == 0 {
		return nil, func() {}, nil
	}
	return b.Follow(ctx, r.message(r.method, nil), ids, func(m interop.Message) { queue.offer(m) })
}

// answerSubscribe answers resources/subscribe and resources/unsubscribe (2025-11-25, server/resources,
// "Subscriptions"). Both may be sent twice.
func (f *front) answerSubscribe(ctx context.Context, r *frontRequest) frontAnswer {
	uri, ok := protocol.LookupString(r.params, "uri")
	if err := checkURI(uri); !ok || err != nil {
		return frontError(0, interop.CodeInvalidParams, "%s: no uri, or a bad one", r.method)
	}
	if r.method == protocol.MethodUnsubscribe {
		if held := r.session.subscriptions.remove(uri); held {
			return resultOf(nil)
		}
		if err := f.forwardUnsubscribe(ctx, r, uri); err != nil {
			return f.failure(ctx, r, err)
		}
	} else if err := r.session.subscriptions.add(ctx, r, uri); err != nil {
		if errors.Is(context.Cause(ctx), errCallDropped) {
			return frontAnswer{}
		}
		return f.failure(ctx, r, err)
	}
	return resultOf(nil)
}

// forwardUnsubscribe returns the backend's reply to resources/unsubscribe for a subscription that the session does not
// hold.
func (f *front) forwardUnsubscribe(ctx context.Context, r *frontRequest, uri string) (err error) {
	b, ok := f.backend.(Unsubscriber)
	if !ok {
		return nil
	}
	defer f.recoverPanic(r, r.method, &err)
	return b.Unsubscribe(ctx, r.message(r.method, r.params), uri)
}

func checkURI(uri string) error {
	if uri == "" || len(uri) > maxSubscribedURI {
		return fmt.Errorf("a URI is empty, or of more than %d bytes", maxSubscribedURI)
	}
	return nil
}

// filterOf returns the URIs or ids that a filter has under a key, each once.
func filterOf(filter json.RawMessage, key string) (names []string, err error) {
	raw, ok := wire.Lookup(filter, key)
	if !ok {
		return nil, nil
	}
	if json.Unmarshal(raw, &names) != nil {
		return nil, fmt.Errorf("%s is no array of strings", key)
	}
	if len(names) > maxSubscriptions {
		return nil, fmt.Errorf("more than %d %s", maxSubscriptions, key)
	}
	seen := make(map[string]bool, len(names))
	once := names[:0]
	for _, name := range names {
		if err := checkURI(name); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if !seen[name] {
			seen[name] = true
			once = append(once, name)
		}
	}
	return once, nil
}

// subscriptionSet holds the subscriptions of one session, or of one subscriptions/listen.
type subscriptionSet struct {
	front *front
	queue *noteQueue

	mu    sync.Mutex
	byURI map[string]*subscription // by URI
	ended bool
}

// subscription is one subscription at the backend.
type subscription struct {
	caller   toolbox.Principal
	answered chan struct{} // closed when the backend has answered
	err      error         // the backend's answer; set before answered is closed
	ctxErr   error         // error of the requester's context; set before answered is closed
	stop     func()        // ends it; nil before the answer. guarded by subscriptionSet.mu
}

func newSubscriptionSet(f *front, queue *noteQueue) *subscriptionSet {
	return &subscriptionSet{front: f, queue: queue, byURI: map[string]*subscription{}}
}

// add subscribes to a resource for a request. If the resource is held already, the answer is the same as for the first
// request. If the first request disconnected before its answer, add subscribes again.
func (h *subscriptionSet) add(ctx context.Context, r *frontRequest, uri string) error {
	for {
		s, fresh, err := h.claim(r.caller, uri)
		switch {
		case err != nil:
			return err
		case fresh:
			return h.open(ctx, r, uri, s)
		}
		select {
		case <-s.answered:
			if s.ctxErr == nil || ctx.Err() != nil {
				return s.err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// claim returns the subscription to a resource. If fresh is true, the caller must open it.
func (h *subscriptionSet) claim(caller toolbox.Principal, uri string) (s *subscription, fresh bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s = h.byURI[uri]
	if s != nil {
		return s, false, nil
	}
	switch {
	case h.ended:
		return nil, false, errSessionEnded
	case len(h.byURI) >= maxSubscriptions:
		return nil, false, tooMany("this client is subscribed to %d resources already", maxSubscriptions)
	case !h.front.subscriptionCounts.Add(caller, 1, maxCallerSubscriptions, math.MaxInt):
		return nil, false, tooMany("the clients of this caller hold %d", maxCallerSubscriptions)
	}
	s = &subscription{caller: caller, answered: make(chan struct{})}
	h.byURI[uri] = s
	return s, true, nil
}

// open asks the backend for a subscription, which may have ended before the answer arrives.
func (h *subscriptionSet) open(ctx context.Context, r *frontRequest, uri string, s *subscription) error {
	stop, err := h.front.subscribeTo(ctx, r, uri, func(m interop.Message) { h.queueUpdate(s, uri, m) })
	if err != nil || stop == nil {
		stop = func() {}
	}
	h.mu.Lock()
	removed := h.byURI[uri] != s
	s.stop, s.err = stop, err
	if err != nil && !removed {
		s.ctxErr = ctx.Err()
		delete(h.byURI, uri)
		h.front.subscriptionCounts.Remove(s.caller, 1)
	}
	h.mu.Unlock()
	close(s.answered)
	if removed {
		stop()
	}
	return err
}

// queueUpdate sends an update to the client, unless the subscription has ended.
func (h *subscriptionSet) queueUpdate(s *subscription, uri string, m interop.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byURI[uri] == s {
		h.queue.putUpdate(uri, interop.Message{Method: protocol.NoteResourceUpdated, Params: m.Params})
	}
}

func tooMany(format string, args ...any) error {
	text := "too many subscriptions: " + fmt.Sprintf(format, args...)
	return &interop.RPCError{Code: interop.CodeInternal, Message: text}
}

// addAll subscribes to resources. It returns the URIs of the successful subscriptions, in order.
func (h *subscriptionSet) addAll(ctx context.Context, r *frontRequest, uris []string) []string {
	if _, ok := h.front.backend.(Subscriber); !ok || len(uris) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, subscribeWait)
	defer cancel()
	failed := make([]error, len(uris))
	slots := make(chan struct{}, subscribesAtOnce)
	var adding sync.WaitGroup
	for i, uri := range uris {
		slots <- struct{}{}
		adding.Go(func() {
			defer func() { <-slots }()
			failed[i] = h.add(ctx, r, uri)
		})
	}
	adding.Wait()
	agreed := make([]string, 0, len(uris))
	for i, uri := range uris {
		if failed[i] == nil {
			agreed = append(agreed, uri)
			continue
		}
		h.front.log.Debug("no subscription to a resource",
			"caller", r.caller, "uri", protocol.Printable(uri, 200), "err", failed[i])
	}
	return agreed
}

// remove ends the subscription to a resource, and reports whether it was held. After it, no update of the resource is
// sent.
func (h *subscriptionSet) remove(uri string) (held bool) {
	h.mu.Lock()
	s := h.byURI[uri]
	delete(h.byURI, uri)
	h.queue.withdraw(uri)
	h.mu.Unlock()
	if s != nil {
		h.release(s)
	}
	return s != nil
}

// release ends a subscription that was removed. If the backend has not answered yet, open ends it.
func (h *subscriptionSet) release(s *subscription) {
	h.front.subscriptionCounts.Remove(s.caller, 1)
	h.mu.Lock()
	stop := s.stop
	h.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// end ends all subscriptions and prevents new ones.
func (h *subscriptionSet) end() {
	h.mu.Lock()
	subscriptions := h.byURI
	h.byURI, h.ended = nil, true
	h.mu.Unlock()
	for _, s := range subscriptions {
		h.release(s)
	}
}

// subscribeTo asks the backend for a subscription.
func (f *front) subscribeTo(
	ctx context.Context, r *frontRequest, uri string, updated func(interop.Message),
) (stop func(), err error) {
	defer f.recoverPanic(r, r.method, &err)
	return f.backend.(Subscriber).Subscribe(ctx, r.message(r.method, r.params), uri, updated)
}
