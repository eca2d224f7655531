package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway/activity"
	"github.com/indusagi/indus/gateway/internal/rates"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/telemetry"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/toolbox"
)

// Every request of a caller takes this way, whatever its view, era and transport:
//
//	begin      identity: the caller, its groups, its client
//	admit      policy, limit, approval: decides about each part of a server that the request reaches
//	           the call itself
//	end        trace and audit: the answer is given after its record is written
//
// admit is the only function that decides. Lists ask the same policy, see rights.go. A request may reach several parts:
// the catalog's tool batch calls several tools. Each of them is admitted, and has its own record.

// Control configures the decisions about requests and their records. The zero value permits all requests and records
// none, at no cost.
type Control struct {
	// Policy returns the policy that decides now. With report, it decides without effect: records and logs have the
	// verdict. Policy is called for each request. If it is nil, or returns nil, all requests are permitted.
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
}

// exchange is one request of a caller on its way.
type exchange struct {
	view      *view
	requester listRequester
	message   interop.Message
	policies  *policy.Set // decides about all items; nil: there is none
	report    bool        // policies decides without effect
	main      *entry      // of the first item; nil: nothing is recorded

	approvalID string          // the approval that the client was asked for, until its answer is stored
	answer     json.RawMessage // the client's answer

	tracked activity.Request

	search     bool   // the request asks several servers for one URI
	answeredBy string // the server that answered the search

	closed bool        // its answer is recorded
	once   atomic.Bool // the request continues one that a person approved, and must not reach a server twice

	mu      sync.Mutex
	claimed bool     // main belongs to an item
	counted []string // the rules whose limits the request was counted against, if it asks several servers
	more    []*entry // of further items
}

// item is a part of a server that a request reaches.
type item struct {
	policy.Item
	action    policy.Action
	tool      *toolbox.Descriptor // nil: it is no tool
	arguments json.RawMessage     // of a call; nil: none
	// continues reports that the request continues one that was admitted.
	continues bool
	name      string // of a tool, as the caller uses it
	// hasState reports that the request has a state of a server, which is checked before the server gets the request.
	hasState bool
	source   *toolbox.Snapshot // the tools of all servers when tool was found
	origin   string            // the origin that the spent grant is for; "": none was spent
	unlisted bool              // it is a tool that is in no list of its server
	several  bool              // it is hidden at several servers
	find     finder            // returns the tool as it is now; nil: it is no tool
	judged   judgedContext     // of the admitted call
	asked    string            // the last approval that the client was asked for in its session
}

// finder returns the tool of a call, or nil if the caller sees no such tool.
type finder func(ctx context.Context, name string, caller toolbox.Principal) (*toolbox.Descriptor, error)

// runner sends an admitted call. It returns the bytes of the result.
type runner func(context.Context) (json.RawMessage, error)

// exchangeKey is the context key of the exchange that a request belongs to.
type exchangeKey struct{}

// exchangeOf returns the exchange that ctx belongs to, or nil.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// begin starts the exchange of a request. The context that it returns carries the exchange.
func (v *view) begin(ctx context.Context, m interop.Message) context.Context {
	x := &exchange{view: v, requester: v.requesterOf(ctx, m), message: m}
	x.policies, x.report = v.gateway.policies()
	return context.WithValue(ctx, exchangeKey{}, x)
}

// viewOf returns the name of the view that handles the request. Tokens that are sealed for a request belong to its
// view.
func viewOf(ctx context.Context) string {
	if x := exchangeOf(ctx); x != nil {
		return x.view.name
	}
	return ""
}

// requesterOf returns the client of the exchange that ctx belongs to.
func requesterOf(ctx context.Context) listRequester { return exchangeOf(ctx).requester }

// refusal is the answer to a request that is not admitted.
type refusal struct {
	outcome audit.Outcome
	text    string        // for a model and a person
	hidden  bool          // the item is as if it did not exist
	retry   time.Duration // after this time the request may be admitted; 0: unknown
	// result asks the client of a modern request for its answer. Nil means that text is the answer.
	result json.RawMessage
	again  bool  // the client was asked, and the decision has to be made again
	err    error // the answer, if text is not
}

// admit decides whether a request may reach an item: policy, limit and approval, in this order. It returns the entry to
// end with the answer, and the refusal or nil. The entry is nil if nothing is recorded.
func (g *Gateway) admit(ctx context.Context, it *item) (*entry, *refusal) {
	x := exchangeOf(ctx)
	if x.policies == nil && x.main == nil {
		return nil, nil
	}
	e := x.claim(it)
	if x.policies == nil {
		return e, nil
	}
	return e, g.judge(ctx, x, it, e)
}

