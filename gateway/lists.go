package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

const (
	maxListPages = 1000
	listWait     = 3 * time.Second // if host.Options.ListWait is 0
	// listPatience is how long a client waits for a newer list if an older one is cached. It also bounds the wait for a
	// list that could not be read the last time.
	listPatience = 2 * time.Second
	// listRetry is the time after a failure in which a list is not requested again. It doubles with each failure up to
	// listRetry << maxRetryShift, 5 min 20 s. Without it, each request would wait for a server that hangs.
	listRetry     = 5 * time.Second
	maxRetryShift = 6
	// maxLimitedLists bounds the number of lists of single callers and of kinds of clients, and maxLimitedBytes their
	// total size. Above a limit, the lists of the principal that has most are evicted.
	maxLimitedLists = 1024
	maxLimitedBytes = 64 << 20
)

// listing is the list of one server, as the server wrote it. It is immutable.
type listing struct {
	endpoint *interop.Endpoint // the endpoint that sent the list
	rows     []json.RawMessage
	ttl      time.Duration     // 0: the server gave none
	private  bool              // only for the caller of the request
	caller   toolbox.Principal // that caller; "": the list is for several callers
	size     int               // bytes of the replies that it was read from
	readAt   time.Time
}

// serverLists caches the lists of the servers. Lists of tools are cached by the fleet instead.
type serverLists struct {
	gateway *Gateway

	mu           sync.Mutex
	lists        map[listKey]*cachedListing
	limitedLists int // number of lists of single callers and of kinds of clients
	limitedBytes int // size of these lists
}

func newServerLists(g *Gateway) *serverLists {
	return &serverLists{gateway: g, lists: map[listKey]*cachedListing{}}
}

type listKey struct {
	server, method string
	declared       interop.Declared // capabilities of the clients, if they may get another list; zero: all clients
	caller         toolbox.Principal
	private        bool // the list is for this caller only
}

// isLimited reports whether the list is for one caller or one kind of client. The number of these has no natural bound.
func (k listKey) isLimited() bool { return k.private || k.declared != interop.Declared{} }

// cachedListing holds the cached list and the state of its refresh.
type cachedListing struct {
	last          *listing // nil before the first
	private       bool     // each caller has its own list
	changes       int      // how often the server reported a change
	changesAtRead int      // the value of changes when last was requested
	reading       chan struct{}
	retry         time.Time // no request is sent before this time
	failed        int       // failures since the last success
}

// cached returns the cached list, or nil if there is none, and whether the server was asked, with or without success.
func (s *serverLists) cached(server string, row *methods.Row, requester listRequester) (last *listing, asked bool) {
	d := s.gateway.declaredTo(server, requester)
	s.gateway.storedDescription(server)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, k := s.find(server, row, d, requester.caller)
	asked = k.last != nil || k.failed > 0
	if k.last == nil {
		_, k = s.find(server, row, interop.Declared{}, requester.caller)
	}
	return k.last, asked
}

// declaredTo returns the capabilities of a client if the server may list something else for them, and zero otherwise.
func (g *Gateway) declaredTo(server string, requester listRequester) interop.Declared {
	if d := requester.kind.declared; g.attached.Fleet.Differs(server, d) {
		return d
	}
	return interop.Declared{}
}

// find returns the list that a caller sees. The caller of find holds mu.
func (s *serverLists) find(
	server string, row *methods.Row, d interop.Declared, caller toolbox.Principal,
) (listKey, *cachedListing) {
	key := listKey{server: server, method: row.Name, declared: d}
	k := s.entry(key)
	if k.private {
		key.caller, key.private = caller, true
		k = s.entry(key)
	}
	return key, k
}

func (s *serverLists) entry(key listKey) *cachedListing {
	k := s.lists[key]
	if k == nil {
		if key.isLimited() {
			s.limitedLists++
			if s.limitedLists > maxLimitedLists {
				s.evictLargest(key)
			}
		}
		k = &cachedListing{}
		s.lists[key] = k
	}
	return k
}

