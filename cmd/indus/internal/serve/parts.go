package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/page"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/cmd/indus/internal/telemetry"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/activity"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/replica"
	"github.com/indusagi/indus/toolbox"
)

// serveParts are what an `indus serve` consists of, in the order in which they start. They stop in reverse. A part
// takes what earlier parts left in the process.
var serveParts = []func(*process) error{
	(*process).startSignals,
	(*process).readClients, // flags are checked before anything is read
	(*process).readConfig,
	(*process).joinCluster,
	(*process).checkAccess,
	(*process).openFiles,    // the ledger, the keys, the tap
	(*process).startControl, // telemetry, policy, approvals, audit
	(*process).listen,
	(*process).startReplica,
	(*process).openSignIns,
	(*process).configureGateway,
	(*process).configurePages,
	(*process).startGateway,
}

// process is one run of `indus serve`.
type process struct {
	*serveFlags
	s      show.Streams
	logger *slog.Logger
	began  time.Time

	ctx    context.Context // ends when the process has to stop
	leave  context.CancelFunc
	alive  context.Context // outlives ctx, so that calls in flight can be answered
	hangup chan os.Signal  // reloads the configuration

	tokens    identity.Verifier
	clients   *clientTransport
	config    *mcpconfig.Config // as it was read at the start
	front     *frontGuard       // nil: clients need no authentication
	local     *builtins
	ledger    *servedLedger
	keys      *host.Keys
	recorder  *tap // nil: there is none
	rules     *controls
	memory    *interop.Memory
	one       *replica.Replica // nil: it has no peers
	peers     net.Listener     // for other replicas; may be nil
	signIns   *signin.Tokens
	public    *publisher
	visitors  *browsers
	endVisits context.CancelFunc
	options   *gateway.Options
	gateway   *gateway.Gateway
	site      *page.Site // nil: there is no page

	ends []func() // of the parts that have started
}

// onStop calls end when the process stops, before the ends of earlier parts.
func (p *process) onStop(end func()) { p.ends = append(p.ends, end) }

// stop stops all parts that have started.
func (p *process) stop() {
	for _, end := range slices.Backward(p.ends) {
		end()
	}
}

func (p *process) startSignals() error {
	// If the reader of stderr exits, SIGPIPE must not end the server.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	p.hangup = make(chan os.Signal, 1) // does not end the process
	signal.Notify(p.hangup, syscall.SIGHUP)
	p.onStop(func() { signal.Stop(p.hangup) })
	p.ctx, p.leave = context.WithCancel(p.ctx)
	p.onStop(p.leave)
	return nil
}

// readClients reads where clients connect, and their tokens, before anything else can fail.
func (p *process) readClients() (err error) {
	if p.tokens, err = p.plainTokens(p.ctx, p.s); err != nil {
		return err
	}
	p.clients, err = p.transport()
	return err
}

func (p *process) readConfig() (err error) {
	p.began = time.Now()
	p.Clustered = p.cluster != ""
	p.config, err = p.read(p.ctx, p.s)
	return err
}

func (p *process) joinCluster() (err error) {
	p.shared, err = p.openCluster(p.ctx, p.config, p.s)
	if err != nil {
		return err
	}
	p.onStop(func() { p.shared.Close() })
	p.Clustered = p.shared != nil
	return p.checkSingles(p.config)
}

func (p *process) checkAccess() (err error) {
	p.front, err = p.newFront(p.config, p.tokens, p.s)
	if err != nil {
		return err
	}
	return p.checkReach(p.clients, p.front.requiresAuth(), p.s)
}

func (p *process) openFiles() (err error) {
	p.local, err = newBuiltins(p.builtins, p.s)
	if err != nil {
		return err
	}
	if p.transparent == "" {
		p.local.publish(p.config)
	}
	if p.ledger, err = p.findLedger(p.ctx, p.config.Servers(), p.s); err != nil {
		return err
	}
	if p.keys, err = p.serveFlags.keys(p.ctx, p.s); err != nil {
		return err
	}
	p.recorder, err = openTap(p.tap, p.s)
	p.onStop(p.recorder.close)
	return err
}

func (p *process) startControl() error {
	observed, err := telemetry.Open(p.ctx, &telemetry.Options{
		Metrics: p.metrics, Version: command.ModuleVersion(), Logger: p.logger,
	})
	if err != nil {
		return err
	}
	p.onStop(func() { _ = observed.Close() })
	observed.Report(p.s)
	p.rules, err = p.openControl(p.ctx, p.config, p.s)
	if err != nil {
		return err
	}
	p.onStop(p.rules.close)
	p.rules.options.Telemetry = observed.Instruments()
	if p.serveFlags.replica != "" {
		p.rules.options.Replicas = p.counts
	}
	return nil
}

// listen opens the address for clients. It fails before a server is started.
func (p *process) listen() error {
	if err := p.clients.listen(); err != nil {
		return err
	}
	p.onStop(p.clients.close)
	if p.shared != nil { // callers do not get the path
		p.rules.options.ApproveBy = "indus approvals allow --mcp FILE"
	}
	if p.hasPage() {
		p.rules.options.Activity = activity.New()
		p.rules.options.ApproveAt = cmp.Or(p.front.initial.URL, p.clients.local) + "/approvals"
	}
	return nil
}

func (p *process) hasPage() bool { return !p.stdio && !p.noPage }

