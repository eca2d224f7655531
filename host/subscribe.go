package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

const (
	// maxHeld bounds the resources that one session, or one subscriptions/listen, is
	// subscribed to; maxCallerHeld those of all sessions of a caller together.
	maxHeld       = 1000
	maxCallerHeld = 100_000
	// maxSubscribedURI bounds each one's URI, in bytes.
	maxSubscribedURI = 4 << 10
	// subscribeWait bounds how long the acknowledgement of subscriptions/listen waits for
	// its resources, of which subscribesAtOnce are subscribed to at a time.
	subscribeWait    = 10 * time.Second
	subscribesAtOnce = 16
)

// follow has the listener told of the tasks that it asks for, and is those of which it will be.
func (f *front) follow(ctx context.Context, r *frontRequest, ids []string, queue *noteQueue) (agreed []string, stop func(), err error) {
	b, ok := f.backend.(Follower)
	if !ok || len(ids) == 0 {
		return nil, func() {}, nil
	}
	return b.Follow(ctx, r.message(r.method, nil), ids, func(m interop.Message) { queue.offer(m) })
}

// subscribed answers resources/subscribe and resources/unsubscribe (2025-11-25,
// server/resources, "Subscriptions"). Both may be sent twice.
func (f *front) subscribed(ctx context.Context, r *frontRequest) frontAnswer {
	uri, ok := protocol.LookupString(r.params, "uri")
	if err := checkURI(uri); !ok || err != nil {
		return frontError(0, interop.CodeInvalidParams, "%s: no uri, or a bad one", r.method)
	}
	if r.method == protocol.MethodUnsubscribe {
		if held := r.session.held.remove(uri); held {
			return frontAnswer{result: [][]byte{[]byte(`{}`)}}
		}
		if err := f.unheld(ctx, r, uri); err != nil {
			return f.failure(ctx, r, err)
		}
	} else if err := r.session.held.add(ctx, r, uri); err != nil {
		if errors.Is(context.Cause(ctx), errCallDropped) {
			return frontAnswer{}
		}
		return f.failure(ctx, r, err)
	}
	return frontAnswer{result: [][]byte{[]byte(`{}`)}}
}

// unheld is what the backend answers to the end of a subscription that the session does not hold.
func (f *front) unheld(ctx context.Context, r *frontRequest, uri string) (err error) {
	b, ok := f.backend.(Unsubscriber)
	if !ok {
		return nil
	}
	defer f.withoutPanic(r, r.method, &err)
	return b.Unsubscribe(ctx, r.message(r.method, r.params), uri)
}

func checkURI(uri string) error {
	if uri == "" || len(uri) > maxSubscribedURI {
		return fmt.Errorf("a URI is empty, or of more than %d bytes", maxSubscribedURI)
	}
	return nil
}

