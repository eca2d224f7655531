package gateway

import (
	"slices"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// scope is what a view has of all servers.
type scope interface {
	// has reports whether something of a server may be in it.
	has(server string) bool
	// may reports whether a part of that kind may be.
	may(server string, what subject) bool
	// admits decides whether a part of a server is; see [selection.admits].
	admits(server string, what subject, name string) bool
	// tools is what the view shows in the place of its tools.
	tools(*shownTools) toolbox.Source
	// name is what a server's tool or prompt is called in it.
	name(server, own string) string
	// single is the one server that it is; "": it may have several.
	single() string
}

// everything is the scope of /mcp.
type everything struct{ g *Gateway }

func (everything) has(string) bool                     { return true }
func (everything) may(string, subject) bool            { return true }
func (everything) admits(string, subject, string) bool { return true }
func (everything) single() string                      { return "" }
func (everything) name(server, own string) string      { return interop.QualifiedName(server, own) }

func (e everything) tools(shown *shownTools) toolbox.Source {
	var s toolbox.Source = shown
	shown.models = e.g.opts.Expose != nil
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

func (*selection) single() string                 { return "" }
func (*selection) name(server, own string) string { return interop.QualifiedName(server, own) }

func (s *selection) tools(tools *shownTools) toolbox.Source {
	expose := s.Expose
	if expose == nil {
		expose = s.g.opts.Expose
	}
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

func (s oneServer) has(server string) bool                         { return server == s.id }
func (s oneServer) may(server string, _ subject) bool              { return server == s.id }
func (s oneServer) admits(server string, _ subject, _ string) bool { return server == s.id }
func (s oneServer) single() string                                 { return s.id }

// name is the server's own, or what its rules rename it to, which are for tools.
func (oneServer) name(_, own string) string { return own }

func (oneServer) tools(shown *shownTools) toolbox.Source { return shown }

// sameScope reports whether two scopes show the same. Of Expose it is only known whether there is one.
func sameScope(a, b scope) bool {
	x, ok := a.(*selection)
	y, both := b.(*selection)
	if !ok || !both {
		return a == b
	}
	same := func(a, b []string) bool { return slices.Equal(a, b) && (a == nil) == (b == nil) }
	return same(x.Servers, y.Servers) && same(x.Tools, y.Tools) && same(x.Prompts, y.Prompts) && same(x.Resources, y.Resources) &&
		(x.Expose == nil) == (y.Expose == nil) && x.Profile == y.Profile
}