// startReplica starts what this process has as one of several, and the servers that run once for all of them.
func (p *process) startReplica() (err error) {
	p.memory = interop.NewMemory(int64(p.serveFlags.memory) << 20)
	p.singles = &singles{shared: p.shared, s: p.s, idle: p.idle, options: gateway.Options{
		Host: host.Options{Logger: p.logger, Memory: p.memory}, Drain: zeroAsNone(p.drain),
	}}
	p.one, p.peers, err = p.openReplica(p.keys, p.s)
	if err != nil {
		return err
	}
	if p.peers != nil {
		p.onStop(func() { _ = p.peers.Close() })
	}
	if err := p.join(p.ctx, p.peers, p.config, p.rules, p.s); err != nil {
		return err
	}
	p.onStop(func() { p.replication.leave(p.alive, p.s) })
	if p.one != nil {
		p.onStop(inBackground(p.ctx, func(ctx context.Context) { p.checkPeers(ctx, p.one, p.keys, p.s) }))
		p.onStop(inBackground(p.ctx, func(ctx context.Context) { p.checkProblems(ctx, p.s) }))
	}
	p.singles.replica = p.one
	if err := p.singles.open(p.ctx); err != nil {
		return err
	}
	p.onStop(p.singles.close)
	return nil
}

func (p *process) openSignIns() (err error) {
	p.signIns, err = p.shared.Tokens(p.ctx, p.s)
	if err != nil {
		return err
	}
	p.onStop(p.signIns.Close)
	p.signIns.Hide(p.config.Servers()...)
	return nil
}

// configureGateway makes the options of the gateway.
func (p *process) configureGateway() error {
	p.options = &gateway.Options{
		Ledger: p.ledger.options(fmt.Sprintf("%s, process %d", p.runName(p.clients), os.Getpid()), interop.FleetOptions{
			Logger: p.logger, Lazy: p.lazy, Idle: p.idle, Endpoint: p.singles.endpoints(p.signIns.Endpoint),
		}),
		Host: host.Options{
			Keys: p.keys, Logger: p.logger, Memory: p.memory, ListWait: zeroAsNone(p.listWait),
			AllowedHosts: p.hosts, AllowedOrigins: p.origins, Exact: p.exact, Page: p.page, Replica: p.one,
		},
		Local: p.local.registry, Expose: p.exposeFunc(p.expose), Views: p.views(p.config), Transparent: p.transparent,
		Drain: zeroAsNone(p.drain), Peers: p.peers, Ready: p.isReady,
	}
	o := p.options
	p.rules.options.Logger = p.logger
	p.rules.options.Changes = func(ctx context.Context, server, tool string) string {
		return toolChanges(ctx, p.gateway.Attached(), p.ledger.log, server, tool)
	}
	p.rules.guard = control.New(&p.rules.options)
	o.Guard = p.rules.guard
	if p.front != nil {
		o.Host.Authenticate, o.WellKnown = p.front.authenticate, http.HandlerFunc(p.front.wellKnown)
	}
	p.public = p.newPublisher(p.front, p.clients, p.s)
	p.public.publish(p.config)
	if p.public != nil {
		o.Documents = p.public.handler
	}
	if p.rate > 0 {
		o.Host.Rates = host.NewRates(p.rate, 0)
	}
	if p.front.requiresAuth() {
		o.Host.AllowedHosts = p.front.hosts(p.clients.remoteAddr == "")
	}
	if p.recorder != nil {
		o.Tap = p.recorder.record
	}
	return nil
}

// configurePages lets browsers reach the page, and the pages of sign-ins.
func (p *process) configurePages() error {
	visiting, endVisits := context.WithCancel(p.alive)
	p.endVisits = endVisits
	p.onStop(endVisits)
	p.visitors = newBrowsers(visiting, p.keys, p.one)
	o := p.options
	if p.hasPage() {
		o.Site = p.visitors.page(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.site.ServeHTTP(w, r) }))
	}
	p.signIns.Site = p.front.site(p.clients)
	if p.signIns.Site != nil {
		p.signIns.Site.NewID = p.visitors.newID(sealed.SignIn)
		o.Pages = p.visitors.signIns(p.signIns.Site)
	}
	if o.Pages != nil || !p.front.requiresAuth() {
		o.SignIn = func(ctx context.Context, server string, who toolbox.Principal, opened bool) (string, error) {
			// Otherwise one client could have another client's user sign in for it.
			if o.Pages == nil && p.front.requiresAuth() {
				return "", errors.New("it is not known by which name browsers reach this")
			}
			return elicitSignIn(ctx, p.signIns, p.gateway, server, who, opened)
		}
	}
	return nil
}

// startGateway connects the servers, opens the page, and follows the files from then on.
func (p *process) startGateway() error {
	p.singles.apply(p.config.Servers())
	p.gateway = gateway.New(p.alive, p.config.Servers(), p.options)
	p.onStop(p.gateway.Close)
	follow := &follower{
		flags: p.serveFlags, s: p.s, gateway: p.gateway, local: p.local, front: p.front, signIns: p.signIns, keys: p.keys,
		hangup: p.hangup, leave: p.leave, control: p.rules, public: p.public,
	}
	follow.begin(p.config, p.began)
	if p.hasPage() {
		p.site = follow.openPage(p.clients, p.ledger, p.auditOf(p.config), p.visitors.newID(sealed.Visit))
		p.onStop(func() { p.site.Close() })
	}
	p.onStop(inBackground(p.alive, func(background context.Context) {
		if p.gateway.Attached().Wait(background) != nil || p.ctx.Err() != nil {
			return
		}
		reportListed(p.gateway.Attached(), p.s)
		defer p.ledger.alarm(p.gateway.Attached()).watch()()
		follow.follow(background)
	}))
	return nil
}
