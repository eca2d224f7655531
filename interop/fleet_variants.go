package interop

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/toolbox"
)

// Many servers list some of what they have only to clients that declare a capability. What a fleet lists to everybody
// is what they list to one that declares nothing. A variant is what a server lists to clients that declare something; it is
// asked for when the first of them wants to know, on the connection that its calls take.

const (
	// maxVariants bounds the variants of one server's list, and maxDeclared those of what all list; beyond it the
	// one that was learned first makes room.
	maxVariants = 16
	maxDeclared = 64
	// learnRetry is how long a variant that could not be had is not asked for again.
	learnRetry = 30 * time.Second
	// listSession is in the key of lanes that clients without a session share for lists.
	listSession = "\x00lists"
)

// Declared is what servers are shown of a client (see [Client]): those of whom it is the same are listed the same. It is
// comparable. The zero Declared is nothing.
type Declared struct {
	era            Era
	legacy, modern string // as servers of that era see it; "": nothing
}

// Declared is what servers are shown of c; of nil nothing.
func (c *Client) Declared() Declared {
	if c == nil || len(c.Capabilities) <= len(`{}`) {
		return Declared{}
	}
	d := Declared{era: c.Era, modern: string(c.declaredTo(Modern))}
	if legacy := c.declaredTo(Legacy); c.Back != nil && protocol.CanBeAsked(legacy) {
		d.legacy = string(legacy)
	}
	if d.legacy == "" && d.modern == "" {
		return Declared{}
	}
	return d
}

// Listing is c as the client of requests for lists, whose answers are for all who declare the same: it cannot be asked
// meanwhile, and they outlive the request of c's that caused them.
func (c *Client) Listing() *Client {
	l := *c
	l.listing, l.LogLevel = true, ""
	l.Back = func(_ context.Context, m Message) (json.RawMessage, error) {
		return nil, &RPCError{Code: CodeMethodNotFound, Message: "nobody is asked " + protocol.Printable(m.Method, 80) + " while lists are made"}
	}
	return &l
}

// variant is a server's list for clients that declare something. It is immutable.
type variant struct {
	list    *listing // nil: it never could be had
	beside  *listing // what was listed to everybody when it was asked for
	changes uint64   // member.changes then
	asked   time.Time
	failed  bool // when it was asked for last
	stale   bool // the server has said since that it is another
}

// good reports whether there is no point in asking now.
func (v variant) good() bool {
	return !v.stale && !v.asked.IsZero() && (!v.failed || time.Since(v.asked) < learnRetry)
}

// lacks reports whether everybody was listed a tool when the variant was, and is not since: it is gone.
func (v variant) lacks(tool string) bool {
	if !v.stale || v.beside == nil {
		return false
	}
	_, had := v.beside.byName[tool]
	return had
}

// The variants of a server, by what is declared to it, behind the era of the connection.
func legacyVariant(declared string) string { return "legacy " + declared }
func modernVariant(declared string) string { return "modern " + declared }

// variantOf is what the server lists to who declares d; nil: as to everybody, or nobody has asked.
func (s *state) variantOf(d Declared) *listing {
	return s.variants[s.knownVariant(d)].list
}

// knownVariant is the key of that; "": there is none.
func (s *state) knownVariant(d Declared) string {
	keys := []string{modernVariant(d.modern), legacyVariant(d.legacy)}
	if d.era == Legacy {
		slices.Reverse(keys)
	}
	for _, key := range keys {
		if s.variants[key].list != nil {
			return key
		}
	}
	return ""
}

// Variant names what a server lists to clients that declare d: of two for which it is the same, the lists are the same.
// "": it lists to them what it lists to everybody, as far as can be seen now.
func (f *Fleet) Variant(server string, d Declared) string {
	m := findMember(f.all(), server)
	if m == nil || d == (Declared{}) {
		return ""
	}
	s := m.state.Load()
	if shake := s.endpoint.handshake(); shake.Era != "" {
		return m.variantKey(shake, d)
	}
	return s.knownVariant(d)
}

func (m *member) variantKey(shake conn.Handshake, d Declared) string {
	onLane := shake.Era == Legacy || m.mayBeDual(shake, d.era) // as in laneFor
	switch {
	case onLane && d.legacy != "" && m.fleet.opts.Lanes >= 0 && m.lanes.due(askedLane):
		return legacyVariant(d.legacy)
	case shake.Era == Modern && d.modern != "":
		return modernVariant(d.modern)
	}
	return ""
}

