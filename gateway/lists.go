package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

const (
	maxListPages = 1000
	listWait     = 3 * time.Second // of host.Options.ListWait: 0
	// listPatience is how long a client that could be shown an older list waits for a newer one, or anybody for one that
	// could not be had the last time.
	listPatience = 2 * time.Second
	// listRetry is how long a list that could not be had is not asked for again. It doubles up to listRetry <<
	// maxRetryShift, 5 min 20 s: for a server that hangs, all who list would wait again and again.
	listRetry     = 5 * time.Second
	maxRetryShift = 6
	// maxPrivateLists bounds the lists of single callers and of kinds of clients, and maxPrivateBytes what they take together; beyond it those
	// of the principal that has most are dropped.
	maxPrivateLists = 1024
	maxPrivateBytes = 64 << 20
)

// listing is what one server listed, as it wrote it. It is immutable.
type listing struct {
	endpoint *interop.Endpoint // which listed it
	rows     []json.RawMessage
	ttl      time.Duration     // 0: it does not say
	private  bool              // for the caller who asked, and nobody else
	caller   toolbox.Principal // who that is; "": it is for more
	size     int               // of what it was read from, in bytes
	at       time.Time
}

// serverLists keeps what servers list, of all kinds but tools, which the fleet keeps.
type serverLists struct {
	gateway *Gateway

	mu      sync.Mutex
	lists   map[listKey]*keptListing
	private int // lists that there may be any number of
	bytes   int // that these take
}

func newServerLists(g *Gateway) *serverLists {
	return &serverLists{gateway: g, lists: map[listKey]*keptListing{}}
}

type listKey struct {
	server, method string
	declared       interop.Declared // by whom, if the server may list something else to them; zero: everybody
	caller         toolbox.Principal
	private        bool // it is caller's alone
}

// counted reports a list that there may be any number of.
func (k listKey) counted() bool { return k.private || k.declared != interop.Declared{} }

// keptListing is the last that was listed, and what is done for a newer one.
type keptListing struct {
	last    *listing // nil before the first
	private bool     // each caller has one of his own
	changes int      // how often the server said that it has changed
	at      int      // changes when last was asked for
	asking  chan struct{}
	retry   time.Time // it is not asked for before
	failed  int       // how often it could not be had, since it last could
}

// kept returns the cached list, or nil if there is none, and whether the server has listed, or failed to.
func (s *serverLists) kept(server string, row *methodRow, who asker) (last *listing, asked bool) {
	declared := s.gateway.declaredTo(server, who)
	s.gateway.recall(server)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, k := s.find(server, row, declared, who.caller)
	asked = k.last != nil || k.failed > 0
	if k.last == nil {
		_, k = s.find(server, row, interop.Declared{}, who.caller)
	}
	return k.last, asked
}

// declaredTo is what a client declares, if the server may list something else to it than to everybody.
func (g *Gateway) declaredTo(server string, who asker) interop.Declared {
	if d := who.kind.declared; g.attached.Fleet.Differs(server, d) {
		return d
	}
	return interop.Declared{}
}

// find is the list that a caller sees. Call it with mu held.
func (s *serverLists) find(
	server string, row *methodRow, d interop.Declared, caller toolbox.Principal,
) (listKey, *keptListing) {
	key := listKey{server: server, method: row.name, declared: d}
	k := s.keyed(key)
	if k.private {
		key.caller, key.private = caller, true
		k = s.keyed(key)
	}
	return key, k
}

func (s *serverLists) keyed(key listKey) *keptListing {
	k := s.lists[key]
	if k == nil {
		if key.counted() {
			if s.private++; s.private > maxPrivateLists {
				s.forgetMost(key)
			}
		}
		k = &keptListing{}
		s.lists[key] = k
	}
	return k
}

// forgetMost makes room for a list: those of the principal that has most of them go. Call it with mu held.
func (s *serverLists) forgetMost(room listKey) {
	counts := map[toolbox.Principal]int{}
	most := room.caller
	for key, k := range s.lists {
		if key.counted() && key != room {
			if counts[key.caller] += 1 + k.last.length(); counts[key.caller] > counts[most] {
				most = key.caller
			}
		}
	}
	s.forget(func(other listKey) bool { return other.counted() && other != room && other.caller == most })
}

// forget forgets lists. Call it with mu held.
func (s *serverLists) forget(which func(listKey) bool) {
	for key, k := range s.lists {
		if !which(key) {
			continue
		}
		delete(s.lists, key)
		if key.counted() {
			s.private--
			s.bytes -= k.last.length()
		}
	}
}

// length is how many bytes a listing takes; 0 where there is none.
func (l *listing) length() int {
	if l == nil {
		return 0
	}
	return l.size
}

