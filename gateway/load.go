package gateway

import "github.com/indusagi/indus/interop"

// Load is the state of a gateway in numbers.
type Load struct {
	Sessions, Parked, Streams int // of all views, see [host.Host.Counts]
	Ledger                    int // entries about tools that this run holds in memory
	Servers                   []ServerLoad
}

// ServerLoad is the state of one server in numbers.
type ServerLoad struct {
	Name, Phase string
	Queue       int // calls that wait for a place
	Calls       int // calls in flight
	Tools       int // tools that clients see
	Restarts    int // see [Gateway.Restarts]
}

// Load returns the present state. Before the end of [New], it is zero. The hosts of all views share their tables.
func (g *Gateway) Load() Load {
	select {
	case <-g.ready:
	default:
		return Load{}
	}
	l := Load{Ledger: len(g.attached.Ledger().Log())}
	l.Sessions, l.Parked, l.Streams = g.mainView.host.Counts()
	tools := map[string]int{}
	for _, d := range g.attached.Snapshot("").Tools {
		tools[d.Server]++
	}
	for _, st := range g.attached.Status() {
		one := ServerLoad{Name: st.Server, Phase: string(st.Phase), Tools: tools[st.Server]}
		one.Calls, one.Queue = g.attached.Fleet.Load(st.Server)
		one.Restarts = g.Restarts(st.Server)
		l.Servers = append(l.Servers, one)
	}
	return l
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