// evictLargest makes room for the list added: it evicts the lists of the principal that has most. The caller holds mu.
func (s *serverLists) evictLargest(added listKey) {
	counts := map[toolbox.Principal]int{}
	largest := added.caller
	for key, k := range s.lists {
		if key.isLimited() && key != added {
			counts[key.caller] += 1 + k.last.length()
			if counts[key.caller] > counts[largest] {
				largest = key.caller
			}
		}
	}
	s.evict(func(key listKey) bool { return key.isLimited() && key != added && key.caller == largest })
}

// evict removes the selected lists. The caller holds mu.
func (s *serverLists) evict(selected func(listKey) bool) {
	for key, k := range s.lists {
		if !selected(key) {
			continue
		}
		delete(s.lists, key)
		if key.isLimited() {
			s.limitedLists--
			s.limitedBytes -= k.last.length()
		}
	}
}

// length returns the size of a listing in bytes, or 0 if there is none.
func (l *listing) length() int {
	if l == nil {
		return 0
	}
	return l.size
}

// isValid reports whether the cached list is valid: its ttl is not over, or the server would have announced a change.
func (k *cachedListing) isValid(row *methods.Row, e *interop.Endpoint) bool {
	l := k.last
	if l == nil || l.endpoint != e || k.changesAtRead != k.changes {
		return false
	}
	if l.ttl > 0 {
		return time.Since(l.readAt) < l.ttl
	}
	return row.Announced && protocol.Declares(e.Capabilities(), row.Needs[0], "listChanged")
}

// get returns the list of a server for a caller. It returns the cached list if that is valid. Otherwise it asks the
// server and returns the new list, if it arrives in time. It returns nil if no list is known.
func (s *serverLists) get(ctx context.Context, server string, row *methods.Row, requester listRequester) *listing {
	e, err := s.gateway.attached.Fleet.Endpoint(server, requester.caller)
	if err != nil {
		return nil
	}
	s.gateway.storedDescription(server)
	if s.awaitServer(ctx, server, row, requester) {
		e, err = s.gateway.attached.Fleet.Endpoint(server, requester.caller)
		if err != nil {
			return nil
		}
	}
	idle := s.gateway.attached.Fleet.Idle(server) && s.gateway.mayDeclare(server, row.Needs)
	d := s.gateway.declaredTo(server, requester)
	for range 3 { // a list may change, or turn out to be private, while it is read
		s.mu.Lock()
		key, k := s.find(server, row, d, requester.caller)
		if idle && k.last == nil { // an idle server is not started for the list of one kind of client
			d = interop.Declared{}
			key, k = s.find(server, row, d, requester.caller)
		}
		if !key.private && isPerPrincipal(e) {
			k.last, k.private = nil, true
			key, k = s.find(server, row, d, requester.caller)
		}
		has := k.last != nil || k.failed > 0
		stale := e.Phase().Usable() && protocol.Has(e.Capabilities(), row.Needs) && !k.isValid(row, e)
		if !stale && (!idle || has) || time.Now().Before(k.retry) {
			defer s.mu.Unlock()
			return k.last
		}
		if k.reading == nil {
			refreshCtx := s.gateway.ctx
			if c := interop.ClientOf(ctx); c != nil && c.Back != nil {
				refreshCtx = interop.WithClient(refreshCtx, c.Listing())
			}
			s.startRefresh(refreshCtx, server, row, key, k)
			if key.declared != (interop.Declared{}) && !isPerPrincipal(e) {
				s.startCommonRefresh(server, row)
			}
		}
		reading, requested := k.reading, k.changes
		s.mu.Unlock()
		ended := s.gateway.opts.Control.Telemetry.Wait(ctx)
		answered := s.awaitRefresh(ctx, reading, has)
		ended()
		if !answered {
			break
		}
		s.mu.Lock()
		_, now := s.find(server, row, d, requester.caller)
		done := now == k && k.changes == requested
		s.mu.Unlock()
		if done {
			break
		}
	}
	last, _ := s.cached(server, row, requester)
	return last
}