// good reports whether what is kept is what the server would list now: it would have said
// that it changed, or allows it to be kept for a while.
func (k *keptListing) good(row *methodRow, e *interop.Endpoint) bool {
	l := k.last
	if l == nil || l.endpoint != e || k.at != k.changes {
		return false
	}
	if l.ttl > 0 {
		return time.Since(l.at) < l.ttl
	}
	return row.follows && protocol.Declares(e.Capabilities(), row.needs[0], "listChanged")
}

// get is what a server lists for a caller: what is kept where that is good, else what it lists now, where it
// lists it in time. nil: nothing is known.
func (s *serverLists) get(ctx context.Context, server string, row *methodRow, who asker) *listing {
	e, err := s.gateway.attached.Fleet.Endpoint(server, who.caller)
	if err != nil {
		return nil
	}
	s.gateway.recall(server)
	if s.waitFor(ctx, server, row, who) {
		if e, err = s.gateway.attached.Fleet.Endpoint(server, who.caller); err != nil {
			return nil
		}
	}
	idle := s.gateway.attached.Fleet.Idle(server) && s.gateway.mayDeclare(server, row.needs)
	declared := s.gateway.declaredTo(server, who)
	for range 3 { // a list may change, or turn out to be private, while it is asked for
		s.mu.Lock()
		key, k := s.find(server, row, declared, who.caller)
		if idle && k.last == nil { // it is not started for what it lists to some
			declared = interop.Declared{}
			key, k = s.find(server, row, declared, who.caller)
		}
		if !key.private && isPerPrincipal(e) {
			k.last, k.private = nil, true
			key, k = s.find(server, row, declared, who.caller)
		}
		has := k.last != nil || k.failed > 0
		asks := e.Phase().Usable() && protocol.Has(e.Capabilities(), row.needs) && !k.good(row, e) || idle && !has
		if !asks || time.Now().Before(k.retry) {
			defer s.mu.Unlock()
			return k.last
		}
		if k.asking == nil {
			asks := s.gateway.ctx
			if c := interop.ClientOf(ctx); c != nil && c.Back != nil {
				asks = interop.WithClient(asks, c.Listing())
			}
			s.begin(asks, server, row, key, k)
			if key.declared != (interop.Declared{}) && !isPerPrincipal(e) {
				s.beginForAll(server, row)
			}
		}
		asking, asked := k.asking, k.changes
		s.mu.Unlock()
		if !s.await(ctx, asking, has) {
			break
		}
		s.mu.Lock()
		_, now := s.find(server, row, declared, who.caller)
		done := now == k && k.changes == asked
		s.mu.Unlock()
		if done {
			break
		}
	}
	last, _ := s.kept(server, row, who)
	return last
}

// waitFor waits for a server that has not answered yet and of which no list is known. Like the first tools/list on
// stdio it waits until the gateway is ListWait old, and no longer. It reports whether it has waited.
func (s *serverLists) waitFor(ctx context.Context, server string, row *methodRow, who asker) bool {
	g := s.gateway
	left := time.Until(g.began.Add(protocol.Duration(g.opts.Host.ListWait, listWait)))
	if left <= 0 || !g.isPending(server) || !g.mayDeclare(server, row.needs) {
		return false
	}
	if last, _ := s.kept(server, row, who); last != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	g.settled(ctx, server)
	return true
}

// begin begins to ask for a list. Call it with mu held.
func (s *serverLists) begin(ctx context.Context, server string, row *methodRow, key listKey, k *keptListing) {
	k.asking = make(chan struct{})
	s.gateway.running.Go(func() {
		began := time.Now()
		if !s.ask(ctx, server, row, key, k) {
			return
		}
		if !key.counted() {
			s.gateway.describe(server, maxDescribed)
		}
		if time.Since(began) >= listPatience { // clients were given an older list meanwhile
			s.gateway.tell(server, row.needs[0])
		}
	})
}

// learn asks a server that is ready for the lists that the ledger does not have, so that the next start has them.
func (s *serverLists) learn(server string) {
	e, err := s.gateway.attached.Fleet.Endpoint(server, "")
	if o := s.gateway.opts.Ledger; err != nil || isPerPrincipal(e) || o == nil || o.Log == nil && o.Open == nil {
		return
	}
	for _, row := range s.gateway.table {
		if row.does == fromAll && protocol.Has(e.Capabilities(), row.needs) {
			s.mu.Lock()
			s.beginForAll(server, row)
			s.mu.Unlock()
		}
	}
}

// beginForAll sees to it that what all see of a list is known once, for the ledger, where it is asked for others. Call it with mu held.
func (s *serverLists) beginForAll(server string, row *methodRow) {
	key := listKey{server: server, method: row.name}
	if k := s.keyed(key); k.last == nil && !k.private && k.failed == 0 && k.asking == nil {
		s.begin(s.gateway.ctx, server, row, key, k)
	}
}

