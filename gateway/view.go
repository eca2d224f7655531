package gateway

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
)

// view is what the clients of one path see: a host of their own over a scope.
type view struct {
	gateway *Gateway
	name    string // the element of its path, see [ViewOf]
	scope   *scope
	plain   *clientKind // clients that declare nothing
	host    *host.Host
	opts    host.Options
	exact   bool // the one server of it is as if nothing were between it and its clients

	// changes has, by feature, who is told that a list has changed; of tools, one that is listed to some clients.
	changes map[string]*watch.List
	varied  atomic.Bool // a client has been here that may be listed other tools than all

	collide atomic.Bool // two servers have had a URI in common
	mu      sync.Mutex
	lists   map[string][]*merged    // by method, the newest first
	kinds   map[kindKey]*clientKind // of clients that have been here
	crowded bool                    // kinds were forgotten, and with them what is listed to them
}

func (g *Gateway) newView(name string, s *scope) *view {
	o := g.opts.Host
	o.Parameters = o.Parameters || s.Profile != nil
	return g.start(&view{name: name, scope: s}, o)
}

// newTransparent is a view of one server as it is.
func (g *Gateway) newTransparent(server string) *view {
	o := g.opts.Host
	o.Exact, o.Instructions, o.Page = true, "", 0
	return g.start(&view{scope: &scope{server: server}, exact: true}, o)
}

func (g *Gateway) start(v *view, o host.Options) *view {
	v.changes = map[string]*watch.List{"tools": {}, "prompts": {}, "resources": {}}
	v.gateway, v.opts, v.lists, v.kinds = g, o, map[string][]*merged{}, map[kindKey]*clientKind{}
	v.plain = v.newKind(interop.Declared{})
	if g.all != nil {
		o.Beside = g.all.host
	}
	var b host.Backend = v
	if g.opts.Tap != nil {
		b = tappedView{v}
	}
	v.host = host.NewFront(b, &o)
	return v
}

// viewMade is the view of a path below /mcp if it has been asked for before; nil: it has not, or there is none.
func (g *Gateway) viewMade(name string) *view {
	if name == "" || g.all.exact {
		return g.all
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.views[name]
}

// viewNamed is the view of a path below /mcp; nil: there is none.
func (g *Gateway) viewNamed(name string) *view {
	if name == "" || g.all.exact {
		return g.all
	}
	g.mu.Lock()
	v, selected, closed := g.views[name], g.scopeNamed(name), g.closed
	g.mu.Unlock()
	if v != nil || selected == nil || closed {
		return v
	}
	fresh := g.newView(name, selected)
	g.mu.Lock()
	if v = g.views[name]; v == nil && !g.closed {
		v = fresh
		g.views[name] = v
	}
	g.mu.Unlock()
	if v != fresh { // somebody else was faster, or all ends
		fresh.host.Close()
	}
	return v
}

// scopeNamed is the scope of a path below /mcp; nil: there is none. Call it with mu held.
func (g *Gateway) scopeNamed(name string) *scope {
	if selected, ok := strings.CutPrefix(name, "@"); ok && strings.HasPrefix(selected, "@") {
		name = selected // no view has such a name; a server may
	} else if ok {
		if of, ok := g.named[selected]; ok {
			return &scope{View: of}
		}
		return nil
	}
	if slices.ContainsFunc(g.attached.Status(), func(st interop.EndpointStatus) bool { return st.Server == name }) {
		return &scope{server: name}
	}
	return nil
}

// dropViews ends the views whose server or name is gone, or another now, with their sessions.
func (g *Gateway) dropViews() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, v := range g.views {
		if !g.closed && !v.scope.same(g.scopeNamed(name)) {
			delete(g.views, name)
			g.running.Go(v.host.Close)
		}
	}
}

func (g *Gateway) allViews() []*view {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := []*view{g.all}
	for _, v := range g.views {
		all = append(all, v)
	}
	return all
}

// servers is the ids of the scope's servers, in configuration order.
func (v *view) servers() []string {
	var ids []string
	for _, st := range v.gateway.attached.Status() {
		if v.scope.has(st.Server) && !slices.Contains(ids, st.Server) {
			ids = append(ids, st.Server)
		}
	}
	return ids
}

// isNote reports a notification's method.
func isNote(method string) bool { return strings.HasPrefix(method, "notifications/") }