// awaitServer waits for a server that has not answered yet, if no list of it is known. Like the first tools/list on
// stdio, it waits at most until the gateway is ListWait old. It reports whether it waited.
func (s *serverLists) awaitServer(ctx context.Context, server string, row *methods.Row, requester listRequester) bool {
	g := s.gateway
	left := time.Until(g.startedAt.Add(protocol.Duration(g.opts.Host.ListWait, listWait)))
	if left <= 0 || !g.isPending(server) || !g.mayDeclare(server, row.Needs) {
		return false
	}
	if last, _ := s.cached(server, row, requester); last != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	g.awaitAnswer(ctx, server)
	return true
}

// startRefresh starts to read a list. The caller holds mu.
func (s *serverLists) startRefresh(
	ctx context.Context, server string, row *methods.Row, key listKey, k *cachedListing,
) {
	k.reading = make(chan struct{})
	s.gateway.running.Go(func() {
		began := time.Now()
		if !s.refresh(ctx, server, row, key, k) {
			return
		}
		if !key.isLimited() {
			s.gateway.recordDescription(server, maxDescribed)
		}
		if time.Since(began) >= listPatience { // meanwhile clients got an older list
			s.gateway.notifyClients(server, row.Needs[0])
		}
	})
}

// readMissing reads the lists of a ready server that the ledger does not have, so that the next start has them.
func (s *serverLists) readMissing(server string) {
	e, err := s.gateway.attached.Fleet.Endpoint(server, "")
	if o := s.gateway.opts.Ledger; err != nil || isPerPrincipal(e) || o == nil || o.Log == nil && o.Open == nil {
		return
	}
	for _, row := range s.gateway.table {
		if row.Handler == methods.FromAll && protocol.Has(e.Capabilities(), row.Needs) {
			s.mu.Lock()
			s.startCommonRefresh(server, row)
			s.mu.Unlock()
		}
	}
}

// startCommonRefresh starts to read the list that all clients see, unless it is known. The ledger needs it once, even
// if only special lists are requested. The caller holds mu.
func (s *serverLists) startCommonRefresh(server string, row *methods.Row) {
	key := listKey{server: server, method: row.Name}
	if k := s.entry(key); k.last == nil && !k.private && k.failed == 0 && k.reading == nil {
		s.startRefresh(s.gateway.ctx, server, row, key, k)
	}
}

// awaitRefresh waits until a list is read. It returns false if that takes too long.
func (s *serverLists) awaitRefresh(ctx context.Context, asking <-chan struct{}, has bool) bool {
	var late <-chan time.Time
	if has {
		late = time.After(listPatience)
	}
	select {
	case <-asking:
		return true
	case <-late:
	case <-ctx.Done():
	}
	return false
}

