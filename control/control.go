package control

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/indusagi/indus/control/activity"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/control/internal/rates"
	"github.com/indusagi/indus/control/internal/upstream"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/telemetry"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/replica/cluster"
)

// Options configures the decisions about requests and their records. Nil and the zero value permit all requests and
// record none.
type Options struct {
	// Policy returns the policy that decides now. With report, it decides without effect: records and logs have the
	// verdict. Policy is called for each request. If it is nil, or returns nil, all requests are permitted. If it returns
	// another policy than before, call [gateway.Gateway.ListsChanged].
	Policy func() (decides *policy.Set, report bool)
	// Approvals holds the calls that wait for a person. If it is nil, a call that needs approval is refused.
	Approvals *approval.Book
	// Bus connects replicas, so that the limits of the policy count the requests of all of them. If it is nil, each
	// replica counts its own.
	Bus cluster.Bus
	// ApproveAt is the address of a page on which a person approves a call. The text that a caller gets names it, and the
	// command. If it is "", the text names only the command.
	ApproveAt string
	// ApproveBy is the command that approves a call, without the ID. If it is "", it is "indus approvals allow".
	ApproveBy string
	// Changes returns the difference of a tool from its approved version, for a person who approves a call. It is called
	// only for tools that are new or changed. If it is nil, the approval does not show the difference.
	Changes func(ctx context.Context, server, tool string) string
	// Audit records requests. It may be nil.
	Audit *audit.Log
	// Telemetry traces and measures requests. It may be nil.
	Telemetry *telemetry.Telemetry
	// Replicas returns the number of replicas, and of their problems such as differences, for metrics. It may be nil.
	Replicas func() (members, problems int)
	// Activity has the requests in memory, for people who look. It may be nil.
	Activity *activity.Tracker
	// Mask masks secrets in arguments and results before a person or a record gets them. Nil masks likely secrets.
	Mask func(json.RawMessage) json.RawMessage
	// Logger gets the verdicts that have no effect. It may be nil.
	Logger *slog.Logger
}

// Control is the guard of one gateway.
type Control struct {
	Options // they do not change

	gateway *gateway.Gateway // set by Attach
	ctx     context.Context  // ends with Detach
	cancel  context.CancelFunc
	running sync.WaitGroup
	rates   rates.Counts

	mu     sync.Mutex
	rights map[requestOrigin]*rights // cached
}

var _ gateway.Observer = (*Control)(nil)

// New returns a guard for one gateway.
func New(o *Options) *Control {
	c := &Control{}
	if o != nil {
		c.Options = *o
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Attach implements [gateway.Observer].
func (c *Control) Attach(g *gateway.Gateway) {
	c.gateway = g
	if c.Bus != nil {
		c.rates.Join()
		c.running.Go(func() { c.rates.Share(c.ctx, c.Bus) })
	}
	c.Telemetry.Observe(c.state)
}

// Detach implements [gateway.Observer].
func (c *Control) Detach() {
	c.cancel()
	c.running.Wait()
}

// Connection implements [gateway.Observer].
func (c *Control) Connection(s config.Server, transparent bool, e *interop.EndpointOptions) {
	if c.Telemetry == nil {
		return
	}
	measured := upstream.Server{
		Telemetry: c.Telemetry, Config: s, Endpoint: e, Transparent: transparent,
		Lists: func(kind gateway.Kind, name string) bool {
			return c.gateway.Lists(gateway.Item{Kind: kind, Server: s.ID, Name: name})
		},
		Mask: c.maskText,
	}
	e.Around, e.Ended = append(e.Around[:len(e.Around):len(e.Around)], measured.Trace), measured.Ended
}

// Waits implements [gateway.Observer].
func (c *Control) Waits(ctx context.Context) (ended func()) { return c.Telemetry.Wait(ctx) }

// SessionEnded implements [gateway.Observer].
func (c *Control) SessionEnded(version, transport string, lasted time.Duration) {
	c.Telemetry.SessionEnded(&telemetry.Operation{Protocol: version, Transport: transport}, lasted, "")
}

// Decides implements [gateway.Guard].
func (c *Control) Decides() bool { return c.Policy != nil }

// policies returns the policy that decides now, or nil if there is none.
func (c *Control) policies() (decides *policy.Set, report bool) {
	if c.Policy == nil {
		return nil, false
	}
	return c.Policy()
}