// filterOf is what a filter has under a key, URIs or ids, each once.
func filterOf(filter json.RawMessage, key string) (names []string, err error) {
	raw, ok := wire.Lookup(filter, key)
	if !ok {
		return nil, nil
	}
	if json.Unmarshal(raw, &names) != nil {
		return nil, fmt.Errorf("%s is no array of strings", key)
	}
	if len(names) > maxHeld {
		return nil, fmt.Errorf("more than %d %s", maxHeld, key)
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

func appendStrings(b []byte, list []string) []byte {
	for i, s := range list {
		b = append(b, "[,"[min(i, 1)])
		b = wire.AppendQuote(b, s)
	}
	return append(b, ']')
}

// holding is what one session, or one subscriptions/listen, is subscribed to.
type holding struct {
	front *front
	queue *noteQueue

	mu   sync.Mutex
	held map[string]*share // by URI
	over bool
}

func newHolding(f *front, queue *noteQueue) *holding { return &holding{front: f, queue: queue} }

// add subscribes to a resource for the request that asks for it.
func (h *holding) add(ctx context.Context, r *frontRequest, uri string) error {
	for {
		s, mine, first, err := h.join(r.caller, uri)
		if err != nil {
			return err
		}
		if first {
			h.front.open(ctx, s, r)
		}
		select {
		case <-s.opened:
			err = s.err
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err == nil {
			return nil
		}
		if mine {
			h.remove(uri)
		}
		if !s.abandoned() || ctx.Err() != nil {
			return err
		}
	}
}

// join makes a resource one of those held. mine: it was none before; first: its share has yet
// to be opened.
func (h *holding) join(caller toolbox.Principal, uri string) (s *share, mine, first bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.held[uri]; s != nil {
		return s, false, false, nil
	}
	switch {
	case h.over:
		return nil, false, false, errSessionEnded
	case len(h.held) >= maxHeld:
		return nil, false, false, tooMany("this client is subscribed to %d resources already", maxHeld)
	}
	if s, first, err = h.front.shares.join(shareKey{caller, uri}, h.queue); err != nil {
		return nil, false, false, err
	}
	if h.held == nil {
		h.held = map[string]*share{}
	}
	h.held[s.uri] = s // whose string is there once
	return s, true, first, nil
}

func tooMany(format string, args ...any) error {
	return &interop.RPCError{Code: interop.CodeInternal, Message: "too many subscriptions: " + fmt.Sprintf(format, args...)}
}

// addAll subscribes to resources, and returns those that it could, in order.
func (h *holding) addAll(ctx context.Context, r *frontRequest, uris []string) []string {
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
		h.front.log.Debug("no subscription to a resource", "caller", r.caller, "uri", protocol.Printable(uri, 200), "err", failed[i])
	}
	return agreed
}

// remove ends the subscription to a resource, and reports whether it was held: no update of it is sent any more.
func (h *holding) remove(uri string) (held bool) {
	h.mu.Lock()
	s := h.held[uri]
	delete(h.held, uri)
	h.mu.Unlock()
	if s != nil {
		h.front.shares.leave(s, h.queue)
		h.queue.withdraw(uri)
	}
	return s != nil
}

// end ends all of them; there are no new ones.
func (h *holding) end() {
	h.mu.Lock()
	held := h.held
	h.held, h.over = nil, true
	h.mu.Unlock()
	for _, s := range held {
		h.front.shares.leave(s, h.queue)
	}
}

// shares is the backend's subscriptions: one for each caller and resource, however many of
// his sessions hold it.
type shares struct {
	mu    sync.Mutex
	byKey map[shareKey]*share
	holds map[toolbox.Principal]int
}

type shareKey struct {
	caller toolbox.Principal
	uri    string
}

// share is one subscription of the backend's.
type share struct {
	shareKey
	opened chan struct{} // closed when the backend has answered
	err    error         // its answer; set before opened is closed
	gone   error         // of the context of who asked; likewise

	// Guarded by shares.mu.
	ready bool // it was answered
	stop  func()

	mu     sync.Mutex // held while an update is delivered
	queues map[*noteQueue]bool
}

// join adds a queue to the share of a key. first: it is new, and open must follow.
func (t *shares) join(key shareKey, queue *noteQueue) (s *share, first bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holds[key.caller] >= maxCallerHeld {
		return nil, false, tooMany("the clients of this caller hold %d", maxCallerHeld)
	}
	t.holds[key.caller]++
	if s = t.byKey[key]; s == nil {
		s = &share{shareKey: key, opened: make(chan struct{}), queues: map[*noteQueue]bool{}}
		t.byKey[key] = s
		first = true
	}
	s.mu.Lock()
	s.queues[queue] = true
	s.mu.Unlock()
	return s, first, nil
}

// leave takes a queue out; with the last one the backend's subscription ends.
func (t *shares) leave(s *share, queue *noteQueue) {
	t.mu.Lock()
	if t.holds[s.caller]--; t.holds[s.caller] == 0 {
		delete(t.holds, s.caller)
	}
	s.mu.Lock()
	delete(s.queues, queue)
	s.mu.Unlock()
	stop := t.end(s)
	t.mu.Unlock()
	stop()
}

// end takes a share off the table where nobody holds it or it failed, and returns what ends
// the backend's subscription. Call it with mu held.
func (t *shares) end(s *share) (stop func()) {
	s.mu.Lock()
	wanted := len(s.queues) > 0 && s.err == nil
	s.mu.Unlock()
	if !s.ready || wanted {
		return func() {}
	}
	if t.byKey[s.shareKey] == s {
		delete(t.byKey, s.shareKey)
	}
	stop, s.stop = s.stop, func() {}
	return stop
}

// open asks the backend for the subscription of a share.
func (f *front) open(ctx context.Context, s *share, r *frontRequest) {
	stop, err := f.openShare(ctx, s, r)
	t := &f.shares
	t.mu.Lock()
	s.err, s.gone, s.ready, s.stop = err, ctx.Err(), true, stop
	if err != nil || stop == nil {
		s.stop = func() {}
	}
	stop = t.end(s)
	t.mu.Unlock()
	stop()
	close(s.opened)
}

func (f *front) openShare(ctx context.Context, s *share, r *frontRequest) (stop func(), err error) {
	defer f.withoutPanic(r, r.method, &err)
	return f.backend.(Subscriber).Subscribe(ctx, r.message(r.method, r.params), s.uri, s.updated)
}

// abandoned reports an opened share that failed because who asked for it went away.
func (s *share) abandoned() bool {
	select {
	case <-s.opened:
		return s.err != nil && s.gone != nil
	default:
		return false
	}
}

// updated gives an update to all who hold the share.
func (s *share) updated(m interop.Message) {
	c := change{interop.Message{Method: protocol.NoteResourceUpdated, Params: m.Params}, updatedURI(m)}
	s.mu.Lock()
	defer s.mu.Unlock()
	for queue := range s.queues {
		queue.putUpdate(s.uri, c)
	}
}
