package serve

import (
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/registry"
	"github.com/indusagi/indus/mcpconfig"
)

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
