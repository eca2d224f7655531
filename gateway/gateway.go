package gateway

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/gateway/internal/lists"
	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/gateway/internal/spent"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// Options configures a gateway. Nil and the zero value are valid.
type Options struct {
	// Ledger configures the connections to the servers and the ledger of their tools. If it is nil, the servers connect
	// while clients are served, and nothing is kept.
	Ledger *ledger.Options
	// Host configures the host of every view. The servers share its Memory.
	Host host.Options
	// WellKnown answers requests below /.well-known/, such as identity.Guard.Metadata. If it is nil, they get 404.
	WellKnown http.Handler
	// Pages answers requests below /oauth/, such as oauth.Site with the addresses that SignIn returns. Nil means 404.
	Pages http.Handler
	// Site answers all other requests outside of the views, such as a page for operators. The Host and the Origin of
	// these requests are allowed ones. If it is nil, they get 404.
	Site http.Handler
	// Documents returns the handler of a public document at a path, or nil if there is none. It is called before
	// views are looked up and callers are authenticated. If Documents is nil, there are none.
	Documents func(path string) http.Handler
	// Local has tools of the program itself. The view of everything lists them first. Nil means that there are none.
	Local toolbox.Source
	// Expose returns the tools that the view of everything and the named views show in place of their own, such as
	// catalog.Over. If it is nil, they show their own.
	Expose func(toolbox.Source) toolbox.Source
	// Views holds the named views, by name.
	Views map[string]View
	// Transparent is the id of a server that every path and stdio serve as if the gateway were not there. Clients see
	// its names, capabilities, instructions and errors, its tools as it lists them, and methods that the gateway does
	// not know. Tools that its configuration excludes, or that are held because they changed, are treated as in its own
	// view. If it is "", all servers are served.
	Transparent string
	// Tap receives all messages that pass the gateway, from many goroutines. It must not block or change bytes. It may
	// be nil.
	Tap func(Tapped)
	// Guard decides about requests, and follows them. Nil permits all, at no cost. control.New returns the guard of
	// indus serve.
	Guard Guard
	// Drain is the time that calls in flight have at the end of [Gateway.Run] and in [Gateway.Stop]. 0 means 10 s, and
	// a negative value no time.
	Drain time.Duration
	// Peers is the listener for other replicas, if Host.Replica is set. [Gateway.Run] serves it. It may be nil.
	Peers net.Listener
	// Ready reports whether /readyz may answer 200. Nil means that it may.
	Ready func() bool
	// SignIn is called if a request fails because its principal has to sign in to a server. The client must support
	// opening a URL. Without opened, SignIn begins a sign-in and returns the address to open. With opened, the client
	// has the address: SignIn waits until the sign-in is over, and if it returns no error, the request is made again.
	// If SignIn is nil, the fault states the command to type.
	SignIn func(ctx context.Context, server string, p toolbox.Principal, opened bool) (address string, err error)
}

// View selects servers and their tools.
type View struct {
	// Servers holds patterns of server ids, with * and ?. If it is nil, the view has all servers.
	Servers []string
	// Tools, Prompts and Resources hold patterns of the entries in the view: of the qualified names of tools and
	// prompts, and of SERVER__URI for resources and templates. If all three are nil, the view has its servers
	// completely. Otherwise it has only matching entries and the pages (ui://) of its tools. Nil Prompts means that
	// Tools selects prompts too.
	Tools, Prompts, Resources []string
	// Expose returns the tools that the view shows in place of its own. If it is nil, Options.Expose applies.
	// [Gateway.Reload] compares only whether Expose is set.
	Expose func(toolbox.Source) toolbox.Source
	// Profile shapes the schemas of the tools in the view. If it is nil, they stay as the servers wrote them.
	Profile *schema.Profile
}

// Gateway serves many servers as one. All methods may be called from any goroutine.
type Gateway struct {
	opts      Options
	observer  Observer // nil: Options.Guard is none
	attached  *ledger.Attachment
	mainView  *view // the view of everything
	startedAt time.Time
	ready     chan struct{} // closed at the end of New
	leaving   atomic.Bool   // see Leave
	table     map[string]*methods.Row
	lists     *lists.Cache
	ctx       context.Context // ends with the gateway
	cancel    context.CancelFunc
	running   sync.WaitGroup
	direct    sync.WaitGroup // calls of Call; none is added once closed is set
	unwatch   func()         // stops watching the events of the fleet

	mu         sync.Mutex
	views      map[string]*view // the other views, by path element; a view is made at its first request
	namedViews map[string]View
	paces      map[paceKey]*pace
	restarts   map[string]restarts // by server
	closed     bool
	// signIns holds the elicitations of legacy sessions that wait for a sign-in.
	signIns map[signInKey]string

	forwardedHeaders atomic.Pointer[[]string] // names of the request headers that are forwarded to some server

	usedStates spent.States
	taskTools  taskTools
	alteredMu  sync.Mutex
	altered    *alteredTools // nil: not collected yet
	alteredIn  *toolbox.Snapshot
	alteredAt  time.Time
	exchanges  atomic.Uint64 // number of exchanges that were given to Options.Tap
}

// Format prints the number of servers, for every verb of package fmt.
func (g *Gateway) Format(w fmt.State, _ rune) { _, _ = fmt.Fprint(w, g.attached.Fleet) }

