package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/indusagi/indus/gateway/internal/lists"
	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// maxMerged bounds the cached versions of one list, for callers that see different ones.
const maxMerged = 64

// mergedList is one list of a view: the rows of all its servers, in the order of the configuration. It is immutable,
// except for fields below mu.
type mergedList struct {
	row       *methods.Row
	parts     []part
	requester listRequester      // a client that sees the list
	pages     map[ownName]bool   // pages of the tools that the caller sees, see [view.pagesFor]
	byName    map[string]ownName // owners by the name in the view, also of rows of servers that are down
	viewNames map[ownName]string // the inverse of byName, for names that differ
	rowNames  []string           // the names of rows
	allNames  []string           // the names of byName, in order
	rows      [][]byte
	ttl       time.Duration // the smallest ttl of the parts; 0: the list may not be cached
	mergedAt  time.Time     // the time from which ttl counts
	private   bool          // a part is private

	mu          sync.Mutex
	list        *protocol.List // the last rendered list
	renderedTTL int64          // its ttlMs
	routes      []template     // of resources/templates/list, in order; nil: not made yet
}

// ownName is a server's own name for a tool, prompt, resource or task.
type ownName struct{ server, own string }

// part is the contribution of one server.
type part struct {
	server string
	*lists.Listing
	visible bool // false: the server is down, and its rows only keep their names
}

// mergedFor returns the list that a caller sees. If wait is true, lists that are unknown or no longer good are read.
// Otherwise only cached lists are used.
func (v *view) mergedFor(ctx context.Context, row *methods.Row, requester listRequester, wait bool) *mergedList {
	return v.mergeParts(row, requester, v.parts(ctx, row, requester, wait))
}

// mergeParts returns the list of the parts that have a listing.
func (v *view) mergeParts(row *methods.Row, requester listRequester, parts []part) *mergedList {
	var pages map[ownName]bool
	if row.Kind == methods.ByURI {
		pages = v.pagesFor(requester)
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.Listing == nil })
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, m := range v.lists[row.Name] {
		if m.isFor(requester) && slices.Equal(m.parts, parts) && maps.Equal(m.pages, pages) {
			return m
		}
	}
	m := v.merge(row, requester, parts, pages)
	versions := []*mergedList{m}
	for _, o := range v.lists[row.Name] {
		if o.private || m.private { // a list without private parts has one version
			versions = append(versions, o)
		}
	}
	v.lists[row.Name] = versions[:min(len(versions), maxMerged)]
	return m
}

// isFor reports whether a requester has the same rights as those that the list was made for.
func (m *mergedList) isFor(requester listRequester) bool {
	return m.requester.kind.class == requester.kind.class && isLasting(requester.kind.rights)
}

// parts returns the list of each server, in order. If wait is true, the servers are asked in parallel.
func (v *view) parts(ctx context.Context, row *methods.Row, requester listRequester, wait bool) []part {
	servers := v.servers()
	parts := make([]part, len(servers))
	down, reader := v.gateway.lists.Down(), lists.Reader{Caller: requester.caller, Declared: requester.kind.declared}
	var reading sync.WaitGroup
	for i, server := range servers {
		parts[i] = part{server: server, visible: !down(server)}
		if !wait {
			parts[i].Listing, _ = v.gateway.lists.Cached(server, row, reader)
			continue
		}
		reading.Go(func() { parts[i].Listing = v.gateway.lists.Get(ctx, server, row, reader) })
	}
	reading.Wait()
	return parts
}

// cachedOwner returns the owner of a name according to the cached lists. It reports false if an earlier server may list
// the name too but has not been asked yet. The order of replies must not decide.
func (v *view) cachedOwner(
	ctx context.Context, row *methods.Row, requester listRequester, name string,
) (ownName, bool) {
	parts := v.parts(ctx, row, requester, false)
	var before []string
	first := slices.IndexFunc(parts, func(p part) bool {
		return p.Listing == nil && p.visible && v.mayYetList(p.server, row, requester)
	})
	for _, p := range parts[:max(first, 0)] {
		before = append(before, p.server)
	}
	owner, ok := v.mergeParts(row, requester, parts).byName[name]
	return owner, ok && (first < 0 || slices.Contains(before, owner.server))
}

// mayYetList reports whether a connected server has the list and was not asked for it.
func (v *view) mayYetList(server string, row *methods.Row, requester listRequester) bool {
	g := v.gateway
	_, asked := g.lists.Cached(server, row, lists.Reader{Caller: requester.caller, Declared: requester.kind.declared})
	return !asked && !g.attached.Fleet.Idle(server) && !g.lists.IsPending(server) && g.lists.Declares(server, row.Needs)
}

