package serve

import (
	"context"
	"net/http"

	"github.com/indusagi/indus/cmd/indus/internal/page"
	"github.com/indusagi/indus/identity"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
)

// servedPage is the page of a running gateway. The gateway has its address before the page exists.
type servedPage struct{ site *page.Site }

// ServeHTTP implements [http.Handler].
func (p *servedPage) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.site.ServeHTTP(w, r) }

// openPage opens the page of the gateway, before it is served.
func (w *follower) openPage(p *servedPage, clients *clientTransport, log *servedLedger, a *mcpconfig.Audit) {
	o := page.Options{
		Gateway: w.gateway, Control: &w.control.options, Config: w.shown.Load, Guard: w.front.guard.Load,
		Ledger: func(ctx context.Context) ledger.Log {
			if w.gateway.Attached().Wait(ctx) != nil {
				return nil
			}
			return log.log
		},
		Keys:          func() *identity.Keys { return w.front.keys(w.shown.Load()) },
		RunsAt:        w.flags.singles.runsAt,
		Restart:       w.flags.singles.restart,
		PolicyProblem: w.control.policyProblem, WatchPolicy: w.control.changed.Watch,
		SignIns: w.signIns, Address: clients.local, PublicURL: w.front.initial.URL, Streams: w.s,
	}
	if a != nil {
		o.AuditPath = a.Path
	}
	p.site = page.New(o)
	clients.announce = func() {
		if err := p.site.Announce(); err != nil {
			w.s.Reportf(`"indus page" will not find this: %v`, err)
		}
		w.s.Reportf("the page for you, by a link for one use: %s", p.site.Link())
	}
}
