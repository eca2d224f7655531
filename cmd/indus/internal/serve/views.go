package serve

import (
	"fmt"
	"slices"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/protocol"
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
