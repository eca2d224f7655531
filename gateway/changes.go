package gateway

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// pace records how often a list of a server changed recently.
type pace struct {
	watch.Pace
	timer *time.Timer // runs until clients are notified; nil: no notification is due
}

// paceKey identifies a list of a server.
type paceKey struct{ server, feature string }

// handleEvent handles the events of servers, because their lists appear and disappear with them.
func (g *Gateway) handleEvent(e interop.Event) {
	g.countRestarts(e)
	switch e.Kind {
	case interop.ServerReady:
		g.lists.Store(e.Server)
	case interop.ServerFaulted: // until now clients saw its lists from the ledger
		if !g.lists.Down()(e.Server) {
			return
		}
	case interop.ServerRemoved:
		g.forgetPaces(e.Server)
	case interop.ServerWithdrawn:
	default:
		return
	}
	g.lists.Invalidate(e.Server, "", "")
	g.notifyClients(e.Server, "prompts")
	g.notifyClients(e.Server, "resources")
	if e.Kind == interop.ServerReady {
		g.lists.ReadMissing(e.Server)
	}
}

// handleNotification handles the notifications that servers send outside of any request.
func (g *Gateway) handleNotification(server string, m interop.Message) {
	for _, feature := range []string{"tools", "prompts", "resources"} {
		if m.Method != listChanged(feature) {
			continue
		}
		g.lists.Invalidate(server, feature, m.Caller)
		if g.scheduleNotification(paceKey{server, feature}) {
			g.notifyClients(server, feature)
		}
	}
}

// listChanged returns the method of the notification that a list of a feature changed.
func listChanged(feature string) string { return "notifications/" + feature + "/list_changed" }

// scheduleNotification reports whether clients are to be notified at once. Otherwise it schedules the notification.
func (g *Gateway) scheduleNotification(key paceKey) (now bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.paces[key]
	switch {
	case g.closed || p != nil && p.timer != nil:
		return false
	case p == nil:
		p = &pace{}
		g.paces[key] = p
	}
	pause := p.Pause(time.Now())
	if pause == 0 {
		return true
	}
	p.timer = time.AfterFunc(pause, func() {
		g.mu.Lock()
		p.timer = nil
		closed := g.closed
		g.mu.Unlock()
		if !closed {
			g.notifyClients(key.server, key.feature)
		}
	})
	return false
}

// notifyClients reports a possible change of a server's list to the clients of all views that have the server. It does
// not block.
func (g *Gateway) notifyClients(server, feature string) {
	for _, v := range g.allViews() {
		if v.mayContain(server, feature) && (feature != "tools" || v.toolsVary.Load()) {
			v.notifyLists(feature)
		}
	}
}

// listedRows is the list that the clients of a kind have.
type listedRows struct {
	client *interop.Client // one of these clients; nil: they declare nothing
	rows   [][]byte
	vary   bool // clients have different lists; guarded by view.mu
}

// recordListed records the list that a client gets, if the view has parts of servers.
func (v *view) recordListed(row *methods.Row, requester listRequester, m *mergedList) {
	if !v.isPartial() {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	l := requester.kind.listed[row]
	if l == nil {
		l = &listedRows{rows: m.rows}
		if requester.kind.declared != (interop.Declared{}) {
			l.client = requester.client.Listing()
		}
		requester.kind.listed[row] = l
	}
	l.vary = l.vary || m.private || !slices.EqualFunc(l.rows, m.rows, bytes.Equal)
}

// notifyLists notifies the clients of a view that its tools, prompts or resources changed. Most changes do not change a
// view of parts of servers. For such a view, it first compares the prompts and resources with the lists of the clients.
func (v *view) notifyLists(feature string) {
	changed := v.changes[feature]
	if feature == "tools" || !v.isPartial() { // ifToolsChanged compares the common list of tools
		changed.Notify()
		return
	}
	v.gateway.running.Go(func() {
		if v.listsChanged(feature) {
			changed.Notify()
		}
	})
}

// listsChanged reports whether a list of a feature differs from the list that clients have. It drops the record of such
// a list: the next client that requests the list makes a new record.
func (v *view) listsChanged(feature string) bool {
	v.mu.Lock()
	changed := v.kindsDropped
	kinds := slices.Collect(maps.Values(v.kinds))
	v.mu.Unlock()
	for _, k := range kinds {
		v.mu.Lock()
		listed := maps.Clone(k.listed)
		v.mu.Unlock()
		for row, l := range listed {
			if row.Needs[0] == feature && v.kindListChanged(k, row, l) {
				changed = true
			}
		}
	}
	return changed
}

func (v *view) kindListChanged(k *clientKind, row *methods.Row, l *listedRows) bool {
	changed := v.isListPerPrincipal(row)
	if !changed {
		m := v.mergedFor(interop.WithClient(v.gateway.ctx, l.client), row, listRequester{client: l.client, kind: k}, true)
		changed = m.private || !slices.EqualFunc(l.rows, m.rows, bytes.Equal)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	changed = changed || l.vary
	if changed && k.listed[row] == l {
		delete(k.listed, row)
	}
	return changed
}

// isListPerPrincipal reports whether each principal may have its own list, because a server has a connection for each
// principal.
func (v *view) isListPerPrincipal(row *methods.Row) bool {
	return slices.ContainsFunc(v.gateway.attached.Fleet.Servers(), func(s config.Server) bool {
		return s.Pool.Per == config.PerPrincipal && v.scope.mayContain(s.ID, row.Kind)
	})
}

// mayContain reports whether the view may contain entries of a server's list of this feature.
func (v *view) mayContain(server, feature string) bool {
	switch feature {
	case "tools":
		return v.scope.mayContain(server, methods.ByTool)
	case "prompts":
		return v.scope.mayContain(server, methods.ByPrompt)
	}
	return v.scope.mayContain(server, methods.ByURI) || v.scope.mayContain(server, methods.ByTool) // the pages of tools
}

// forgetPaces stops the pending notifications of a server.
func (g *Gateway) forgetPaces(server string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, p := range g.paces {
		if key.server == server {
			if p.timer != nil {
				p.timer.Stop()
			}
			delete(g.paces, key)
		}
	}
}
