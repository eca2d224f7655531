package gateway

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/toolbox"
)

// serverDescription is the description that a server gave when it was last connected.
type serverDescription struct {
	capabilities json.RawMessage // nil: the server was never connected
	instructions string
	info         json.RawMessage
	written      int // how often it was written to the ledger
}

// storeDescription stores the description of a server, for the time when it is not connected and for the next run.
func (g *Gateway) storeDescription(server string) {
	d := g.description(server)
	if d.capabilities == nil {
		return
	}
	was := g.storedDescription(server)
	g.mu.Lock()
	d.written = was.written
	g.descriptions[server] = d
	g.mu.Unlock()
	g.recordDescription(server, maxDescribed)
}

// description returns the description of a server: from its connection, or from its last one in this run or an earlier
// one.
func (g *Gateway) description(server string) serverDescription {
	if e, err := g.attached.Fleet.Endpoint(server, ""); err == nil {
		if caps := e.Capabilities(); caps != nil {
			return serverDescription{capabilities: caps, instructions: e.Instructions(), info: e.ServerInfo()}
		}
	}
	return g.storedDescription(server)
}

// declares reports whether a server declares the capability at a path of keys.
func (g *Gateway) declares(server string, path []string) bool {
	return protocol.Has(g.description(server).capabilities, path)
}

// mayDeclare reports the same as declares, but true for a server without a description.
func (g *Gateway) mayDeclare(server string, path []string) bool {
	d := g.description(server)
	return d.capabilities == nil || protocol.Has(d.capabilities, path)
}

// down returns a function that reports whether a server has nothing to show: it is not connected, and its lists are
// withdrawn. A server that has not answered yet shows the lists from the ledger.
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

// hasPending reports whether a server of the view has neither answered nor failed yet.
func (v *view) hasPending() bool {
	return slices.ContainsFunc(v.gateway.attached.Fleet.Snapshot("").Pending, v.scope.mayContainAny)
}

// logOnce logs that an entry of a server's list is left out, and the reason. It logs each note once. caller is the
// principal that the list is for, or "" if the list is for all.
func (g *Gateway) logOnce(server string, caller toolbox.Principal, reason string) {
	g.mu.Lock()
	key := server + "\x00" + string(caller) + "\x00" + reason
	logged := g.loggedNotes[key]
	if len(g.loggedNotes) >= maxLoggedNotes {
		clear(g.loggedNotes)
	}
	g.loggedNotes[key] = true
	g.mu.Unlock()
	if !logged && g.opts.Host.Logger != nil {
		g.opts.Host.Logger.Warn("a list is not complete", "server", server, "caller", caller, "why", reason)
	}
}

// maxLoggedNotes bounds the notes that are remembered as logged.
const maxLoggedNotes = 1000

// awaitServers waits until all servers of the view have answered or failed once, for at most the default connect
// timeout. It reports whether there was a server to wait for.
func (v *view) awaitServers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, protocol.DefaultConnect)
	defer cancel()
	waited := false
	for _, server := range v.gateway.attached.Fleet.Snapshot("").Pending {
		if v.scope.mayContainAny(server) {
			v.gateway.awaitAnswer(ctx, server)
			waited = true
		}
	}
	return waited
}

// awaitAnswer waits until a server has answered or failed once, or until ctx ends.
func (g *Gateway) awaitAnswer(ctx context.Context, server string) {
	defer g.opts.Control.Telemetry.Wait(ctx)()
	watch.Until(ctx, g.attached.Fleet.Watch, func() bool { return !g.isPending(server) })
}
