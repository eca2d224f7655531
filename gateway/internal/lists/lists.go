// Package lists caches the lists of servers beside tools, and their descriptions, for the time when they do not run
// and, in the ledger, for the next run. It has no idea of views: a list has the server's own names.
//
// All methods of [Cache] may be called from any goroutine. A list that cannot be read is logged once, and the last one
// stays.
package lists

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

const (
	maxListPages = 1000
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

// Listing is the list of one server, as the server wrote it. It is immutable.
type Listing struct {
	endpoint *interop.Endpoint // the endpoint that sent the list
	Rows     []json.RawMessage
	TTL      time.Duration     // 0: the server gave none
	Private  bool              // only for the caller of the request
	Caller   toolbox.Principal // that caller; "": the list is for several callers
	size     int               // bytes of the replies that it was read from
	ReadAt   time.Time
}

// Options configures a [Cache].
type Options struct {
	Attached *ledger.Attachment // has the servers
	Table    map[string]*methods.Row
	Running  *sync.WaitGroup // has the goroutines that read lists
	// Changed is called if a list may have changed after callers of Get got an older one. It must not block.
	Changed func(server, feature string)
	// Saves reports whether the ledger keeps the descriptions of servers for the next run.
	Saves bool
	// WaitUntil bounds the time for which Get waits for servers that have not answered yet.
	WaitUntil time.Time
	Logger    *slog.Logger // may be nil
	// Waits is called when a request begins to wait for a server, and returns the function to call at the end.
	Waits func(context.Context) (ended func())
}

// Cache holds the descriptions of servers, and their lists except those of tools, which the fleet caches.
type Cache struct {
	o   Options
	ctx context.Context // ends with the gateway

	saveMu sync.Mutex // held while a description is made and given to the ledger

	mu           sync.Mutex
	descriptions map[string]Description // by server
	loggedNotes  map[string]bool        // the notes that were logged
	lists        map[listKey]*cachedListing
	limitedLists int // number of lists of single callers and of kinds of clients
	limitedBytes int // size of these lists
}

// New returns an empty cache. Its requests to servers end with ctx.
func New(ctx context.Context, o Options) *Cache {
	return &Cache{
		o: o, ctx: ctx, descriptions: map[string]Description{}, loggedNotes: map[string]bool{},
		lists: map[listKey]*cachedListing{},
	}
}

// Reader is a caller that reads lists, with the capabilities that its client declares.
type Reader struct {
	Caller   toolbox.Principal
	Declared interop.Declared
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
	last          *Listing // nil before the first
	private       bool     // each caller has its own list
	changes       int      // how often the server reported a change
	changesAtRead int      // the value of changes when last was requested
	reading       chan struct{}
	retry         time.Time // no request is sent before this time
	failed        int       // failures since the last success
}

// Cached returns the cached list, or nil if there is none, and whether the server was asked, with or without success.
func (s *Cache) Cached(server string, row *methods.Row, reader Reader) (last *Listing, asked bool) {
	d := s.declaredTo(server, reader)
	s.stored(server)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, k := s.find(server, row, d, reader.Caller)
	asked = k.last != nil || k.failed > 0
	if k.last == nil {
		_, k = s.find(server, row, interop.Declared{}, reader.Caller)
	}
	return k.last, asked
}

// declaredTo returns the capabilities of a client if the server may list something else for them, and zero otherwise.
func (s *Cache) declaredTo(server string, reader Reader) interop.Declared {
	if d := reader.Declared; s.o.Attached.Fleet.Differs(server, d) {
		return d
	}
	return interop.Declared{}
}

// find returns the list that a caller sees. The caller of find holds mu.
func (s *Cache) find(
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

func (s *Cache) entry(key listKey) *cachedListing {
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
func (s *Cache) evictLargest(added listKey) {
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
func (s *Cache) evict(selected func(listKey) bool) {
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
func (l *Listing) length() int {
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
	if l.TTL > 0 {
		return time.Since(l.ReadAt) < l.TTL
	}
	return row.Announced && protocol.Declares(e.Capabilities(), row.Needs[0], "listChanged")
}

// Get returns the list of a server for a caller. It returns the cached list if that is valid. Otherwise it asks the
// server and returns the new list, if it arrives in time. It returns nil if no list is known.
func (s *Cache) Get(ctx context.Context, server string, row *methods.Row, reader Reader) *Listing {
	s.stored(server)
	s.awaitServer(ctx, server, row, reader)
	e, err := s.o.Attached.Fleet.Endpoint(server, reader.Caller)
	if err != nil {
		return nil
	}
	idle := s.o.Attached.Fleet.Idle(server) && s.mayDeclare(server, row.Needs)
	d := s.declaredTo(server, reader)
	for range 3 { // a list may change, or turn out to be private, while it is read
		s.mu.Lock()
		key, k := s.find(server, row, d, reader.Caller)
		if idle && k.last == nil { // an idle server is not started for the list of one kind of client
			d = interop.Declared{}
			key, k = s.find(server, row, d, reader.Caller)
		}
		if !key.private && isPerPrincipal(e) {
			k.last, k.private = nil, true
			key, k = s.find(server, row, d, reader.Caller)
		}
		has := k.last != nil || k.failed > 0
		stale := e.Phase().Usable() && protocol.Has(e.Capabilities(), row.Needs) && !k.isValid(row, e)
		if !stale && (!idle || has) || time.Now().Before(k.retry) {
			defer s.mu.Unlock()
			return k.last
		}
		if k.reading == nil {
			refreshCtx := s.ctx
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
		if !s.awaitRefresh(ctx, reading, has) {
			break
		}
		s.mu.Lock()
		_, now := s.find(server, row, d, reader.Caller)
		done := now == k && k.changes == requested
		s.mu.Unlock()
		if done {
			break
		}
	}
	last, _ := s.Cached(server, row, reader)
	return last
}

// awaitServer waits for a server that has not answered yet, if no list of it is known. Like the first tools/list on
// stdio, it waits at most until WaitUntil.
func (s *Cache) awaitServer(ctx context.Context, server string, row *methods.Row, reader Reader) {
	if !time.Now().Before(s.o.WaitUntil) || !s.IsPending(server) || !s.mayDeclare(server, row.Needs) {
		return
	}
	if last, _ := s.Cached(server, row, reader); last != nil {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, s.o.WaitUntil)
	defer cancel()
	s.AwaitAnswer(ctx, server)
}

// startRefresh starts to read a list. The caller holds mu.
func (s *Cache) startRefresh(ctx context.Context, server string, row *methods.Row, key listKey, k *cachedListing) {
	k.reading = make(chan struct{})
	s.o.Running.Go(func() {
		began := time.Now()
		if !s.refresh(ctx, server, row, key, k) {
			return
		}
		if !key.isLimited() {
			s.save(server, maxSaves)
		}
		if time.Since(began) >= listPatience { // meanwhile clients got an older list
			s.o.Changed(server, row.Needs[0])
		}
	})
}

// ReadMissing reads the lists of a ready server that the ledger does not have, so that the next start has them.
func (s *Cache) ReadMissing(server string) {
	e, err := s.o.Attached.Fleet.Endpoint(server, "")
	if err != nil || isPerPrincipal(e) || !s.o.Saves {
		return
	}
	for _, row := range s.o.Table {
		if row.Handler == methods.FromAll && protocol.Has(e.Capabilities(), row.Needs) {
			s.mu.Lock()
			s.startCommonRefresh(server, row)
			s.mu.Unlock()
		}
	}
}

// startCommonRefresh starts to read the list that all clients see, unless it is known. The ledger needs it once, even
// if only special lists are requested. The caller holds mu.
func (s *Cache) startCommonRefresh(server string, row *methods.Row) {
	key := listKey{server: server, method: row.Name}
	if k := s.entry(key); k.last == nil && !k.private && k.failed == 0 && k.reading == nil {
		s.startRefresh(s.ctx, server, row, key, k)
	}
}

// awaitRefresh waits until a list is read. It returns false if that takes too long.
func (s *Cache) awaitRefresh(ctx context.Context, asking <-chan struct{}, has bool) bool {
	defer s.o.Waits(ctx)()
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
func (s *Cache) refresh(
	ctx context.Context, server string, row *methods.Row, key listKey, k *cachedListing,
) (fresh bool) {
	s.mu.Lock()
	at := k.changes
	s.mu.Unlock()
	l, err := s.request(ctx, server, row, key)
	if err != nil {
		s.LogOnce(key.server, key.caller, fmt.Sprintf("%s: %v", row.Name, err))
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
	case l.Private && !key.private:
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
func (s *Cache) store(key listKey, k *cachedListing, l *Listing) {
	if key.isLimited() && s.lists[key] == k {
		s.limitedBytes += l.length() - k.last.length()
		if s.limitedBytes > maxLimitedBytes {
			s.evictLargest(key)
		}
	}
	k.last = l
}

// request reads a list from a server. It returns nil if the server does not declare the capability.
func (s *Cache) request(ctx context.Context, server string, row *methods.Row, key listKey) (*Listing, error) {
	e, done, err := s.o.Attached.Fleet.Use(ctx, server)
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
		l.Private = true
		if own, err := s.o.Attached.Fleet.Endpoint(server, key.caller); err == nil {
			l.endpoint = own
		}
	}
	return l, err
}

// same reports whether two listings are equal and neither has a ttl.
func (l *Listing) same(o *Listing) bool {
	return l.endpoint == o.endpoint && l.TTL == 0 && o.TTL == 0 && l.Private == o.Private &&
		slices.EqualFunc(l.Rows, o.Rows, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// pages reads all pages of a list.
func (s *Cache) pages(ctx context.Context, e *interop.Endpoint, row *methods.Row, key listKey) (*Listing, error) {
	l := &Listing{endpoint: e, ReadAt: time.Now(), TTL: protocol.MaxTTL, Caller: key.caller}
	pages := protocol.Pages{Method: row.Name, Key: row.List, MaxPages: maxListPages, MaxBytes: interop.MaxMessage}
	ask := e.Do
	if key.declared != (interop.Declared{}) || isPerPrincipal(e) { // on the connection of the client or principal
		ask = func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
			return s.o.Attached.Fleet.Request(ctx, e.Server().ID, m)
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
		s.LogOnce(e.Server().ID, key.caller, rest)
	}
	return l, nil
}

// isPerPrincipal reports whether each principal has its own connection to a server.
func isPerPrincipal(e *interop.Endpoint) bool { return e.Server().Pool.Per == config.PerPrincipal }

// add appends a page.
func (l *Listing) add(page []wire.Member, rows []json.RawMessage) {
	ttl, private := protocol.Caching(page)
	l.Rows, l.TTL, l.Private = append(l.Rows, rows...), min(l.TTL, ttl), l.Private || private
}

// Invalidate invalidates the cached lists of a server for a feature, "prompts" or "resources". The server reported the
// change to the principal to. "" means all features, or all principals.
func (s *Cache) Invalidate(server, feature string, to toolbox.Principal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, k := range s.lists {
		if key.server != server || to != "" && key.caller != to {
			continue
		}
		if feature == "" || slices.Contains(s.o.Table[key.method].Needs, feature) {
			k.changes++
			k.retry = time.Time{}
		}
	}
}

// Retain removes the lists and descriptions of servers that are gone.
func (s *Cache) Retain(has func(server string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict(func(key listKey) bool { return !has(key.server) })
	maps.DeleteFunc(s.descriptions, func(id string, _ Description) bool { return !has(id) })
}
