package gateway

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// Options tune a gateway. nil and the zero value are good.
type Options struct {
	// Ledger says how servers are connected and kept account of. nil: they are connected while
	// clients are served, and nothing is kept.
	Ledger *ledger.Options
	// Host is the options of every view's host; its Memory is shared with the servers.
	Host host.Options
	// WellKnown answers requests below /.well-known/, such as identity.Guard.Metadata. nil: there is nothing.
	WellKnown http.Handler
	// Pages answers requests below /oauth/, such as oauth.Site, whose addresses SignIn returns. nil: there is nothing.
	Pages http.Handler
	// Local is tools of one's own, which the view of everything has before those of servers.
	// nil: none.
	Local toolbox.Source
	// Expose is what the view of everything and the named ones show in place of their tools,
	// such as catalog.Over. nil: the tools themselves.
	Expose func(toolbox.Source) toolbox.Source
	// Views are the named ones, by name.
	Views map[string]View
	// Transparent is the id of a server that is served as if the gateway were not there, by every path and on
	// stdio: its names, capabilities, instructions and errors, its tools as it lists them, and methods that
	// nobody here knows. Where its configuration leaves tools out, or holds back those that have changed, they
	// are listed and called as in its own view. "": all servers are served.
	Transparent string
	// Tap is shown all that goes over the gateway, from many goroutines. It must neither block nor change
	// bytes. nil: none.
	Tap func(Tapped)
	// Drain is how long calls in flight have when [Gateway.Run] or [Gateway.Stop] ends it. 0: 10 s,
	// negative: not at all.
	Drain time.Duration
	// SignIn is called where a request fails because its principal has to sign in to a server, and the client
	// can be asked to open a URL: it begins a sign-in, and returns the address that is opened. With opened the
	// client says that it is: then SignIn waits until the sign-in is over, and the request is made again, where the
	// error is nil. nil: the fault says what to type.
	SignIn func(ctx context.Context, server string, p toolbox.Principal, opened bool) (address string, err error)
}

// View is a selection of servers and their tools.
type View struct {
	// Servers are patterns of the servers in it, with * and ?. nil: all.
	Servers []string
	// Tools, Prompts and Resources are patterns of what of those servers is in it: of qualified names, and of resources
	// and templates of SERVER__URI. If all three are nil, the view has its servers as a whole. Else nothing is in it that none of
	// them names, but for the pages of its tools (ui://). If Prompts is nil, Tools names prompts too.
	Tools, Prompts, Resources []string
	// Expose is what it shows in place of its tools. nil: as Options.Expose does. Of two configurations
	// ([Gateway.Reload]) only whether there is one is compared.
	Expose func(toolbox.Source) toolbox.Source
	// Profile shapes the schemas of what it shows. nil: they are as their servers wrote them.
	Profile *schema.Profile
}

// Gateway is many servers behind one. All methods may be called from any goroutine.
type Gateway struct {
	opts     Options
	attached *ledger.Attachment
	all      *view // of everything
	began    time.Time
	made     chan struct{} // closed at the end of New
	table    map[string]*methodRow
	lists    *serverLists
	ctx      context.Context // ends with the gateway
	cancel   context.CancelFunc
	running  sync.WaitGroup
	unwatch  func() // what happens to servers

	describing sync.Mutex // held while a description is made and given to the ledger

	mu     sync.Mutex
	views  map[string]*view // the others, by path element; made when they are first asked for
	named  map[string]View
	known  map[string]declared // by server
	noted  map[string]bool     // what was logged
	paces  map[paceKey]*pace
	closed bool
	// signIns are the elicitations of legacy sessions that wait for a sign-in.
	signIns map[signInKey]string

	forwards atomic.Pointer[[]string] // names of headers that some server gets of requests

	used   usedStates
	tapped atomic.Uint64 // exchanges that Options.Tap was shown
}

// Format is what every verb of package fmt prints: how many servers there are.
func (g *Gateway) Format(w fmt.State, _ rune) { _, _ = fmt.Fprint(w, g.attached.Fleet) }

// New connects the servers and publishes them. It returns at once, whatever the servers do;
// ctx bounds nothing but the reading of the ledger. The caller closes what it gets.
func New(ctx context.Context, servers []interop.Server, opts *Options) *Gateway {
	g := &Gateway{views: map[string]*view{}, table: methodTable(), known: map[string]declared{}, noted: map[string]bool{}, paces: map[paceKey]*pace{}, began: time.Now(), made: make(chan struct{})}
	if opts != nil {
		g.opts = *opts
	}
	g.opts.Host.Keys = cmp.Or(g.opts.Host.Keys, sealed.Random()) // the same for all views, and for what the gateway itself seals
	g.opts.Host.Replay = cmp.Or(g.opts.Host.Replay, host.NewReplay(0, 0))
	g.forward(servers)
	if g.opts.Host.Forward == nil {
		g.opts.Host.Forward = func() []string { return *g.forwards.Load() }
	}
	g.named = g.opts.Views
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.attached = ledger.Attach(ctx, ledger.Empty(), servers, g.ledgerOptions())
	g.lists = newServerLists(g)
	if g.opts.Transparent != "" {
		g.all = g.newTransparent(g.opts.Transparent)
	} else {
		g.all = g.newView("", &scope{everything: true})
	}
	g.unwatch = g.attached.Fleet.Events(g.happened)
	for _, st := range g.attached.Status() { // those that are ready already
		g.remember(st.Server)
		g.lists.learn(st.Server)
	}
	close(g.made)
	return g
}

