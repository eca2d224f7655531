package gateway

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
)

// view serves the clients of one path: it has its own host and a scope.
type view struct {
	gateway     *Gateway
	name        string // the element of its path, see [ViewOf]
	scope       *scope
	plainKind   *clientKind // clients that declare nothing, without a policy
	host        *host.Host
	opts        host.Options
	transparent bool // clients see the one server as if the gateway were not there

	// changes has, by feature, the watchers of list changes. Tools have watchers only for lists for some kinds of
	// clients.
	changes   map[string]*watch.List
	toolsVary atomic.Bool // a client may have another list of tools than the common one

	urisCollide  atomic.Bool // two servers had a URI in common
	mu           sync.Mutex
	lists        map[string][]*mergedList // by method, the newest first
	kinds        map[kindKey]*clientKind  // kinds of clients that have connected
	kindsDropped bool                     // kinds were dropped, and with them the records of their lists
}

func (g *Gateway) newView(name string, s *scope) *view {
	o := g.opts.Host
	o.Parameters = o.Parameters || s.Profile != nil
	return g.startView(&view{name: name, scope: s}, o)
}

// newTransparent returns a view of one server that does not change it.
func (g *Gateway) newTransparent(server string) *view {
	o := g.opts.Host
	o.Exact, o.Instructions, o.Page = true, "", 0
	return g.startView(&view{scope: &scope{server: server}, transparent: true}, o)
}

func (g *Gateway) startView(v *view, o host.Options) *view {
	v.changes = map[string]*watch.List{"tools": {}, "prompts": {}, "resources": {}}
	v.gateway, v.opts, v.lists, v.kinds = g, o, map[string][]*mergedList{}, map[kindKey]*clientKind{}
	v.plainKind = v.kindOf(kindKey{}, nil)
	if g.mainView != nil {
		o.Beside = g.mainView.host
	}
	var b host.Backend = v
	if g.opts.Tap != nil {
		b = tappedView{v}
	}
	v.host = host.NewFront(b, &o)
	return v
}

// existingView returns the view of a path below /mcp if it exists already, or nil.
func (g *Gateway) existingView(name string) *view {
	if name == "" || g.mainView.transparent {
		return g.mainView
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.views[name]
}

// viewByName returns the view of a path below /mcp, and makes it if necessary. It returns nil if there is no such view.
func (g *Gateway) viewByName(name string) *view {
	g.mu.Lock()
	v, selected, closed := g.views[name], g.scopeByName(name), g.closed
	g.mu.Unlock()
	if v != nil || selected == nil || closed {
		return v
	}
	fresh := g.newView(name, selected)
	g.mu.Lock()
	v = g.views[name]
	if v == nil && !g.closed {
		v = fresh
		g.views[name] = v
	}
	g.mu.Unlock()
	if v != fresh { // another goroutine was faster, or the gateway is closed
		fresh.host.Close()
	}
	return v
}

// scopeByName returns the scope of a path below /mcp, or nil if there is none. The caller holds mu.
func (g *Gateway) scopeByName(name string) *scope {
	if selected, ok := strings.CutPrefix(name, "@"); ok && strings.HasPrefix(selected, "@") {
		name = selected // no view has such a name; a server may
	} else if ok {
		if of, ok := g.namedViews[selected]; ok {
			return &scope{View: of}
		}
		return nil
	}
	if slices.ContainsFunc(g.attached.Status(), func(st interop.EndpointStatus) bool { return st.Server == name }) {
		return &scope{server: name}
	}
	return nil
}

// dropViews ends views and their sessions, if the server or selection is gone or the selection is another one now.
func (g *Gateway) dropViews() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, v := range g.views {
		if !g.closed && !v.scope.same(g.scopeByName(name)) {
			delete(g.views, name)
			g.running.Go(v.host.Close)
		}
	}
}

func (g *Gateway) allViews() []*view {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := []*view{g.mainView}
	for _, v := range g.views {
		all = append(all, v)
	}
	return all
}

// servers returns the ids of the view's servers, in the order of the configuration.
func (v *view) servers() []string {
	var ids []string
	for _, st := range v.gateway.attached.Status() {
		if v.scope.mayContainAny(st.Server) && !slices.Contains(ids, st.Server) {
			ids = append(ids, st.Server)
		}
	}
	return ids
}

// hasPending reports whether a server of the view has neither answered nor failed yet.
func (v *view) hasPending() bool {
	return slices.ContainsFunc(v.gateway.attached.Fleet.Snapshot("").Pending, v.scope.mayContainAny)
}

// awaitServers waits until all servers of the view have answered or failed once, for at most the default connect
// timeout. It reports whether there was a server to wait for.
func (v *view) awaitServers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, protocol.DefaultConnect)
	defer cancel()
	waited := false
	for _, server := range v.gateway.attached.Fleet.Snapshot("").Pending {
		if v.scope.mayContainAny(server) {
			v.gateway.lists.AwaitAnswer(ctx, server)
			waited = true
		}
	}
	return waited
}
