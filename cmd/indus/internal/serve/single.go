package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/replica"
	"github.com/indusagi/indus/replica/cluster"
)

const (
	// restartPath is the path of the request to end a server, so that it starts again.
	restartPath = "/restart"
	// singleRetry is the pause before the next attempt to take a lease, or to reach the replica that has it.
	singleRetry = 100 * time.Millisecond
)

// singles are the servers that run once in the cluster. The replica with the lease of a server runs it behind a gateway
// of its own, which changes and decides nothing. The fleets of all replicas connect to that gateway as to a server at a
// URL. So policies, records and rules of tools apply at the replica that a client reached.
type singles struct {
	shared  *command.Cluster
	replica *replica.Replica
	holders *cluster.Holders
	options gateway.Options // Logger, Memory and Drain
	idle    time.Duration   // the default of servers
	s       show.Streams
	running sync.WaitGroup

	mu     sync.Mutex
	posts  map[string]*post // by server
	closed bool             // see resign
}

// post is a server for whose lease this replica competes.
type post struct {
	server  config.Server
	leave   context.CancelFunc
	ended   chan struct{}
	handler atomic.Pointer[http.Handler] // nil unless it runs here
}

// checkSingles refuses servers that run once in a cluster that this process is no replica of.
func (f *serveFlags) checkSingles(c *mcpconfig.Config) error {
	for _, server := range c.Servers() {
		if server.Single && (f.replica == "" || f.shared == nil) {
			return command.Usagef(`the server %s is "single" and runs once in the cluster, where the other processes must `+
				"reach it: start indus serve with --replica NAME=HOST:PORT", show.Clean(server.ID))
		}
	}
	return nil
}

// open begins to follow where the servers run.
func (o *singles) open(ctx context.Context) (err error) {
	if o.shared != nil && o.replica != nil {
		o.holders, err = cluster.OpenHolders(ctx, o.shared.KV(command.SinglesKV))
	}
	return err
}

// resign ends the servers that run here, for good, so that other replicas run them.
func (o *singles) resign() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, p := range o.posts {
		p.leave()
	}
}

// close is resign, and waits for the end of the servers.
func (o *singles) close() {
	o.resign()
	o.running.Wait()
	if o.holders != nil {
		o.holders.Close()
	}
}

// apply sets the servers. A server that is gone or changed ends here, and then another replica can run it.
func (o *singles) apply(servers []config.Server) {
	if o == nil || o.holders == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	wanted := map[string]*post{}
	for _, server := range servers {
		old := o.posts[server.ID]
		switch {
		case !server.Single:
			o.checkRow(server)
		case old != nil && old.server.Equal(server):
			wanted[server.ID] = old
		default:
			ctx, leave := context.WithCancel(context.Background())
			p := &post{server: server, leave: leave, ended: make(chan struct{})}
			wanted[server.ID] = p
			o.running.Go(func() {
				defer close(p.ended)
				if old != nil {
					<-old.ended
				}
				o.compete(ctx, p)
			})
		}
	}
	for id, p := range o.posts {
		if wanted[id] != p {
			p.leave()
		}
	}
	o.posts = wanted
}

// compete takes the lease of a server whenever it is free, and runs the server.
func (o *singles) compete(ctx context.Context, p *post) {
	reported := ""
	for ctx.Err() == nil {
		if holder, _, changed := o.holder(p.server.ID); holder != "" {
			o.checkRow(p.server)
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		kv := o.shared.KV(command.SinglesKV)
		data := o.replica.Name() + " " + ledger.Fingerprint(p.server) // see command.SingleHolder
		lease, err := cluster.Acquire(ctx, kv, p.server.ID, data, o.shared.Lease, nil)
		if err != nil {
			expected := errors.Is(err, cluster.ErrConflict) || errors.Is(err, cluster.ErrUnavailable)
			if text := err.Error(); !expected && ctx.Err() == nil && text != reported {
				reported = text
				o.s.Reportf("%s: cannot run at this replica: %s", p.server.ID, text)
			}
			watch.Sleep(ctx, singleRetry)
			continue
		}
		o.run(ctx, p, lease)
		if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
			o.s.Reportf("%s: no other replica runs it before the lease ends: %v", p.server.ID, err)
		}
	}
}

// holder is [command.SingleHolder] of a server. changed is closed when that is over.
func (o *singles) holder(id string) (name, row string, changed <-chan struct{}) {
	data, changed := o.holders.Of(id)
	name, row = command.SingleHolder(data)
	return name, row, changed
}

// checkRow reports that the row of a server differs at the replica that runs it.
func (o *singles) checkRow(s config.Server) {
	name, row, _ := o.holder(s.ID)
	if name != "" && name != o.replica.Name() && (!s.Single || row != ledger.Fingerprint(s)) {
		o.s.Reportf("%s: runs once at the replica %s, where its row differs: make the rows of all replicas equal",
			show.Clean(s.ID), show.Clean(name))
	}
}

// runsAt returns the replica that runs a server of this configuration once, or "".
func (o *singles) runsAt(id string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.posts[id] == nil {
		return ""
	}
	name, _, _ := o.holder(id)
	return name
}