// ledgerOptions is Options.Ledger with what the gateway itself has to hear.
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
	told := mount.Notify
	mount.Notify = func(server string, m interop.Message) {
		if told != nil {
			told(server, m)
		}
		select {
		case <-g.made: // before, nothing was listed that could have changed
			g.said(server, m)
		default:
		}
	}
	o.Mount = &mount
	return &o
}

// Attached is the servers: their health, what is enrolled of them, and how it is changed.
func (g *Gateway) Attached() *ledger.Attachment { return g.attached }

// forward sees to it that requests bring the headers that the servers get.
func (g *Gateway) forward(servers []interop.Server) {
	var names []string
	for _, s := range servers {
		names = append(names, s.Forward.Names()...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	g.forwards.Store(&names)
}

// Reload takes another configuration: servers come and go without a failed call to those that
// stay, and so do named views. A view of what is gone, or of a selection that is another one now, ends
// with its sessions.
func (g *Gateway) Reload(servers []interop.Server, views map[string]View) {
	g.mu.Lock()
	g.named = views
	g.mu.Unlock()
	g.forward(servers)
	was := g.attached.Fleet.Servers()
	g.attached.Apply(servers)
	g.dropViews()
	is := g.attached.Fleet.Servers()
	stays := func(id string) bool { // what another said who had this name is not this one's
		same := func(s interop.Server) bool { return s.ID == id }
		before, now := slices.IndexFunc(was, same), slices.IndexFunc(is, same)
		return now >= 0 && (before < 0 || originOf(was[before]) == originOf(is[now]))
	}
	g.lists.drop(stays)
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.known, func(id string, _ declared) bool { return !stays(id) })
}

// The paths below which views are.
const (
	pathHTTP = "/mcp"
	pathSSE  = "/sse"
)

// ViewOf is what a request's path means: the name of a view, which may not be there ("" is everything), below "/mcp" or,
// for clients of HTTP+SSE, "/sse". Who checks whether a caller may use a view asks here, as [Gateway.Handler] does.
func ViewOf(path string) (below, name string, ok bool) {
	for _, below = range []string{pathHTTP, pathSSE} {
		if name, ok = strings.CutPrefix(path, below); ok && (name == "" || name[0] == '/') {
			return below, strings.Trim(name, "/"), true
		}
	}
	return "", "", false
}

// Handler serves all views over streamable HTTP, below /mcp, and over HTTP+SSE, for clients that
// know no other, below /sse. Who is not let in is answered in the same way whether a view is there or not.
func (g *Gateway) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		below, name, ok := ViewOf(r.URL.Path)
		switch {
		case r.URL.Path == pathHealth:
			g.health(w, r)
			return
		case !ok && g.opts.WellKnown != nil && strings.HasPrefix(r.URL.Path, "/.well-known/"):
			g.opts.WellKnown.ServeHTTP(w, r)
			return
		case !ok && g.opts.Pages != nil && strings.HasPrefix(r.URL.Path, "/oauth/"):
			g.opts.Pages.ServeHTTP(w, r)
			return
		case !ok:
			http.Error(w, "nothing is here: the MCP server is at /mcp", http.StatusNotFound)
			return
		}
		v := g.viewMade(name)
		if v == nil {
			if v = g.findView(w, r, name); v == nil {
				return
			}
		}
		if below == pathSSE {
			v.host.SSEHandler().ServeHTTP(w, r)
			return
		}
		v.host.Handler().ServeHTTP(w, r)
	})
}

// findView is the view of a name, made if need be; nil: the request is answered. Who is refused here is not asked about a
// second time, which might let them in, and to what they did not ask for.
func (g *Gateway) findView(w http.ResponseWriter, r *http.Request, name string) *view {
	if who := g.opts.Host.Authenticate; who != nil {
		if _, err := who(r); err != nil {
			g.all.host.Refuse(w, r, err)
			return nil
		}
	}
	_ = g.attached.Wait(r.Context()) // until it is known which servers there are
	v := g.viewNamed(name)
	if v == nil { // which a web page that may not ask is not told either
		g.all.host.Refuse(w, r, errNoView)
	}
	return v
}

// errNoView is the answer to a request for a view that is not there.
var errNoView = &interop.HTTPError{
	Status: http.StatusNotFound,
	Body:   "there is no such view: /mcp is everything, /mcp/SERVER one server of the configuration, /mcp/@NAME a selection that it names",
}

// ServeStdio serves the view of everything to one client on this process's stdin and stdout;
// see [host.Host.ServeStdio].
func (g *Gateway) ServeStdio(ctx context.Context) error { return g.all.host.ServeStdio(ctx) }

// ServeIO does so on a pair of streams; see [host.Host.ServeIO].
func (g *Gateway) ServeIO(ctx context.Context, r io.Reader, w io.Writer) error {
	return g.all.host.ServeIO(ctx, r, w)
}

// Close ends every client's session and every server, and waits for all of it. It may be
// called twice.
func (g *Gateway) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	for _, v := range g.allViews() {
		v.host.Close()
	}
	g.cancel()
	for _, st := range g.attached.Status() {
		g.describe(st.Server, maxDescribed+1)
	}
	g.attached.Close()
	g.unwatch()
	g.forgetPaces("")
	g.running.Wait()
}