// judge decides about an item and stores the verdict in its entry. It returns the refusal, or nil.
func (g *Gateway) judge(ctx context.Context, x *exchange, it *item, e *entry) *refusal {
	refused := g.decide(ctx, x, it, e)
	switch {
	case refused == nil:
		return nil
	case x.report:
		e.Reason = "report only: " + refused.text
		g.logVerdict(x, it, refused)
		return nil
	}
	e.refuse(refused)
	return refused
}

// decide returns the reason for which a request is not admitted, or nil. A client may take minutes to answer a question
// about an approval. After that, the tool and the policy count as they are then.
func (g *Gateway) decide(ctx context.Context, x *exchange, it *item, e *entry) *refusal {
	set := x.policies
	for {
		refused := g.refusalOf(ctx, x, it, e, set)
		if refused == nil || !refused.again {
			return refused
		}
		if it.find != nil {
			if refused := g.refresh(ctx, x, it); refused != nil {
				return refused
			}
		}
		if now, report := g.policies(); now != nil && !report {
			set = now
		}
	}
}

const noSuchTool = "no tool with this name is listed for the caller"

// refusalOf returns the reason for which a policy does not admit a request, or nil.
func (g *Gateway) refusalOf(ctx context.Context, x *exchange, it *item, e *entry, set *policy.Set) *refusal {
	q := x.view.policyRequest(ctx, x.message)
	q.Action, q.Item, q.Arguments = it.action, it.Item, it.arguments
	q.AnyArguments = it.continues && it.arguments == nil // a request about a task
	verdict := set.Decide(&q)
	e.decide(&verdict)
	if verdict.Audit.Arguments && it.arguments != nil {
		e.Arguments = g.mask(it.arguments)
	}
	if !verdict.Allowed {
		text := "the policy does not permit this"
		if it.arguments != nil {
			text += " with these arguments"
		}
		if len(verdict.Problems) > 0 { // the values that the policy could not judge
			text += ": " + strings.Join(verdict.Problems, "; ")
		}
		return &refusal{outcome: audit.Denied, hidden: !set.MayList(&q, []policy.Item{it.Item})[0], text: text}
	}
	if it.continues { // the first request was counted and approved
		if verdict.Approve != policy.NoApproval {
			x.once.Store(true)
		}
		return nil
	}
	needsApproval := verdict.Approve != policy.NoApproval
	// A call that needs approval counts when it runs, and not when the approval is asked for.
	if refused := g.takeRates(x, verdict.Rates, !needsApproval); refused != nil || !needsApproval {
		return refused
	}
	if x.report {
		return &refusal{outcome: audit.Deferred, text: "this needs the approval of a person"}
	}
	if refused := g.approve(ctx, x, it, e, &verdict); refused != nil {
		return refused
	}
	return g.takeRates(x, verdict.Rates, true)
}

