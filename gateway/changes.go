package gateway

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
)

// pace records how often a list of a server changed recently.
type pace struct {
	watch.Pace
	waits *time.Timer // runs until clients are notified; nil: no notification is due
}

// paceKey identifies a list of a server.
type paceKey struct{ server, feature string }

// happened handles the events of servers, because their lists appear and disappear with them.
func (g *Gateway) happened(e interop.Event) {
	switch e.Kind {
	case interop.ServerReady:
		g.remember(e.Server)
	case interop.ServerFaulted: // until now clients saw its lists from the ledger
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

// said handles the notifications that servers send outside of any request.
func (g *Gateway) said(server string, m interop.Message) {
	for _, feature := range []string{"tools", "prompts", "resources"} {
		if m.Method != listChanged(feature) {
			continue
		}
		g.lists.changed(server, feature, m.Caller)
		if g.tellLater(paceKey{server, feature}) {
			g.tell(server, feature)
		}
	}
}

// listChanged returns the method of the notification that a list of a feature changed.
func listChanged(feature string) string { return "notifications/" + feature + "/list_changed" }

// tellLater reports whether clients are to be notified at once. Otherwise it schedules the notification.
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
	}
	pause := p.Pause(time.Now())
	if pause == 0 {
		return true
	}
	p.waits = time.AfterFunc(pause, func() {
		g.mu.Lock()
		p.waits = nil
		closed := g.closed
		g.mu.Unlock()
		if !closed {
			g.tell(key.server, key.feature)
		}
	})
	return false
}

// tell reports a possible change of a server's list to the clients of all views that have the server. It does not
// block.
func (g *Gateway) tell(server, feature string) {
	for _, v := range g.allViews() {
		if v.concerns(server, feature) && (feature != "tools" || v.varied.Load()) {
			v.tellLists(feature)
		}
	}
}

// listedRows is the list that the clients of a kind have.
type listedRows struct {
	client *interop.Client // one of these clients; nil: they declare nothing
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
	l := who.kind.listed[row]
	if l == nil {
		l = &listedRows{rows: m.rows}
		if who.kind != v.plain {
			l.client = who.client.Listing()
		}
		who.kind.listed[row] = l
	}
	l.differ = l.differ || m.private || !slices.EqualFunc(l.rows, m.rows, bytes.Equal)
}

// tellLists notifies the clients of a view that its tools, prompts or resources changed. Most changes do not change a
// view of parts of servers. For such a view, it first compares the prompts and resources with the lists of the clients.
func (v *view) tellLists(feature string) {
	changed := v.changes[feature]
	if feature == "tools" || !v.isPartial() { // ifToolsChanged compares the common list of tools
		changed.Notify()
		return
	}
	v.gateway.running.Go(func() {
		if v.listsOthers(feature) {
			changed.Notify()
		}
	})
}

// listsOthers reports whether a list of a feature differs from the list that clients have. It drops the record of such
// a list: the next client that requests the list makes a new record.
func (v *view) listsOthers(feature string) bool {
	v.mu.Lock()
	others := v.crowded
	kinds := slices.Collect(maps.Values(v.kinds))
	v.mu.Unlock()
	for _, k := range kinds {
		v.mu.Lock()
		listed := maps.Clone(k.listed)
		v.mu.Unlock()
		for row, l := range listed {
			if row.needs[0] == feature && v.listsOther(k, row, l) {
				others = true
			}
		}
	}
	return others
}

func (v *view) listsOther(k *clientKind, row *methodRow, l *listedRows) bool {
	other := v.isForEach(row)
	if !other {
		m := v.merged(interop.WithClient(v.gateway.ctx, l.client), row, asker{client: l.client, kind: k}, true)
		other = m.private || !slices.EqualFunc(l.rows, m.rows, bytes.Equal)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if other = other || l.differ; other && k.listed[row] == l {
		delete(k.listed, row)
	}
	return other
}

// isForEach reports whether each principal may have its own list, because a server has a connection for each principal.
func (v *view) isForEach(row *methodRow) bool {
	return slices.ContainsFunc(v.gateway.attached.Fleet.Servers(), func(s interop.Server) bool {
		return s.Pool.Per == interop.PerPrincipal && v.scope.may(s.ID, row.names)
	})
}

// concerns reports whether the view may contain entries of a server's list of this feature.
func (v *view) concerns(server, feature string) bool {
	switch feature {
	case "tools":
		return v.scope.may(server, byTool)
	case "prompts":
		return v.scope.may(server, byPrompt)
	}
	return v.scope.may(server, byURI) || v.scope.may(server, byTool) // the pages of tools
}

// forgetPaces stops the pending notifications of a server. "" means all servers.
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