// merge joins the parts to one list.
func (v *view) merge(row *methods.Row, requester listRequester, parts []part, pages map[ownName]bool) *mergedList {
	m := &mergedList{
		row: row, requester: requester, parts: parts, pages: pages, byName: map[string]ownName{},
		viewNames: map[ownName]string{}, private: requester.kind.rights != nil,
	}
	first := true
	for _, p := range parts {
		seen := map[string]bool{}
		for _, raw := range p.Rows {
			id, err := protocol.OneMember(raw, row.ID)
			own, ok := wire.Unquote(id)
			switch {
			case err != nil || !ok || !utf8.Valid(raw):
				v.gateway.lists.LogOnce(p.server, p.Caller, fmt.Sprintf(
					"%s: a row has no %s, or two, or is not UTF-8: it is left out", row.Name, row.ID))
				continue
			case seen[own]:
				v.gateway.lists.LogOnce(p.server, p.Caller, fmt.Sprintf(
					"%s: %q is there twice: the first one stands", row.Name, protocol.Printable(own, 80)))
				continue
			}
			seen[own] = true
			m.add(v, p, own, raw)
		}
		if !p.visible {
			continue
		}
		if left := max(p.TTL-time.Since(p.ReadAt), 0); first || left < m.ttl {
			m.ttl, first = left, false
		}
		m.private = m.private || p.Private
	}
	m.mergedAt = time.Now()
	return m
}

// add adds a row under the name that it has in the view.
func (m *mergedList) add(v *view, p part, own string, raw json.RawMessage) {
	name, ok := v.shownName(m, p.server, own)
	if !ok {
		return
	}
	if _, taken := m.byName[name]; taken {
		v.gateway.lists.LogOnce(p.server, p.Caller, fmt.Sprintf(
			"%s: %q is taken: it is left out", m.row.Name, protocol.Printable(name, 80)))
		return
	}
	owner := ownName{p.server, own}
	m.byName[name] = owner
	m.allNames = append(m.allNames, name)
	if name != own {
		m.viewNames[owner] = name
		if m.row.Kind == methods.ByURI && !protocol.IsOwned(own) {
			v.urisCollide.Store(true)
		}
	}
	if !p.visible {
		return
	}
	if name != own {
		renamed, err := wire.Rewrite(raw, wire.Edit{Key: m.row.ID, Value: wire.Quote(name)})
		if err != nil {
			v.gateway.lists.LogOnce(p.server, p.Caller, fmt.Sprintf(
				"%s: %q is ambiguous: %v", m.row.Name, protocol.Printable(own, 80), err))
			delete(m.byName, name)
			return
		}
		raw = renamed
	}
	for _, path := range m.row.URIs {
		raw = wire.EditStrings(raw, path, func(uri string) string { return v.shownURI(m.row, p.server, uri) })
	}
	m.rowNames, m.rows = append(m.rowNames, name), append(m.rows, raw)
}

// shownName returns the name of a row in the view. It returns false if the row is not in the view.
func (v *view) shownName(m *mergedList, server, own string) (string, bool) {
	if !v.admits(m.requester, m.row, m.pages, m.row.Kind, ownName{server, own}) {
		return "", false
	}
	if m.row.Kind == methods.ByPrompt {
		return v.scope.displayName(server, own), true
	}
	name := v.shownURI(m.row, server, own)
	if first, taken := m.byName[name]; taken && first.server != server && v.scope.server == "" {
		name = protocol.OwnedURI(server, own)
	}
	return name, true
}

// shownURI returns the form that a server's URI has in the view.
func (v *view) shownURI(row *methods.Row, server, uri string) string {
	if v.scope.server != "" {
		return uri
	}
	if protocol.IsOwned(uri) || row.Name == "skills/list" || row.Name == "skills/get" {
		return protocol.OwnedURI(server, uri)
	}
	return uri
}

// page returns the part of the list that a cursor selects. Its ttlMs is the rest of m.ttl, or none if servers are
// pending.
func (m *mergedList) page(
	cursor json.RawMessage, size int, pending bool, sealed protocol.Cursors,
) (json.RawMessage, error) {
	left := max(m.ttl-time.Since(m.mergedAt), 0).Truncate(time.Second).Milliseconds()
	if pending {
		left = 0
	}
	m.mu.Lock()
	if m.list == nil || left != m.renderedTTL {
		var members []string
		if m.private {
			members = append(members, `"cacheScope":"private"`)
		}
		if left > 0 {
			members = append(members, fmt.Sprintf(`"ttlMs":%d`, left))
		}
		m.list, m.renderedTTL = protocol.NewList(m.row.List, m.rowNames, slices.Clone(m.rows), members...), left
	}
	l := m.list
	m.mu.Unlock()
	return l.Page(m.row.Name, cursor, size, sealed)
}

// list answers a list method.
func (v *view) list(ctx context.Context, row *methods.Row, m interop.Message) (json.RawMessage, error) {
	cursor, _ := wire.Lookup(m.Params, "cursor")
	_ = v.gateway.attached.Wait(ctx) // until the ledger is read and the servers are known
	requester := requesterOf(ctx)
	all := v.mergedFor(ctx, row, requester, true)
	v.recordListed(row, requester, all)
	return all.page(cursor, max(v.gateway.opts.Host.Page, 0), v.hasPending(),
		v.gateway.opts.Host.Keys.Cursors(string(m.Caller), row.Name))
}