// Learn asks the servers for which has is true what they list to clients like c, as far as nobody has asked yet, or they
// have said since that it changed, and waits for that. Then it is in [Fleet.SnapshotFor]. A server that is not up, or fails, lists
// what it lists to everybody; one that is idle, what it listed before.
func (f *Fleet) Learn(ctx context.Context, c *Client, caller toolbox.Principal, has func(server string) bool) {
	d := c.Declared()
	if d == (Declared{}) {
		return
	}
	var asking sync.WaitGroup
	for _, m := range f.all() {
		if has(m.server.ID) && !m.knows(d) {
			asking.Go(func() { m.learn(WithClient(ctx, c.Listing()), d, caller) })
		}
	}
	asking.Wait()
}

// Knows reports whether [Fleet.Learn] would ask nobody.
func (f *Fleet) Knows(d Declared, has func(server string) bool) bool {
	return !slices.ContainsFunc(f.all(), func(m *member) bool { return has(m.server.ID) && !m.knows(d) })
}

// knows reports whether there is nothing to learn now.
func (m *member) knows(d Declared) bool {
	s := m.state.Load()
	if !s.up || !s.endpoint.Phase().Usable() {
		return true // who is told that it is up looks again
	}
	key := m.variantKey(s.endpoint.handshake(), d)
	return key == "" || s.variants[key].good()
}