// refresh reads a list from a server and caches it. A failure leaves the cached list in place. If ctx has a client, the
// list is for that client among others. refresh reports whether the list changed.
func (s *serverLists) refresh(
	ctx context.Context, server string, row *methods.Row, key listKey, k *cachedListing,
) (fresh bool) {
	s.mu.Lock()
	at := k.changes
	s.mu.Unlock()
	l, err := s.request(ctx, server, row, key)
	if err != nil {
		s.gateway.logOnce(key.server, key.caller, fmt.Sprintf("%s: %v", row.Name, err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(k.reading)
	k.reading = nil
	switch {
	case err != nil:
		k.retry = time.Now().Add(listRetry << min(k.failed, maxRetryShift))
		k.failed++
		return false
	case l == nil: // the server is now known to have no such list
	case l.private && !key.private:
		k.last, k.private = nil, true // the caller asks again for its own list
	case k.last != nil && l.same(k.last):
		k.changesAtRead, k.retry = at, time.Time{} // the merged lists that were made of it stay
	default:
		s.store(key, k, l)
		k.changesAtRead, k.retry, fresh = at, time.Time{}, true
	}
	k.failed = 0
	return fresh
}

// store stores a listing as the last one. The caller holds mu.
func (s *serverLists) store(key listKey, k *cachedListing, l *listing) {
	if key.isLimited() && s.lists[key] == k {
		s.limitedBytes += l.length() - k.last.length()
		if s.limitedBytes > maxLimitedBytes {
			s.evictLargest(key)
		}
	}
	k.last = l
}

// request reads a list from a server. It returns nil if the server does not declare the capability.
func (s *serverLists) request(ctx context.Context, server string, row *methods.Row, key listKey) (*listing, error) {
	e, done, err := s.gateway.attached.Fleet.Use(ctx, server)
	if err != nil {
		return nil, err
	}
	defer done()
	if !protocol.Has(e.Capabilities(), row.Needs) {
		return nil, nil
	}
	if wait := protocol.Duration(e.Server().Timeouts.List, protocol.DefaultList); wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	l, err := s.pages(ctx, e, row, key)
	if err == nil && isPerPrincipal(e) { // it came over the caller's own connection, which may be newer
		l.private = true
		if own, err := s.gateway.attached.Fleet.Endpoint(server, key.caller); err == nil {
			l.endpoint = own
		}
	}
	return l, err
}

// same reports whether two listings are equal and neither has a ttl.
func (l *listing) same(o *listing) bool {
	return l.endpoint == o.endpoint && l.ttl == 0 && o.ttl == 0 && l.private == o.private &&
		slices.EqualFunc(l.rows, o.rows, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// pages reads all pages of a list.
func (s *serverLists) pages(ctx context.Context, e *interop.Endpoint, row *methods.Row, key listKey) (*listing, error) {
	l := &listing{endpoint: e, readAt: time.Now(), ttl: protocol.MaxTTL, caller: key.caller}
	pages := protocol.Pages{Method: row.Name, Key: row.List, MaxPages: maxListPages, MaxBytes: interop.MaxMessage}
	ask := e.Do
	if key.declared != (interop.Declared{}) || isPerPrincipal(e) { // on the connection of the client or principal
		ask = func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
			return s.gateway.attached.Fleet.Request(ctx, e.Server().ID, m)
		}
	}
	rest, err := pages.Read(func(params json.RawMessage) (json.RawMessage, error) {
		raw, err := ask(ctx, interop.Message{Method: row.Name, Params: params, Caller: key.caller})
		l.size += len(raw)
		return raw, err
	}, l.add)
	if err != nil {
		return nil, err
	}
	if rest != "" {
		s.gateway.logOnce(e.Server().ID, key.caller, rest)
	}
	return l, nil
}

// isPerPrincipal reports whether each principal has its own connection to a server.
func isPerPrincipal(e *interop.Endpoint) bool { return e.Server().Pool.Per == interop.PerPrincipal }

// add appends a page.
func (l *listing) add(page []wire.Member, rows []json.RawMessage) {
	ttl, private := protocol.Caching(page)
	l.rows, l.ttl, l.private = append(l.rows, rows...), min(l.ttl, ttl), l.private || private
}

// invalidate invalidates the cached lists of a server for a feature, "prompts" or "resources". The server reported the
// change to the principal to. "" means all features, or all principals.
func (s *serverLists) invalidate(server, feature string, to toolbox.Principal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, k := range s.lists {
		if key.server != server || to != "" && key.caller != to {
			continue
		}
		if feature == "" || slices.Contains(s.gateway.table[key.method].Needs, feature) {
			k.changes++
			k.retry = time.Time{}
		}
	}
}

// retain removes the lists of servers that are gone.
func (s *serverLists) retain(has func(server string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict(func(key listKey) bool { return !has(key.server) })
}