// await waits for a listing under way; false: it takes too long.
func (s *serverLists) await(ctx context.Context, asking <-chan struct{}, has bool) bool {
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

// ask asks a server for a list and keeps it. A failure leaves what was kept. The client of ctx, if there is one, is one of those for
// whom the list is. It reports whether it is another list.
func (s *serverLists) ask(ctx context.Context, server string, row *methodRow, key listKey, k *keptListing) (fresh bool) {
	s.mu.Lock()
	at := k.changes
	s.mu.Unlock()
	l, err := s.asked(ctx, server, row, key)
	if err != nil {
		s.gateway.note(key.server, key.caller, fmt.Sprintf("%s: %v", row.name, err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(k.asking)
	k.asking = nil
	switch {
	case err != nil:
		k.retry = time.Now().Add(listRetry << min(k.failed, maxRetryShift))
		k.failed++
		return false
	case l == nil: // it has none, as is known now
	case l.private && !key.private:
		k.last, k.private = nil, true // its caller asks again, for himself
	case k.last != nil && l.same(k.last):
		k.at, k.retry = at, time.Time{} // and what was made of it is kept
	default:
		s.keep(key, k, l)
		k.at, k.retry, fresh = at, time.Time{}, true
	}
	k.failed = 0
	return fresh
}

// keep makes a listing the last one. Call it with mu held.
func (s *serverLists) keep(key listKey, k *keptListing, l *listing) {
	if key.counted() && s.lists[key] == k {
		if s.bytes += l.length() - k.last.length(); s.bytes > maxPrivateBytes {
			s.forgetMost(key)
		}
	}
	k.last = l
}

// asked is what a server lists now; nil where it declares that it has nothing of the kind.
func (s *serverLists) asked(ctx context.Context, server string, row *methodRow, key listKey) (*listing, error) {
	e, done, err := s.gateway.attached.Fleet.Use(ctx, server)
	if err != nil {
		return nil, err
	}
	defer done()
	if !protocol.Has(e.Capabilities(), row.needs) {
		return nil, nil
	}
	if wait := protocol.Duration(e.Server().Timeouts.List, protocol.DefaultList); wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	l, err := s.pages(ctx, e, row, key)
	if err == nil && isPerPrincipal(e) { // it came over a connection of the caller's, which may be newer
		l.private = true
		if own, err := s.gateway.attached.Fleet.Endpoint(server, key.caller); err == nil {
			l.endpoint = own
		}
	}
	return l, err
}

// same reports whether two listings say the same, for an unlimited time.
func (l *listing) same(o *listing) bool {
	return l.endpoint == o.endpoint && l.ttl == 0 && o.ttl == 0 && l.private == o.private &&
		slices.EqualFunc(l.rows, o.rows, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// pages asks for page after page.
func (s *serverLists) pages(ctx context.Context, e *interop.Endpoint, row *methodRow, key listKey) (*listing, error) {
	l := &listing{endpoint: e, at: time.Now(), ttl: protocol.MaxTTL, caller: key.caller}
	pages := protocol.Pages{Method: row.name, Key: row.list, Most: maxListPages, MaxBytes: interop.MaxMessage}
	ask := e.Do
	if key.declared != (interop.Declared{}) || isPerPrincipal(e) { // on the connection of the client, or of the principal
		ask = func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
			return s.gateway.attached.Fleet.Request(ctx, e.Server().ID, m)
		}
	}
	rest, err := pages.Read(func(params json.RawMessage) (json.RawMessage, error) {
		raw, err := ask(ctx, interop.Message{Method: row.name, Params: params, Caller: key.caller})
		l.size += len(raw)
		return raw, err
	}, l.add)
	if err != nil {
		return nil, err
	}
	if rest != "" {
		s.gateway.note(e.Server().ID, key.caller, rest)
	}
	return l, nil
}

// isPerPrincipal reports whether each principal has a connection of its own to a server.
func isPerPrincipal(e *interop.Endpoint) bool { return e.Server().Pool.Per == interop.PerPrincipal }

// add appends a page.
func (l *listing) add(page []wire.Member, rows []json.RawMessage) {
	ttl, private := protocol.Caching(page)
	l.rows, l.ttl, l.private = append(l.rows, rows...), min(l.ttl, ttl), l.private || private
}

// changed forgets what a server lists of a feature: "prompts" or "resources"; "": of all; for whoever it says it to, "": all.
func (s *serverLists) changed(server, feature string, to toolbox.Principal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, k := range s.lists {
		if key.server == server && (to == "" || key.caller == to) && (feature == "" || slices.Contains(s.gateway.table[key.method].needs, feature)) {
			k.changes++
			k.retry = time.Time{}
		}
	}
}

// drop forgets servers that are gone.
func (s *serverLists) drop(has func(server string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(func(key listKey) bool { return !has(key.server) })
}
