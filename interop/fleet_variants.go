package interop

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/lane"
	"github.com/indusagi/indus/interop/internal/listing"
	"github.com/indusagi/indus/toolbox"
)

// Many servers list some tools only to clients that declare a capability. The common list of a fleet is the list for a
// client that declares nothing. A variant is the list for clients that declare something. The first client that needs
// it causes the request, on the connection that its calls use.

const (
	// maxVariants bounds the variants of one server's list.
	maxVariants = 16
	// variantRetry is how long a failed variant is not requested again.
	variantRetry = 30 * time.Second
	// listSession is part of the key of lanes that clients without a session share for lists.
	listSession = "\x00lists"
)

// Declared holds the capabilities that servers receive of a client (see [Client]). Clients with equal Declared receive
// the same lists. It is comparable. The zero Declared declares nothing.
type Declared struct {
	era            Era
	legacy, modern string // as servers of that era receive it; "" if it is nothing
}

// Declared returns the capabilities that servers receive of c. For a nil Client it is zero.
func (c *Client) Declared() Declared {
	if c == nil || len(c.Capabilities) <= len(`{}`) {
		return Declared{}
	}
	d := Declared{era: c.Era, modern: string(c.capabilitiesFor(Modern))}
	if legacy := c.capabilitiesFor(Legacy); c.Back != nil && protocol.AcceptsRequests(legacy) {
		d.legacy = string(legacy)
	}
	if d.legacy == "" && d.modern == "" {
		return Declared{}
	}
	return d
}

func (d Declared) compare(o Declared) int {
	return cmp.Or(cmp.Compare(d.era, o.era), cmp.Compare(d.legacy, o.legacy), cmp.Compare(d.modern, o.modern))
}

// Listing returns c as the client of list requests. Their results are shared by all clients that declare the same. So c
// cannot be asked meanwhile, and the list requests may outlive the request that caused them.
func (c *Client) Listing() *Client {
	l := *c
	l.listing, l.LogLevel = true, ""
	l.Back = func(_ context.Context, m Message) (json.RawMessage, error) {
		why := "no client is asked " + protocol.Printable(m.Method, 80) + " while lists are made"
		return nil, &RPCError{Code: CodeMethodNotFound, Message: why}
	}
	return &l
}

// variant is a server's list for clients that declare something. It is immutable.
type variant struct {
	list        *listing.List // nil if no request succeeded
	common      *listing.List // the common list at the time of the request
	changes     uint64        // state.changes at that time
	requestedAt time.Time
	failed      bool // the last request failed
}

// variants holds the variants of one server. The map is replaced, never changed in place.
type variants map[Declared]variant

// isStale reports whether the server's tools have changed since the variant was listed.
func (s *state) isStale(v variant) bool { return v.changes != s.changes }

// lacksTool reports whether the common list had a tool at the time of the variant and has changed since, so that the
// tool is gone.
func (s *state) lacksTool(v variant, tool string) bool {
	return s.isStale(v) && v.common.Find(tool) != nil
}

// Differs reports whether a server may list other tools to clients that declare d than to all clients, as far as is
// known now.
func (f *Fleet) Differs(server string, d Declared) bool {
	m := findMember(f.currentMembers(), server)
	if m == nil || d == (Declared{}) {
		return false
	}
	s := m.state.Load()
	if s.endpoint.Era() != "" {
		return m.mayDiffer(s, d)
	}
	return s.variants[d].list != nil
}

// mayDiffer is Differs for a server that is or was connected.
func (m *member) mayDiffer(s *state, d Declared) bool {
	shake := s.endpoint.handshake()
	usesLane := shake.Era == Legacy || m.mayBeDual(shake, d.era) // as in laneFor
	if usesLane && d.legacy != "" && m.fleet.opts.Lanes >= 0 && m.lanes.MayTry(lane.ForQuestions) {
		return true
	}
	return shake.Era == Modern && d.modern != ""
}

// Learn returns a function that requests the lists for clients like c from the servers for which includes returns true,
// and waits for them. It skips lists that are known and have not changed since. Then [toolbox.Snapshot.For] has the
// lists. If a server is not up, or fails, its common list is used. An idle server keeps its last list. If all lists are
// known, Learn returns nil.
func (f *Fleet) Learn(
	c *Client, caller toolbox.Principal, includes func(server string) bool,
) (request func(context.Context)) {
	d := c.Declared()
	unknown := slices.DeleteFunc(slices.Clone(f.currentMembers()), func(m *member) bool {
		return !includes(m.server.ID) || m.knowsVariant(d)
	})
	if len(unknown) == 0 {
		return nil
	}
	return func(ctx context.Context) {
		var requests sync.WaitGroup
		defer requests.Wait()
		for _, m := range unknown {
			requests.Go(func() { m.learnVariant(WithClient(ctx, c.Listing()), d, caller) })
		}
	}
}

