package gateway

import (
	"context"
	"slices"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// scope is the part of all servers in a view: everything at /mcp, a selection at /mcp/@NAME, one server at /mcp/SERVER.
type scope struct {
	View
	everything bool   // includes Options.Local
	server     string // the only server; "": there may be several
}

// displayName returns the name under which the view shows a tool or prompt. The view of one server uses the server's
// own name, or the name that a rule for tools gives.
func (s *scope) displayName(server, own string) string {
	if s.server != "" {
		return own
	}
	return interop.QualifiedName(server, own)
}

// tools returns all tools of the view, and the tools that it shows, after Expose and Profile.
func (s *scope) tools(o *Options, shown *shownTools) (all, exposed toolbox.Source) {
	if s.server != "" {
		return shown, shown
	}
	expose := s.Expose
	if expose == nil {
		expose = o.Expose
	}
	var src toolbox.Source = shown
	if s.everything && o.Local != nil {
		src = toolbox.Join(&localTools{Source: o.Local, shown: shown}, src)
	}
	exposed = src
	if expose != nil {
		exposed = expose(src)
		shown.models = exposed != src // without Expose, clients see all tools and select by visibility
	}
	if s.Profile != nil { // last, because clients see these schemas
		exposed = withProfile(s.Profile, exposed)
	}
	return src, exposed
}

// matchesAny reports whether one of the patterns matches a name. Nil matches all names.
func matchesAny(patterns []string, name string) bool {
	return patterns == nil || slices.ContainsFunc(patterns, func(p string) bool { return protocol.Matches(p, name) })
}

// same reports whether two scopes show the same. Of Expose, it compares only whether it is set.
func (s *scope) same(o *scope) bool {
	same := func(a, b []string) bool { return slices.Equal(a, b) && (a == nil) == (b == nil) }
	return o != nil && s.server == o.server && (s.Expose == nil) == (o.Expose == nil) && s.Profile == o.Profile &&
		same(s.Servers, o.Servers) && same(s.Tools, o.Tools) && same(s.Prompts, o.Prompts) && same(s.Resources, o.Resources)
}

// shapedTools shows tools with schemas that are adapted to a profile (as with Parameters, see host.Options). It maps
// arguments for the adapted schemas back to the schemas of the tools.
type shapedTools struct{ *toolbox.Box }

func withProfile(p *schema.Profile, src toolbox.Source) toolbox.Source {
	return shapedTools{toolbox.NewBox(&toolbox.BoxOptions{
		Profile: p, Around: []func(toolbox.Do) toolbox.Do{restoreWireArguments},
	}, src)}
}

// Do implements [toolbox.Source].
func (s shapedTools) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	out := s.Run(ctx, c)
	return out.Result, out.Err
}

// restoreWireArguments puts the mapped arguments into the params that the client sent.
func restoreWireArguments(next toolbox.Do) toolbox.Do {
	return func(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
		if c.Wire.JSON != nil {
			params, err := wire.Rewrite(c.Wire.JSON, wire.Edit{Key: "arguments", Value: c.Input})
			if err != nil {
				return nil, err
			}
			c.Wire.JSON = params
		}
		return next(ctx, c)
	}
}