// learn asks for a variant, or waits until somebody has. It may change while it is asked for.
func (m *member) learn(ctx context.Context, d Declared, caller toolbox.Principal) {
	for tries := 0; tries < 3 && !m.knows(d) && ctx.Err() == nil; tries++ {
		key := m.variantKey(m.state.Load().endpoint.handshake(), d)
		m.fleet.mu.Lock()
		busy, before := m.learning[key], variant{beside: m.state.Load().list, changes: m.changes}
		mine := busy == nil
		if mine {
			busy = make(chan struct{})
			m.learning[key] = busy
		}
		m.fleet.mu.Unlock()
		if mine {
			l, got, err := m.listVariant(ctx, d, caller)
			if ctx.Err() == nil {
				m.keepVariant(got, l, err, before)
			}
			m.fleet.mu.Lock()
			delete(m.learning, key)
			m.fleet.mu.Unlock()
			close(busy)
		}
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
}

// listVariant asks for a variant, on the connection that serves the client of ctx, and says which one it is.
func (m *member) listVariant(ctx context.Context, d Declared, caller toolbox.Principal) (l *listing, key string, err error) {
	e, err := m.connected(ctx, "")
	if err != nil {
		return nil, "", err
	}
	defer e.end()
	if m.isPerPrincipal() {
		caller = "" // tools are the same for all
	}
	own, leave, err := m.askedLane(ctx, e, Message{Method: protocol.MethodToolsList, Caller: caller})
	if leave != nil {
		defer leave()
	}
	switch {
	case err != nil:
		return nil, legacyVariant(d.legacy), err
	case own != nil:
		l, err = own.listed(ctx)
		return l, legacyVariant(d.legacy), err
	case e.Era() == Legacy: // there is no lane for a while
		return nil, "", nil
	}
	ctx, cancel := withDeadline(ctx, m.server.Timeouts.List, protocol.DefaultList)
	defer cancel()
	if l, err = e.pages(ctx, ClientOf(ctx)); err != nil {
		return nil, modernVariant(d.modern), e.listFault(ctx, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.variants = append([]*listing{l}, e.variants[:min(len(e.variants), maxVariants-1)]...)
	return l, modernVariant(d.modern), nil
}

// toolOf is a tool that is listed to some clients; nil: to none. Call it with mu held.
func (e *Endpoint) toolOf(name string) *listedTool {
	for _, l := range e.variants {
		if i, ok := l.byName[name]; ok {
			return &l.tools[i]
		}
	}
	return nil
}

// keepVariant keeps what came of asking for v.
func (m *member) keepVariant(key string, l *listing, err error, v variant) {
	if err != nil {
		m.fleet.opts.Logger.Warn("clients that can be asked may miss tools: listing failed", "server", m.server.ID, "err", err)
	}
	if key == "" {
		return
	}
	m.setVariants(func(s *state) (changed, fresh bool) {
		v.asked, v.failed, v.stale = time.Now(), err != nil, v.changes != m.changes
		if err != nil {
			v.list = s.variants[key].list
		} else {
			v.list = l.configured(s.config)
		}
		if s.variants = maps.Clone(s.variants); s.variants == nil {
			s.variants = variants{}
		}
		if _, known := s.variants[key]; !known && len(s.variants) >= maxVariants {
			oldest := slices.MinFunc(slices.Collect(maps.Keys(s.variants)), func(a, b string) int {
				return s.variants[a].asked.Compare(s.variants[b].asked)
			})
			delete(s.variants, oldest)
		}
		fresh = !v.list.same(s.variants[key].list)
		s.variants[key] = v
		return true, fresh
	})
}

// staleVariants notes that the server has said that a variant is another; "": any may be.
func (m *member) staleVariants(key string) {
	m.setVariants(func(s *state) (changed, fresh bool) {
		m.changes++
		s.variants = s.variants.with(func(k string, v *variant) { v.stale = v.stale || key == "" || k == key })
		return s.variants != nil, false
	})
}

// setVariants lets set edit a copy of the state, and say whether it did, and whether that is to be seen.
func (m *member) setVariants(set func(*state) (changed, fresh bool)) {
	f := m.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	s := *m.state.Load()
	if s.retired {
		return
	}
	changed, fresh := set(&s)
	if fresh {
		f.view.Store(nil)
	}
	if changed {
		m.publish(&s)
	}
}

// variants are those of one server, by key. They are immutable.
type variants map[string]variant

// with is a copy of which each was edited.
func (vs variants) with(edit func(key string, v *variant)) variants {
	if vs == nil {
		return nil
	}
	out := make(variants, len(vs))
	for key, v := range vs {
		edit(key, &v)
		out[key] = v
	}
	return out
}

// SnapshotFor is [Fleet.Snapshot] for clients that declare d, as far as it is known ([Fleet.Learn]); nil: it is the same.
func (f *Fleet) SnapshotFor(d Declared) *toolbox.Snapshot {
	if d == (Declared{}) || !f.published().varies {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.current()
	last := f.shown[d]
	if last.of == all {
		return last.given
	}
	v := f.compose(d, all.owners)
	switch {
	case v.same(all):
		last.given = nil
	case last.view != nil && v.same(last.view):
		last.given = last.view.snapshot
	default:
		v.snapshot.Version = all.snapshot.Version + 1
		if last.view != nil {
			v.snapshot.Version = max(v.snapshot.Version, last.view.snapshot.Version+1)
		}
		last.view, last.given = v, v.snapshot
	}
	if last.of = all; len(f.shown) >= maxDeclared {
		clear(f.shown)
	}
	f.shown[d] = last
	return last.given
}

// shownView is what was shown last to clients that declare something.
type shownView struct {
	of    *view // what was shown to everybody
	view  *view // what differed last; nil: nothing ever did
	given *toolbox.Snapshot
}

// Some is the tools that are listed to some clients, who declare something, and not to everybody.
func (f *Fleet) Some() *toolbox.Snapshot { return f.published().some }

// addSome adds the tools that are listed to some, as the first of the variants has them. Call it with mu held.
func (f *Fleet) addSome(v *view) {
	v.some = &toolbox.Snapshot{}
	for _, m := range f.members {
		s := m.state.Load()
		for _, key := range slices.Sorted(maps.Keys(s.variants)) {
			l := s.variants[key].list
			if l == nil || l.same(s.list) {
				continue
			}
			v.varies = true
			for i := range l.tools {
				t := &l.tools[i]
				if _, taken := v.owners[t.Name]; taken || s.variants[key].lacks(t.Tool) {
					continue
				}
				v.owners[t.Name] = owner{m, t.Tool}
				if !m.held() {
					v.some.Tools = append(v.some.Tools, t.Descriptor)
				}
			}
		}
	}
	if last := f.last.some; last != nil && slices.EqualFunc(v.some.Tools, last.Tools, sameTool) {
		v.some = last
	}
}

// appendRejected appends what l left out, and is not among all yet. l may be nil.
func (l *listing) appendRejected(all []Quarantine) []Quarantine {
	if l == nil {
		return all
	}
	for _, q := range l.rejected {
		if !slices.Contains(all, q) {
			all = append(all, q)
		}
	}
	return all
}
