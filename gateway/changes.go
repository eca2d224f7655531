package gateway

import (
	"strings"

	"github.com/indusagi/indus/interop"
)

// happened takes what happens to servers: what they list comes and goes with them.
func (g *Gateway) happened(e interop.Event) {
	switch e.Kind {
	case interop.ServerReady:
		g.remember(e.Server)
		g.changed(e.Server, "")
	case interop.ServerWithdrawn, interop.ServerRemoved:
		g.changed(e.Server, "")
	}
}

// said takes what servers say outside of any request.
func (g *Gateway) said(server string, m interop.Message) {
	if feature, ok := strings.CutSuffix(strings.TrimPrefix(m.Method, "notifications/"), "/list_changed"); ok {
		g.changed(server, feature)
	}
}

// changed forgets what a server lists of a feature ("prompts", "resources"; "": all), and tells the
// clients of the views that have it. It does not block.
func (g *Gateway) changed(server, feature string) {
	if feature == "tools" {
		return // the fleet's own
	}
	g.lists.changed(server, feature)
	for _, v := range g.allViews() {
		if !v.scope.has(server) {
			continue
		}
		if feature != "resources" {
			v.prompts.Notify()
		}
		if feature != "prompts" {
			v.resources.Notify()
		}
	}
}
