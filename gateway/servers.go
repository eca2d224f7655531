package gateway

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/toolbox"
)

// declared is what a server said of itself when it was last connected.
type declared struct {
	capabilities json.RawMessage // nil: it never was
	instructions string
	info         json.RawMessage
	written      int // how often it was, to the ledger
}

// remember keeps what a server says of itself for as long as it is lost, and for the next run.
func (g *Gateway) remember(server string) {
	d := g.says(server)
	if d.capabilities == nil {
		return
	}
	was := g.recall(server)
	g.mu.Lock()
	d.written = was.written
	g.known[server] = d
	g.mu.Unlock()
	g.describe(server, maxDescribed)
}

// says is what a server says of itself, or has said before it was lost, or when it last ran.
func (g *Gateway) says(server string) declared {
	if e, err := g.attached.Fleet.Endpoint(server, ""); err == nil {
		if caps := e.Capabilities(); caps != nil {
			return declared{capabilities: caps, instructions: e.Instructions(), info: e.ServerInfo()}
		}
	}
	return g.recall(server)
}

// declares reports whether a server says that it has what a path of keys leads to.
func (g *Gateway) declares(server string, path []string) bool {
	return protocol.Has(g.says(server).capabilities, path)
}

// mayDeclare is declares, and true of a server that has not said anything yet.
func (g *Gateway) mayDeclare(server string, path []string) bool {
	d := g.says(server)
	return d.capabilities == nil || protocol.Has(d.capabilities, path)
}

// down reports which servers have nothing to show: they are not connected, and their lists are withdrawn. A server that
// has not answered yet shows the lists that the ledger has.
func (g *Gateway) down() func(server string) bool {
	s := g.attached.Fleet.Snapshot("")
	return func(server string) bool {
		if !slices.ContainsFunc(s.Down, func(d toolbox.Down) bool { return d.Server == server }) {
			return false
		}
		e, err := g.attached.Fleet.Endpoint(server, "")
		return err != nil || !e.Phase().Usable()
	}
}

// isPending reports whether a server has neither answered nor failed in this run.
func (g *Gateway) isPending(server string) bool {
	return slices.Contains(g.attached.Fleet.Snapshot("").Pending, server)
}

// pending reports whether servers of the view have not been heard yet.
func (v *view) pending() bool {
	return slices.ContainsFunc(v.gateway.attached.Fleet.Snapshot("").Pending, v.scope.has)
}

// note logs what of a server's is left out, once for as long as it is connected.
// caller is whose list it is; "": everybody's.
func (g *Gateway) note(server string, caller toolbox.Principal, why string) {
	g.mu.Lock()
	key := server + "\x00" + string(caller) + "\x00" + why
	said := g.noted[key]
	if len(g.noted) >= maxNoted {
		clear(g.noted)
	}
	g.noted[key] = true
	g.mu.Unlock()
	if !said && g.opts.Host.Logger != nil {
		g.opts.Host.Logger.Warn("a list is not complete", "server", server, "caller", caller, "why", why)
	}
}

// maxNoted bounds what is remembered to have been logged.
const maxNoted = 1000

// heard waits until all servers of the view were heard once, or have failed, as long as one has to connect. It reports
// whether there was one to wait for.
func (v *view) heard(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, protocol.DefaultConnect)
	defer cancel()
	waited := false
	for _, server := range v.gateway.attached.Fleet.Snapshot("").Pending {
		if v.scope.has(server) {
			v.gateway.settled(ctx, server)
			waited = true
		}
	}
	return waited
}

// settled waits until a server was heard once, or failed, or ctx ends.
func (g *Gateway) settled(ctx context.Context, server string) {
	watch.Until(ctx, g.attached.Fleet.Watch, func() bool { return !g.isPending(server) })
}
