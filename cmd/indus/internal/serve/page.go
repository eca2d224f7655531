package serve

import (
	"context"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/page"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
)

// openPage opens the page of the gateway, before it is served.
func (w *follower) openPage(
	clients *clientTransport, log *servedLedger, a *mcpconfig.Audit, newID func() string,
) *page.Site {
	o := page.Options{
		Gateway: w.gateway, Control: w.control.guard, Config: w.served.Load, Guard: w.front.guard.Load,
		Ledger: func(ctx context.Context) ledger.Log {
			if w.gateway.Attached().Wait(ctx) != nil {
				return nil
			}
			return log.log
		},
		Keys:          func() *identity.Keys { return w.front.keys(w.served.Load()) },
		RunsAt:        w.flags.singles.runsAt,
		Restart:       w.flags.singles.restart,
		Replicas:      w.flags.problems,
		PolicyProblem: w.control.policyProblem, WatchPolicy: w.control.changed.Watch,
		NewID: newID, SignIns: w.signIns, Address: clients.local, PublicURL: w.front.initial.URL, Streams: w.s,
	}
	if a != nil {
		o.AuditPath = a.Path
	}
	site := page.New(o)
	clients.announce = func() {
		if err := site.Announce(); err != nil {
			w.s.Reportf(`"indus page" will not find this: %v`, err)
		}
		w.s.Reportf("the page for you, by a link for one use: %s", site.Link())
	}
	return site
}
