package gateway

import (
	"slices"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// scope is what a view has of all servers.
type scope interface {
	// has reports whether a server is in it.
	has(server string) bool
	// tools is what the view shows as its tools to clients that declare so much.
	tools(*view, interop.Declared) toolbox.Source
	// name is what a server's tool or prompt is called in it, and shows whether it is.
	name(server, own string) (name string, shown bool)
	// single is the one server that it is; "": it may have several.
	single() string
}

// everything is the scope of /mcp.
type everything struct{ g *Gateway }

func (everything) has(string) bool { return true }
func (everything) single() string  { return "" }

func (everything) name(server, own string) (string, bool) {
	return interop.QualifiedName(server, own), true
}

func (e everything) tools(v *view, d interop.Declared) toolbox.Source {
	var s toolbox.Source = newShownTools(v, d, e.g.opts.Expose != nil)
	if e.g.opts.Local != nil {
		s = toolbox.Join(e.g.opts.Local, s)
	}
	if e.g.opts.Expose != nil {
		s = e.g.opts.Expose(s)
	}
	return s
}

// selection is the scope of /mcp/@NAME.
type selection struct {
	g *Gateway
	View
}

func (s *selection) has(server string) bool { return matchesAny(s.Servers, server) }
func (*selection) single() string           { return "" }

func (s *selection) name(server, own string) (string, bool) {
	name := interop.QualifiedName(server, own)
	return name, s.has(server) && matchesAny(s.Tools, name)
}

func (s *selection) tools(v *view, d interop.Declared) toolbox.Source {
	expose := s.Expose
	if expose == nil {
		expose = s.g.opts.Expose
	}
	tools := newShownTools(v, d, false)
	var shown toolbox.Source = tools
	if expose != nil {
		shown = expose(tools)
		tools.models = shown != toolbox.Source(tools) // else its clients see them all, and know which are for apps
	}
	if s.Profile != nil { // last, for it is about the schemas that clients see
		shown = shapedFor(s.Profile, shown)
	}
	return shown
}

// matchesAny reports whether one of the patterns stands for a name; nil: all names.
func matchesAny(patterns []string, name string) bool {
	return patterns == nil || slices.ContainsFunc(patterns, func(p string) bool { return protocol.Matches(p, name) })
}

// oneServer is the scope of /mcp/SERVER.
type oneServer struct{ id string }

func (s oneServer) has(server string) bool { return server == s.id }
func (s oneServer) single() string         { return s.id }

// name is the server's own, or what its rules rename it to, which are for tools.
func (s oneServer) name(server, own string) (string, bool) { return own, server == s.id }

func (s oneServer) tools(v *view, d interop.Declared) toolbox.Source {
	return newShownTools(v, d, false)
}

// sameScope reports whether two scopes show the same. Of Expose it is only known whether there is one.
func sameScope(a, b scope) bool {
	x, ok := a.(*selection)
	y, both := b.(*selection)
	if !ok || !both {
		return a == b
	}
	return slices.Equal(x.Servers, y.Servers) && (x.Servers == nil) == (y.Servers == nil) &&
		slices.Equal(x.Tools, y.Tools) && (x.Tools == nil) == (y.Tools == nil) && (x.Expose == nil) == (y.Expose == nil) &&
		x.Profile == y.Profile
}