// New connects the servers and publishes them. It returns at once, whatever the servers do. ctx bounds only the reading
// of the ledger. The caller closes the gateway.
func New(ctx context.Context, servers []config.Server, opts *Options) *Gateway {
	g := &Gateway{
		views: map[string]*view{}, table: methods.Table(), paces: map[paceKey]*pace{}, restarts: map[string]restarts{},
		startedAt: time.Now(), ready: make(chan struct{}),
	}
	if opts != nil {
		g.opts = *opts
	}
	// The keys are also for tokens of the gateway itself.
	g.opts.Host.Keys = cmp.Or(g.opts.Host.Keys, sealed.Random()).For(g.opts.Host.Replica.Name())
	g.opts.Host.Replay = cmp.Or(g.opts.Host.Replay, host.NewReplay(0, 0))
	g.setForwardedHeaders(servers)
	if g.opts.Host.Forward == nil {
		g.opts.Host.Forward = func() []string { return *g.forwardedHeaders.Load() }
	}
	waits := func(context.Context) func() { return func() {} }
	g.observer, _ = g.opts.Guard.(Observer)
	if g.observer != nil {
		g.opts.Host.SessionEnded, waits = g.observer.SessionEnded, g.observer.Waits
		g.observer.Attach(g)
	}
	g.namedViews = g.opts.Views
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.attached = ledger.Attach(ctx, ledger.Ledger{}, servers, g.ledgerOptions())
	saves := g.opts.Ledger
	g.lists = lists.New(g.ctx, lists.Options{
		Attached: g.attached, Table: g.table, Running: &g.running, Changed: g.notifyClients,
		Saves: saves != nil && (saves.Log != nil || saves.Open != nil), Logger: g.opts.Host.Logger,
		WaitUntil: g.startedAt.Add(protocol.Duration(g.opts.Host.ListWait, listWait)), Waits: waits,
	})
	if g.opts.Transparent != "" {
		g.mainView = g.newTransparent(g.opts.Transparent)
	} else {
		g.mainView = g.newView("", &scope{everything: true})
	}
	g.unwatch = g.attached.Fleet.Events(g.handleEvent)
	for _, st := range g.attached.Status() { // servers that are ready already
		g.lists.Store(st.Server)
		g.lists.ReadMissing(st.Server)
	}
	close(g.ready)
	return g
}

// ledgerOptions returns Options.Ledger, extended so that the gateway receives the notifications of the servers.
func (g *Gateway) ledgerOptions() *ledger.Options {
	var o ledger.Options
	if g.opts.Ledger != nil {
		o = *g.opts.Ledger
	}
	mount := interop.MountOptions{Wait: -1}
	if o.Mount != nil {
		mount = *o.Mount
	}
	mount.Memory = cmp.Or(mount.Memory, g.opts.Host.Memory, interop.NewMemory(0))
	g.opts.Host.Memory = cmp.Or(g.opts.Host.Memory, mount.Memory)
	mount.Endpoint = g.endpoints(mount.Endpoint)
	if g.opts.Guard != nil && g.opts.Guard.Decides() {
		mount.Admit, mount.AdmitAll = g.checkJudged, true
	}
	if g.observer != nil {
		mount.Waits = g.observer.Waits
	}
	notify := mount.Notify
	mount.Notify = func(server string, m interop.Message) {
		if notify != nil {
			notify(server, m)
		}
		select {
		case <-g.ready: // before New ends, no client has a list that could have changed
			g.handleNotification(server, m)
		default:
		}
	}
	o.Mount = &mount
	return &o
}

// Attached returns the attached servers: their health, their enrolled tools, and the methods that change them.
func (g *Gateway) Attached() *ledger.Attachment { return g.attached }

// setForwardedHeaders stores the names of the request headers that the servers get. The hosts pass these headers on.
func (g *Gateway) setForwardedHeaders(servers []config.Server) {
	var names []string
	for _, s := range servers {
		names = append(names, s.Forward.Names()...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	g.forwardedHeaders.Store(&names)
}

// Reload applies another configuration. It adds and removes servers, without a failed call to the servers that stay,
// and changes the named views. A view is closed with its sessions if its server or selection is gone, or if it has
// another selection now.
func (g *Gateway) Reload(servers []config.Server, views map[string]View) {
	g.mu.Lock()
	g.namedViews = views
	g.mu.Unlock()
	g.setForwardedHeaders(servers)
	previous := g.attached.Fleet.Servers()
	g.attached.Apply(servers)
	g.dropViews()
	current := g.attached.Fleet.Servers()
	stays := func(id string) bool { // lists of another server that had this id do not count for the new one
		same := func(s config.Server) bool { return s.ID == id }
		before, now := slices.IndexFunc(previous, same), slices.IndexFunc(current, same)
		return now >= 0 && (before < 0 || originOf(previous[before]) == originOf(current[now]))
	}
	g.lists.Retain(stays)
}

// listWait bounds the wait for the lists of servers if host.Options.ListWait is 0.
const listWait = 3 * time.Second

// Close ends the sessions of all clients and all servers, and waits for them. It may be called twice.
func (g *Gateway) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	for _, v := range g.allViews() {
		v.host.Close()
	}
	g.cancel()
	for _, st := range g.attached.Status() {
		g.lists.Save(st.Server)
	}
	g.attached.Close()
	g.unwatch()
	g.running.Wait()
	if g.observer != nil {
		g.observer.Detach()
	}
}