// knowsVariant reports whether no request is needed now for the list that clients with the declaration d get.
// While the server is down it returns true. Callers check again when they are notified that it is up.
func (m *member) knowsVariant(d Declared) bool {
	s := m.state.Load()
	v, known := s.variants[d]
	return d == Declared{} || !s.up || !s.endpoint.Phase().Usable() || !m.mayDiffer(s, d) ||
		known && !s.isStale(v) && (!v.failed || time.Since(v.requestedAt) < variantRetry)
}

// learnVariant requests a variant, or waits until another call has. The list may change meanwhile.
func (m *member) learnVariant(ctx context.Context, d Declared, caller toolbox.Principal) {
	for tries := 0; tries < 3 && !m.knowsVariant(d) && ctx.Err() == nil; tries++ {
		m.fleet.mu.Lock()
		running, s := m.learning[d], m.state.Load()
		leader := running == nil
		if leader {
			running = make(chan struct{})
			m.learning[d] = running
		}
		m.fleet.mu.Unlock()
		if leader {
			l, err := m.listVariant(ctx, caller)
			if ctx.Err() == nil && (l != nil || err != nil) {
				m.keepVariant(d, variant{list: l, common: s.list, changes: s.changes, requestedAt: time.Now()}, err)
			}
			m.fleet.mu.Lock()
			delete(m.learning, d)
			m.fleet.mu.Unlock()
			close(running)
		}
		select {
		case <-running:
		case <-ctx.Done():
		}
	}
}

// listVariant requests a variant on the connection that serves the client of ctx. It returns nil if there is no variant
// for a while.
func (m *member) listVariant(ctx context.Context, caller toolbox.Principal) (*listing.List, error) {
	e, err := m.awaitEndpoint(ctx, "")
	if err != nil {
		return nil, err
	}
	defer e.endCall()
	if m.isPerPrincipal() {
		caller = "" // tools are the same for all principals
	}
	laneEndpoint, leave, err := m.laneForQuestions(ctx, e, Message{Method: protocol.MethodToolsList, Caller: caller})
	switch {
	case err != nil:
		return nil, err
	case laneEndpoint != nil:
		defer leave()
		return laneEndpoint.currentListing(ctx)
	case e.Era() == Legacy:
		return nil, nil
	}
	ctx, cancel := conn.WithDeadline(ctx, m.server.Timeouts.List, protocol.DefaultList)
	defer cancel()
	l, err := e.readPages(ctx, ClientOf(ctx))
	if err != nil {
		return nil, e.listFault(ctx, err)
	}
	return l, nil
}

// findTool returns a tool as it was last listed, in the common list or in a variant. It returns nil if the tool is in
// none.
func (m *member) findTool(name string) *listing.Tool {
	s := m.state.Load()
	if t := s.list.Find(name); t != nil {
		return t
	}
	for _, v := range s.variants {
		if t := v.list.Find(name); t != nil {
			return t
		}
	}
	return nil
}

// keepVariant stores the result of a request for a variant. Beyond maxVariants, the variant with the oldest request is
// evicted.
func (m *member) keepVariant(d Declared, v variant, err error) {
	if err != nil {
		m.fleet.opts.Logger.Warn("clients that can be asked may miss tools: listing failed",
			"server", m.server.ID, "err", err)
	}
	m.update(func(s *state) []EventKind {
		v.list = v.list.WithConfig(s.config)
		v.failed = err != nil
		if v.failed {
			v.list = s.variants[d].list
		}
		next := variants{}
		maps.Copy(next, s.variants)
		if _, known := next[d]; !known && len(next) >= maxVariants {
			byAge := func(a, b Declared) int { return next[a].requestedAt.Compare(next[b].requestedAt) }
			delete(next, slices.MinFunc(slices.Collect(maps.Keys(next)), byAge))
		}
		next[d] = v
		s.variants = next
		return nil
	})
}

// addVariants adds the variants that differ from the common list. Call it with mu held.
func (f *Fleet) addVariants(v *view) {
	kinds := map[Declared]bool{}
	for _, m := range f.members {
		s := m.state.Load()
		for d, known := range s.variants {
			if known.list != nil && !known.list.Equal(s.list) {
				kinds[d] = true
			}
		}
	}
	for _, d := range slices.SortedFunc(maps.Keys(kinds), Declared.compare) {
		v.snapshot.Kinds = append(v.snapshot.Kinds, f.compose(v, d))
	}
}
