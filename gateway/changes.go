package gateway

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// A server may change its lists as often as it likes, but each time all clients look. After
// freeChanges of one list, with less than changeCalm between them, they are told after a pause that
// doubles up to firstPause << maxPauseShift, 12.8 s. (The fleet does so with tools.)
const (
	freeChanges   = 20
	changeCalm    = 30 * time.Second
	firstPause    = 100 * time.Millisecond
	maxPauseShift = 7
)

// pace is how often a list of a server has changed of late.
type pace struct {
	n     int
	last  time.Time
	waits *time.Timer // until clients are told; nil: nothing is to be told
}

// paceKey is a list of a server's.
type paceKey struct{ server, feature string }

// happened takes what happens to servers: what they list comes and goes with them.
func (g *Gateway) happened(e interop.Event) {
	switch e.Kind {
	case interop.ServerReady:
		g.remember(e.Server)
	case interop.ServerFaulted: // what the ledger has of it was listed until now
		if !g.down()(e.Server) {
			return
		}
	case interop.ServerRemoved:
		g.forgetPaces(e.Server)
	case interop.ServerWithdrawn:
	default:
		return
	}
	g.lists.changed(e.Server, "", "")
	g.tell(e.Server, "prompts")
	g.tell(e.Server, "resources")
	if e.Kind == interop.ServerReady {
		g.lists.learn(e.Server)
	}
}

// said takes what servers say outside of any request.
func (g *Gateway) said(server string, m interop.Message) {
	switch m.Method {
	case protocol.NoteToolsChanged: // what is listed to everybody is compared before anybody is told
		g.changed(server, "tools", m.Caller)
	case protocol.NotePromptsChanged:
		g.changed(server, "prompts", m.Caller)
	case protocol.NoteResourcesChanged:
		g.changed(server, "resources", m.Caller)
	}
}

// changed forgets what a server lists of a feature, for who alone was told, or for all, and tells clients, now or later.
func (g *Gateway) changed(server, feature string, to toolbox.Principal) {
	g.lists.changed(server, feature, to)
	if g.tellLater(paceKey{server, feature}) {
		g.tell(server, feature)
	}
}

// tellLater reports whether clients are to be told of a change at once; else they are later.
func (g *Gateway) tellLater(key paceKey) (now bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.paces[key]
	switch {
	case g.closed || p != nil && p.waits != nil:
		return false
	case p == nil:
		p = &pace{}
		g.paces[key] = p
	case time.Since(p.last) > changeCalm:
		p.n = 0
	}
	p.n, p.last = p.n+1, time.Now()
	if p.n <= freeChanges {
		return true
	}
	p.waits = time.AfterFunc(firstPause<<min(p.n-freeChanges-1, maxPauseShift), func() {
		g.mu.Lock()
		p.waits, p.last = nil, time.Now()
		closed := g.closed
		g.mu.Unlock()
		if !closed {
			g.tell(key.server, key.feature)
		}
	})
	return false
}

// tell tells the clients of the views that have a server that a list of it may be another. It does
// not block.
func (g *Gateway) tell(server, feature string) {
	for _, v := range g.allViews() {
		switch {
		case !v.concerns(server, feature) || feature == "tools" && !v.varied.Load():
		case feature == "tools":
			v.varying.Notify()
		default:
			v.tellLists(feature)
		}
	}
}

// maxListed bounds the lists that a view of parts of servers remembers.
const maxListed = 4 * maxKinds

// listedKey is a list of a view, and the clients that it is for.
type listedKey struct {
	row      *methodRow
	declared interop.Declared
}

// listedRows is the list that the clients of a kind have.
type listedRows struct {
	client *interop.Client // one of them; nil: they declare nothing
	rows   [][]byte
	differ bool // clients have different lists; guarded by view.mu
}

// noteListed records the list that a client gets, if the view has parts of servers.
func (v *view) noteListed(row *methodRow, who asker, m *merged) {
	if !v.isPartial() {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	key := listedKey{row, who.declared}
	l := v.listed[key]
	if l == nil && len(v.listed) >= maxListed {
		v.crowded = true
		return
	}
	if l == nil {
		l = &listedRows{rows: m.rows}
		if who.client != nil {
			l.client = who.client.Listing()
		}
		v.listed[key] = l
	}
	l.differ = l.differ || m.private || !slices.EqualFunc(l.rows, m.rows, bytes.Equal)
}

// tellLists notifies the clients of a view that its prompts or resources have changed. If the view has only parts of servers, it
// first compares the lists with those that clients have, because most changes of a server are no changes of the view.
func (v *view) tellLists(feature string) {
	changed := &v.resources
	if feature == "prompts" {
		changed = &v.prompts
	}
	if !v.isPartial() {
		changed.Notify()
		return
	}
	v.gateway.running.Go(func() {
		if v.listsOthers(feature) {
			changed.Notify()
		}
	})
}

// listsOthers reports whether a list of a feature differs from the list that clients have. It drops the record of such a list:
// the next client that asks for the list makes a new one.
func (v *view) listsOthers(feature string) bool {
	v.mu.Lock()
	listed, others := maps.Clone(v.listed), v.crowded
	v.mu.Unlock()
	for key, l := range listed {
		if key.row.needs[0] != feature {
			continue
		}
		other := v.isForEach(key.row)
		if !other {
			m := v.merged(interop.WithClient(v.gateway.ctx, l.client), key.row, asker{client: l.client, declared: key.declared}, true)
			other = m.private || !slices.EqualFunc(l.rows, m.rows, bytes.Equal)
		}
		v.mu.Lock()
		if other = other || l.differ; other && v.listed[key] == l {
			delete(v.listed, key)
		}
		v.mu.Unlock()
		others = others || other
	}
	return others
}

// isForEach reports whether each principal may have a list of its own, because a server has a connection for each.
func (v *view) isForEach(row *methodRow) bool {
	return slices.ContainsFunc(v.gateway.attached.Fleet.Servers(), func(s interop.Server) bool {
		return s.Pool.Per == interop.PerPrincipal && v.scope.may(s.ID, row.names)
	})
}

// concerns reports whether the view may have parts of a server that a list of a feature has.
func (v *view) concerns(server, feature string) bool {
	switch feature {
	case "tools":
		return v.scope.may(server, byTool)
	case "prompts":
		return v.scope.may(server, byPrompt)
	}
	return v.scope.may(server, byURI) || v.scope.may(server, byTool) // the pages of tools
}

// forgetPaces stops what is still to be told of a server; "": of all.
func (g *Gateway) forgetPaces(server string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, p := range g.paces {
		if server != "" && key.server != server {
			continue
		}
		if p.waits != nil {
			p.waits.Stop()
		}
		delete(g.paces, key)
	}
}