// takeRates counts a request against the limits of the rules that permit it. It returns a refusal if one of them is
// used up. Without count, it counts nothing. A request that asks several servers counts once for each rule.
func (g *Gateway) takeRates(x *exchange, all []policy.Rate, count bool) *refusal {
	if len(all) == 0 || x.report {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	limits := make([]rates.Limit, 0, len(all))
	for _, r := range all {
		if !slices.Contains(x.counted, r.Policy) {
			key := rates.Key{Principal: string(x.message.Caller), Rule: r.Policy}
			limits = append(limits, rates.Limit{Key: key, N: r.Calls, Per: r.Per})
		}
	}
	wait := g.rates.Take(limits, count)
	if x.search && count && wait <= 0 {
		for _, l := range limits {
			x.counted = append(x.counted, l.Rule)
		}
	}
	if wait <= 0 {
		return nil
	}
	seconds := int(math.Ceil(wait.Seconds()))
	return &refusal{
		outcome: audit.Denied, retry: wait,
		text: fmt.Sprintf("this caller has reached a limit of the policy: try again in %d s", seconds),
	}
}

// logVerdict logs a refusal that has no effect.
func (g *Gateway) logVerdict(x *exchange, it *item, r *refusal) {
	if log := g.opts.Host.Logger; log != nil {
		log.Warn("the policy would refuse a request", "principal", x.message.Caller, "view", x.view.name,
			"action", it.action, "server", it.Server, "name", protocol.Printable(it.Name, 200), "reason", r.text)
	}
}

// toolAnswer returns the answer to a call that is not admitted.
func (r *refusal) toolAnswer(name string) (json.RawMessage, error) {
	switch {
	case r.err != nil:
		return nil, r.err
	case r.hidden:
		return nil, &toolbox.UnknownTool{Name: name}
	case r.result != nil:
		return r.result, nil
	}
	return nil, toolbox.Errorf("%s", r.text)
}

// answer returns the answer to a request, other than a call, that is not admitted. unknown is the answer if the item
// does not exist.
func (r *refusal) answer(m interop.Message, unknown error) (json.RawMessage, error) {
	switch {
	case r.err != nil:
		return nil, r.err
	case r.hidden:
		return nil, unknown
	case r.result != nil:
		return r.result, nil
	}
	e := &interop.RPCError{Code: codeRefused, Message: m.Method + ": " + r.text}
	if r.retry <= 0 {
		return nil, e
	}
	e.Data = fmt.Appendf(nil, `{"retryAfterMs":%d}`, max(1, r.retry.Milliseconds()))
	return nil, &protocol.TooSoon{RPCError: e, After: r.retry}
}

// codeRefused is the JSON-RPC code for requests that are not admitted. It is in the range for implementations.
const codeRefused = -32010

// byOperator returns the error of a request that an operator has cancelled, or else err. It does not replace nil.
func byOperator(ctx context.Context, err error) error {
	if err != nil && context.Cause(ctx) == activity.ErrCancelled {
		return errByOperator
	}
	return err
}

var errByOperator error = &interop.RPCError{Code: codeRefused, Message: activity.ErrCancelled.Error()}

// controls reports whether requests are decided about, recorded, traced or shown.
func (x *exchange) controls() bool { return x != nil && (x.policies != nil || x.main != nil) }

// admitCall takes a call of a tool through its steps: find the tool, decide, run, record. A tool that the client did
// not call itself has an operation of its own for telemetry.
func (g *Gateway) admitCall(ctx context.Context, c *toolbox.Call, find finder, run runner) (json.RawMessage, error) {
	x := exchangeOf(ctx)
	it := &item{
		Item: policy.Item{Kind: policy.Tool, Name: c.Name}, action: policy.Call, name: c.Name, arguments: c.Input,
		find: find,
	}
	if x.policies != nil {
		it.source = g.attached.Snapshot("")
	}
	d, err := find(ctx, c.Name, c.Caller)
	it.tool = d
	if err != nil {
		x.claim(it).end(nil, err)
		return nil, err
	}
	reason := ""
	if d != nil {
		it.Item = g.toolItem(d)
		it.hasState, it.continues = x.continues(ctx, d.Server, c.Wire.JSON)
	} else if x.main != nil {
		reason = x.view.resolveTool(it)
	}
	if d == nil && x.enforces() {
		unknown := &toolbox.UnknownTool{Name: c.Name}
		if reason != "" {
			x.hide(ctx, it, reason)
		} else {
			x.claim(it).end(nil, unknown)
		}
		return nil, unknown
	}
	if x.main == nil || !x.isNested(it) {
		raw, e, err := g.runAdmitted(ctx, it, run)
		_, isUnknown := errors.AsType[*toolbox.UnknownTool](err)
		isHeld := err == nil && reason == reasonHeld && e.ErrorKind == "tool" && x.view.resolveTool(it) == reasonHeld
		if isHeld || isUnknown && reason != "" {
			x.explain(ctx, it, e, reason)
		}
		return raw, err
	}
	o := x.partOperation()
	o.Tool, o.Known, o.Server = it.Name, d != nil, it.Server
	ctx, active := g.opts.Control.Telemetry.Start(ctx, &o)
	raw, e, err := g.runAdmitted(ctx, it, run)
	g.opts.Control.Activity.Changed()
	outcome := g.outcome(e, err)
	outcome.Message = g.maskText(outcome.Message)
	active.End(outcome)
	return raw, err
}

// runAdmitted decides about a call and runs it. If its tool has another definition when the connection is there, the
// call is decided again by this definition. It returns the entry, or nil if nothing is recorded.
func (g *Gateway) runAdmitted(
	ctx context.Context, it *item, run runner,
) (json.RawMessage, *entry, error) {
	x := exchangeOf(ctx)
	e, refused := g.admit(ctx, it)
	judged := ctx
	if x.policies != nil && it.tool != nil {
		it.judged = judgedContext{ctx, it}
		judged = &it.judged
	}
	for n := 0; refused == nil; n++ {
		raw, err := run(judged)
		if !errors.Is(err, errRedefined) || n == maxRedefined {
			e.end(raw, byOperator(ctx, err))
			return raw, e, err
		}
		refused = g.refresh(ctx, x, it)
		switch {
		case refused == nil:
			refused = g.judge(ctx, x, it, e)
		case x.report:
			err = &toolbox.UnknownTool{Name: it.name}
			e.end(nil, err)
			return nil, e, err
		default:
			e.refuse(refused)
		}
	}
	raw, err := refused.toolAnswer(it.name)
	return raw, e, err
}

// enforces reports whether a policy limits the request.
func (x *exchange) enforces() bool {
	return x.policies != nil && !x.report
}
