package gateway

import (
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// scope is what a view has of all servers.
type scope interface {
	// has reports whether a server is in it.
	has(server string) bool
	// tools is its tools, under the names of the view.
	tools() toolbox.Source
	// name is what a server's tool or prompt is called in it, and shows whether it is.
	name(server, own string) (name string, shown bool)
	// single is the one server that it is; "": it may have several.
	single() string
}

// view is what the clients of one path see: a host of their own over a scope.
type view struct {
	gateway *Gateway
	scope   scope
	tools   host.Backend // tools/list and tools/call
	host    *host.Host

	prompts, resources watch.List // who is told that lists have changed

	mu    sync.Mutex
	lists map[string][]*merged // by method, the newest first
}

func (g *Gateway) newView(s scope) *view {
	v := &view{gateway: g, scope: s, lists: map[string][]*merged{}}
	v.tools = host.Tools(s.tools(), &g.opts.Host)
	v.host = host.NewFront(v, &g.opts.Host)
	return v
}

// viewNamed is the view of a path below /mcp; nil: there is none.
func (g *Gateway) viewNamed(name string) *view {
	if name == "" {
		return g.all
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if v := g.views[name]; v != nil || g.closed {
		return v
	}
	return nil // one server, and named selections, come with their own file
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

// everything is the scope of /mcp.
type everything struct{ g *Gateway }

func (everything) has(string) bool { return true }
func (everything) single() string  { return "" }

func (everything) name(server, own string) (string, bool) {
	return interop.QualifiedName(server, own), true
}

func (e everything) tools() toolbox.Source {
	var s toolbox.Source = e.g.attached
	if e.g.opts.Local != nil {
		s = toolbox.Join(e.g.opts.Local, s)
	}
	if e.g.opts.Expose != nil {
		s = e.g.opts.Expose(s)
	}
	return s
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
