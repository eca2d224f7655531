package gateway

import (
	"context"
	"time"

	"github.com/indusagi/indus/gateway/internal/upstream"
	"github.com/indusagi/indus/internal/telemetry"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// stateWait bounds the reading of the approvals for the metrics.
const stateWait = time.Second

// state returns the state of the gateway for the metrics. The hosts of all views share their tables.
func (g *Gateway) state() telemetry.State {
	s := telemetry.State{Approvals: -1, Ledger: len(g.attached.Ledger().Log())}
	s.Sessions, s.Parked, s.Streams = g.mainView.host.Counts()
	if book := g.opts.Control.Approvals; book != nil {
		ctx, cancel := context.WithTimeout(g.ctx, stateWait)
		defer cancel()
		if waiting, err := book.List(ctx, nil); err == nil {
			s.Approvals = len(waiting)
		}
	}
	if count := g.opts.Control.Replicas; count != nil {
		s.Replicas, s.ReplicaProblems = count()
	}
	tools := map[string]int{}
	for _, d := range g.attached.Snapshot("").Tools {
		tools[d.Server]++
	}
	for _, st := range g.attached.Status() {
		one := telemetry.ServerState{Name: st.Server, Phase: string(st.Phase), Tools: tools[st.Server]}
		one.Calls, one.Queue = g.attached.Fleet.Load(st.Server)
		one.Restarts = g.Restarts(st.Server)
		s.Servers = append(s.Servers, one)
	}
	return s
}

// restarts counts how often a server was connected again.
type restarts struct {
	count int
	ended bool // its connection was lost or closed
}

// Restarts returns how often a server was connected again since it was configured: after a loss, an idle time, or on
// request.
func (g *Gateway) Restarts(server string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.restarts[server].count
}

// countRestarts counts the restarts of servers.
func (g *Gateway) countRestarts(e interop.Event) {
	_, returns := g.attached.Fleet.Server(e.Server)
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.restarts[e.Server]
	switch {
	case e.Kind == interop.ServerRemoved && !returns:
		delete(g.restarts, e.Server)
		return
	case e.Kind == interop.ServerRemoved, e.Kind == interop.ServerIdle,
		e.Kind == interop.ServerFaulted && e.Status.Era != "": // it was ready before
		r.ended = true
	case e.Kind == interop.ServerReady && r.ended:
		r = restarts{count: r.count + 1}
	default:
		return
	}
	g.restarts[e.Server] = r
}

// sessionEnded measures a session of a client.
func (g *Gateway) sessionEnded(version, transport string, lasted time.Duration) {
	g.opts.Control.Telemetry.SessionEnded(&telemetry.Operation{Protocol: version, Transport: transport}, lasted, "")
}

// measured returns a server whose requests and connections telemetry has.
func (g *Gateway) measured(s config.Server, e *interop.EndpointOptions) upstream.Server {
	return upstream.Server{
		Telemetry: g.opts.Control.Telemetry, Config: s, Endpoint: e, Transparent: s.ID == g.opts.Transparent,
		ListsTool:   func(name string) bool { return g.mainView.listsTool(name) },
		ListsPrompt: func(name string) bool { return g.listsPrompt(s.ID, name) },
		Mask:        g.maskText,
	}
}

// listsPrompt reports whether a server lists a prompt, to any caller, by the cached lists.
func (g *Gateway) listsPrompt(server, own string) bool {
	v := g.mainView
	all := v.mergedFor(g.ctx, g.table["prompts/list"], listRequester{kind: v.plainKind}, false)
	return all.byName[v.scope.displayName(server, own)] == ownName{server, own}
}
