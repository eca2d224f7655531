package gateway

import (
	"context"
	"slices"
	"strings"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/uris"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// A view is a wall: no method reaches a part of a server that the view does not name. [scope.admits] decides this for
// tools, prompts and URIs. Every row of the table names one of these kinds. A row without one is denied.

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
	return config.QualifiedName(server, own)
}

// exposed returns the tools that the view shows: all its tools, after Expose and Profile.
func (s *scope) exposed(o *Options, shown *shownTools, all toolbox.Source) toolbox.Source {
	if s.server != "" {
		return all
	}
	expose := s.Expose
	if expose == nil {
		expose = o.Expose
	}
	exposed := all
	if expose != nil {
		exposed = expose(all)
		shown.models = exposed != all // without Expose, clients see all tools and select by visibility
	}
	if s.Profile != nil { // last, because clients see these schemas
		exposed = withProfile(s.Profile, exposed)
	}
	return exposed
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

// admits reports whether a part of a server is in the view. Tools and prompts are matched by their qualified names.
// Resources, templates and skills are matched by the server's own URI.
func (s *scope) admits(server string, kind methods.NameKind, name string) bool {
	if !s.selects(server) {
		return false
	}
	patterns, whole := s.patterns(kind)
	if whole {
		return true
	}
	if kind == methods.ByURI {
		if uris.EscapesDirectory(name) || !uris.HasOneReading(name) {
			return false
		}
		name = config.Server{ID: server}.Prefixes()[0] + name
	}
	return slices.ContainsFunc(patterns, func(p string) bool { return protocol.Matches(p, name) })
}

// selects reports whether the view selects a server.
func (s *scope) selects(server string) bool {
	return (s.server == "" || s.server == server) && matchesAny(s.Servers, server)
}

// patterns returns the patterns for one kind of parts. whole reports whether the view has its servers completely.
func (s *scope) patterns(kind methods.NameKind) (of []string, whole bool) {
	switch {
	case s.Tools == nil && s.Prompts == nil && s.Resources == nil:
		return nil, true
	case kind == methods.ByTool, kind == methods.ByPrompt && s.Prompts == nil:
		return s.Tools, false
	case kind == methods.ByPrompt:
		return s.Prompts, false
	case kind == methods.ByURI:
		return s.Resources, false
	}
	return nil, false
}

// mayContain reports whether the view can contain a part of that kind from a server, whatever the server lists.
func (s *scope) mayContain(server string, kind methods.NameKind) bool {
	patterns, whole := s.patterns(kind)
	return s.selects(server) && (whole || slices.ContainsFunc(patterns, func(p string) bool {
		return slices.ContainsFunc(config.Server{ID: server}.Prefixes(), func(q string) bool { return canBegin(p, q) })
	}))
}

// mayContainAny reports whether the view can contain any part of a server.
func (s *scope) mayContainAny(server string) bool {
	return s.mayContain(server, methods.ByTool) || s.mayContain(server, methods.ByPrompt) ||
		s.mayContain(server, methods.ByURI)
}

// canBegin reports whether a pattern matches some name that begins with beginning.
func canBegin(pattern, beginning string) bool {
	head, _, open := strings.Cut(pattern, "*")
	p, b := []rune(head), []rune(beginning)
	for i := range min(len(p), len(b)) {
		if p[i] != '?' && p[i] != b[i] {
			return false
		}
	}
	return open || len(p) > len(b)
}

// admits reports whether a caller sees a prompt, or a resource or template, of a server: the part is in the view, or in
// pages, the pages of the caller's tools, and the policy permits its use.
func (v *view) admits(
	requester listRequester, row *methods.Row, pages map[ownName]bool, kind methods.NameKind, owner ownName,
) bool {
	name := owner.own
	if kind != methods.ByURI {
		name = v.scope.displayName(owner.server, owner.own)
	}
	return (v.scope.admits(owner.server, kind, name) || kind == methods.ByURI && pages[owner]) &&
		listsItem(requester.kind.rights, partItem(row, kind, owner))
}

// pagesFor returns the pages of the tools that a caller sees, or nil if the view has resources without regard to tools.
func (v *view) pagesFor(requester listRequester) map[ownName]bool {
	if v.isPartial() {
		return v.toolNamesOf(requester).pages
	}
	return nil
}

// isPartial reports whether the view has parts of servers instead of complete servers.
func (v *view) isPartial() bool {
	_, whole := v.scope.patterns(methods.ByTool)
	return !whole
}

// toolNamesOf returns the tools that a caller sees, before Expose.
func (v *view) toolNamesOf(requester listRequester) *toolNames {
	return requester.kind.shown.toolNamesFor(requester.caller)
}

// hasPart reports whether some part of a server is known to be in the view.
func (v *view) hasPart(server string, requester listRequester) bool {
	isOfServer := func(d toolbox.Descriptor) bool { return d.Server == server }
	if slices.ContainsFunc(v.toolNamesOf(requester).visible.Tools, isOfServer) {
		return true
	}
	if !v.isPartial() && requester.kind.rights == nil { // a server with only held or denied tools does not belong
		return !v.gateway.lists.Declares(server, []string{"tools"})
	}
	for _, list := range []string{"prompts/list", "resources/list", "resources/templates/list", "skills/list"} {
		for _, owner := range v.mergedFor(v.gateway.ctx, v.gateway.table[list], requester, false).byName {
			if owner.server == server {
				return true
			}
		}
	}
	return false
}