// run runs a server until the lease is lost, a replica restarts it or ctx ends. In the last case calls in flight have
// the time to finish.
func (o *singles) run(ctx context.Context, p *post, lease *cluster.Lease) {
	g := gateway.New(ctx, []config.Server{processOf(p.server)}, o.gatewayOptions(p.server, lease))
	defer g.Close()
	mcp, again := g.Handler(), make(chan struct{}, 1)
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != restartPath {
			mcp.ServeHTTP(w, r)
			return
		}
		watch.Signal(again)
	})
	p.handler.Store(&handler)
	o.s.Reportf("%s: runs at this replica", p.server.ID)
	select {
	case <-lease.Done():
		p.handler.Store(nil)
		o.s.Reportf("%s: ended at this replica, which could not renew the lease", p.server.ID)
	case <-again:
		p.handler.Store(nil)
		o.s.Reportf("%s: ends, to start again", p.server.ID)
	case <-ctx.Done():
		p.handler.Store(nil)
		_ = g.Stop() // which calls were given up is reported by the gateway of the clients
	}
}

// processOf returns a server without the settings that apply at the replica of the client.
func processOf(s config.Server) config.Server {
	s.Tools, s.Changes, s.Profile = config.ToolRules{}, config.AcceptChanges, nil
	s.Timeouts.Call, s.Timeouts.Total, s.Timeouts.Queue = -1, -1, -1
	return s
}

// gatewayOptions returns the options of the gateway of a server. Its clients are the replicas.
func (o *singles) gatewayOptions(s config.Server, lease *cluster.Lease) *gateway.Options {
	out := o.options
	out.Transparent = s.ID
	out.Host.ListWait = cmp.Or(max(0, s.Timeouts.Connect), singleListWait)
	out.Host.MaxParked, out.Host.MaxClientParked = math.MaxInt32, math.MaxInt32
	out.Ledger = &ledger.Options{Mount: &interop.MountOptions{Wait: -1, FleetOptions: interop.FleetOptions{
		Logger: out.Host.Logger, Idle: o.idle, MaxCalls: -1, Lanes: -1, // another lane would be another process
		Endpoint: func(config.Server) *interop.EndpointOptions { return &interop.EndpointOptions{Lease: lease} },
	}}}
	return &out
}

// singleListWait is how long the first list waits for a server that starts.
const singleListWait = 30 * time.Second

// handler returns the handler of a server if it runs here, or nil. It implements replica.Options.Services.
func (o *singles) handler(id string) http.Handler {
	o.mu.Lock()
	p := o.posts[id]
	o.mu.Unlock()
	if p == nil || p.handler.Load() == nil {
		return nil
	}
	return *p.handler.Load()
}

// restart ends the process of a server, wherever it runs, so that a replica starts it again. Calls in flight fail.
func (o *singles) restart(ctx context.Context, id string) error {
	holder := o.runsAt(id)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+holder+restartPath, nil)
	if err != nil {
		return err
	}
	answer, err := o.replica.Do(r, replica.Request{To: holder, Service: id})
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// endpoints returns the options of connections, by which servers that run once are reached.
func (o *singles) endpoints(
	next func(config.Server) *interop.EndpointOptions,
) func(config.Server) *interop.EndpointOptions {
	return func(s config.Server) *interop.EndpointOptions {
		out := next(s)
		if s.Single {
			out.Elsewhere = &elsewhere{o, s.ID}
		}
		return out
	}
}

// elsewhere sends requests to a server at the replica that runs it.
type elsewhere struct {
	*singles
	id string
}

var (
	errFree  = errors.New("its lease is free")
	errMoved = errors.New("the replica does not run it any more")
)

// RoundTrip implements http.RoundTripper. If no replica runs the server, it waits until another one could have begun.
// If a request may have reached the server, it is not repeated.
func (e *elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	late := time.After(2 * e.shared.Lease)
	for {
		holder, _, changed := e.holder(e.id)
		why := errFree
		if holder != "" {
			var answer *http.Response
			answer, why = e.send(r, body, holder, changed)
			switch {
			case !errors.Is(why, replica.ErrGone):
				return answer, why
			case errors.Is(why, replica.ErrUntrusted):
				return nil, fmt.Errorf("%w: %w", interop.ErrNowhere, why)
			}
		}
		if err := e.shared.Check(); err != nil {
			return nil, fmt.Errorf("%w: %w", interop.ErrNowhere, err)
		}
		select {
		case <-changed:
		case <-time.After(singleRetry):
		case <-late:
			return nil, fmt.Errorf("%w: %w", interop.ErrNowhere, why)
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// send sends a request to the replica that holds the lease. The request ends when that has changed.
func (e *elsewhere) send(
	r *http.Request, body []byte, holder string, changed <-chan struct{},
) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	go func() {
		select {
		case <-changed:
			cancel(errMoved)
		case <-ctx.Done():
		}
	}()
	answer, err := e.replica.Do(r.WithContext(ctx), replica.Request{To: holder, Body: body, Service: e.id})
	if err != nil {
		cancel(nil)
	}
	return answer, err
}
