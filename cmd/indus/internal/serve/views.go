package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/registry"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// The values of --expose and of a view's "mode".
const (
	exposeAll     = "all"
	exposeGateway = "gateway"
)

var exposures = []string{exposeAll, exposeGateway}

// exposeFunc returns the function that replaces the tools for clients, or nil to keep them. Behind the four tools, a
// client has no schema to check arguments with, so indus checks them.
func (f *serveFlags) exposeFunc(how string) func(toolbox.Source) toolbox.Source {
	if how != exposeGateway {
		return nil
	}
	return func(tools toolbox.Source) toolbox.Source {
		return catalog.Over(tools, &catalog.Options{Unvalidated: f.noValidate})
	}
}

// viewNotes returns notes about patterns of views that match no configured server.
func (f *serveFlags) viewNotes(c *mcpconfig.Config) (notes []string) {
	if f.transparent != "" { // a transparent server has no views
		return nil
	}
	var ids []string
	for _, r := range c.Rows {
		ids = append(ids, r.Server.ID)
	}
	for _, v := range c.Views {
		for _, p := range v.Servers {
			if p != "*" && !slices.ContainsFunc(ids, func(id string) bool { return protocol.Matches(p, id) }) {
				notes = append(notes,
					show.Clean(fmt.Sprintf("%s:%d: the view %s: %q matches no server%s", v.File, v.Line, v.Name, p,
						command.DidYouMean(p, ids))))
			}
		}
	}
	return notes
}

// views returns the views of the configuration.
func (f *serveFlags) views(c *mcpconfig.Config) map[string]gateway.View {
	out := map[string]gateway.View{}
	for _, v := range c.Views {
		view := gateway.View{
			Servers: v.Servers, Tools: v.Tools, Prompts: v.Prompts, Resources: v.Resources, Profile: v.Profile,
		}
		switch {
		case v.Mode == "" || v.Mode == f.expose: // same as --expose
		case v.Mode == exposeAll:
			view.Expose = func(tools toolbox.Source) toolbox.Source { return tools }
		default:
			view.Expose = f.exposeFunc(v.Mode)
		}
		out[v.Name] = view
	}
	return out
}

// publisher serves the public documents about the views with "publish".
type publisher struct {
	front   *frontGuard
	address *url.URL // the scheme and host of the views, or nil if it is unknown
	s       show.Streams
	site    atomic.Pointer[registry.Site]
}

// newPublisher returns the publisher for clients, or nil for a program that has no views at paths.
func (f *serveFlags) newPublisher(front *frontGuard, t *clientTransport, s show.Streams) *publisher {
	if front == nil || f.transparent != "" {
		return nil
	}
	p := &publisher{front: front, s: s}
	if at, err := url.Parse(front.address(t)); err == nil && at.Host != "" {
		p.address = at
	}
	return p
}

// publish publishes the views of a configuration. It does nothing if p is nil.
func (p *publisher) publish(c *mcpconfig.Config) {
	if p == nil {
		return
	}
	var views []string
	for _, v := range c.Views {
		if v.Publish {
			views = append(views, v.Name)
		}
	}
	var site *registry.Site
	switch {
	case len(views) == 0:
	case p.address == nil:
		p.s.Reportf("no view is published, because the address for clients is unknown: " +
			"set \"publicUrl\" in \"auth\", or --public-url")
	default:
		site = registry.NewSite(p.address, "/mcp", views, p.front.needsToken())
	}
	p.site.Store(site)
}

// handler implements gateway.Options.Documents.
func (p *publisher) handler(path string) http.Handler {
	if site := p.site.Load(); site != nil {
		return site.Handler(path)
	}
	return nil
}
