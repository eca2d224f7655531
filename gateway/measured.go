package gateway

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"time"

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

// connectionEnded returns a function that measures a connection to a server.
func (g *Gateway) connectionEnded(
	s config.Server, e *interop.EndpointOptions,
) func(interop.EndpointStatus, time.Duration) {
	transport := transportOf(s, e)
	return func(st interop.EndpointStatus, lasted time.Duration) {
		o := &telemetry.Operation{Server: s.ID, Protocol: st.Version, Transport: transport}
		kind := ""
		if st.Fault != nil {
			kind = string(st.Fault.Kind)
		}
		g.opts.Control.Telemetry.SessionEnded(o, lasted, kind)
	}
}

// transportOf returns the transport of a server for telemetry.
func transportOf(s config.Server, e *interop.EndpointOptions) string {
	switch {
	case e.Transport != nil:
		return "memory"
	case s.Transport == nil:
		return ""
	case s.Transport.Kind() == config.KindHTTP, s.Single && e.Elsewhere != nil: // another replica runs its process
		return "http"
	}
	return string(s.Transport.Kind())
}

// addressOf returns HOST:PORT of a server at a URL for telemetry. It returns "" if the host is a secret.
func addressOf(s config.Server) string {
	var raw string
	switch t := s.Transport.(type) {
	case config.HTTP:
		raw = t.URL
	case config.SSE:
		raw = t.URL
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || s.Mask(u.Host) != u.Host {
		return ""
	}
	port := u.Port()
	if port == "" && u.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(port, "80"))
}

// listsPrompt reports whether a server lists a prompt, to any caller, by the cached lists.
func (g *Gateway) listsPrompt(server, own string) bool {
	v := g.mainView
	all := v.mergedFor(g.ctx, g.table["prompts/list"], listRequester{kind: v.plainKind}, false)
	return all.byName[v.scope.displayName(server, own)] == ownName{server, own}
}
