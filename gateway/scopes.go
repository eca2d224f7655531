package gateway

import (
	"slices"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// scope is what a view has of all servers: at /mcp everything, at /mcp/@NAME a selection, at /mcp/SERVER one server.
type scope struct {
	View
	everything bool   // also what Options.Local has
	server     string // the only one; "": there may be several
}

// name is what a server's tool or prompt is called: in the view of one server as the server, or a rule for tools, has it.
func (s *scope) name(server, own string) string {
	if s.server != "" {
		return own
	}
	return interop.QualifiedName(server, own)
}

// tools is what the view shows in the place of its tools.
func (s *scope) tools(o *Options, shown *shownTools) toolbox.Source {
	if s.server != "" {
		return shown
	}
	expose := s.Expose
	if expose == nil {
		expose = o.Expose
	}
	var src toolbox.Source = shown
	if s.everything && o.Local != nil {
		src = toolbox.Join(o.Local, src)
	}
	if expose != nil {
		exposed := expose(src)
		shown.models = exposed != src // else its clients see them all, and know which are for apps
		src = exposed
	}
	if s.Profile != nil { // last, for it is about the schemas that clients see
		src = shapedFor(s.Profile, src)
	}
	return src
}

// matchesAny reports whether one of the patterns stands for a name; nil: all names.
func matchesAny(patterns []string, name string) bool {
	return patterns == nil || slices.ContainsFunc(patterns, func(p string) bool { return protocol.Matches(p, name) })
}

// same reports whether two scopes show the same. Of Expose it is only known whether there is one.
func (s *scope) same(o *scope) bool {
	same := func(a, b []string) bool { return slices.Equal(a, b) && (a == nil) == (b == nil) }
	return o != nil && s.server == o.server && same(s.Servers, o.Servers) && same(s.Tools, o.Tools) && same(s.Prompts, o.Prompts) &&
		same(s.Resources, o.Resources) && (s.Expose == nil) == (o.Expose == nil) && s.Profile == o.Profile
}
