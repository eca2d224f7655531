package control

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control/activity"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/control/internal/rates"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
)

// exchange is one request of a caller on its way.
type exchange struct {
	control  *Control
	request  *gateway.Request
	identity *identity.Identity // of the caller when the request began; nil: none
	policies *policy.Set        // decides about all items; nil: there is none
	report   bool               // policies decides without effect
	records  bool               // the request has an entry
	main     entry              // of the first item

	approvalID string          // the approval that the client was asked for, until its answer is stored
	answer     json.RawMessage // the client's answer

	tracked activity.Request

	mu      sync.Mutex
	claimed bool     // main belongs to an item
	counted []string // the rules whose limits the request was counted against, if it asks several servers
	more    []*entry // of further items
}

// Begin implements [gateway.Guard]: it begins the trace and the record of a request, if there are any.
func (c *Control) Begin(ctx context.Context, r *gateway.Request) (context.Context, gateway.Exchange, error) {
	x := &exchange{control: c, request: r, identity: identity.FromContext(ctx)}
	x.policies, x.report = c.policies()
	isFollowed := c.Audit != nil || c.Telemetry != nil || c.Activity != nil
	if !isFollowed && x.policies == nil && c.Policy == nil {
		return ctx, nil, nil
	}
	x.records = isFollowed && !protocol.IsNote(r.Message.Method) && r.Message.Method != protocol.MethodDiscover
	if x.records {
		x.main.begin(x)
		if c.Telemetry != nil {
			o := x.operation()
			ctx = c.Telemetry.StartIn(ctx, &x.main.active, &o)
			x.main.Trace = x.main.active.TraceID()
		}
		ctx = c.Activity.Begin(ctx, &x.tracked, x)
		if c.Audit != nil {
			if err := c.Audit.Ready(); err != nil {
				err = notRecorded(x.untrack(err))
				x.measure(err)
				return ctx, nil, err
			}
		}
	}
	x.readAnswer()
	return ctx, x, nil
}

// Mode implements [gateway.Exchange].
func (x *exchange) Mode() gateway.Mode {
	switch {
	case x.policies != nil && !x.report:
		return gateway.Enforces
	case x.policies != nil:
		return gateway.Reports
	case !x.records:
		return gateway.Passes
	case x.control.Audit != nil:
		return gateway.Records
	}
	return gateway.Watches
}

// Permits implements [gateway.Exchange]. The clients of a class are equal only until the policies change: messages that
// outlive the answer to a request are judged by its own client.
func (x *exchange) Permits(action gateway.Action, it gateway.Item) bool {
	set, report := x.control.policies()
	if set == nil || report {
		return true
	}
	q := policyRequest(x.request, x.identity)
	q.Action, q.Item, q.AnyArguments = policy.Action(action), policyItem(&it), true
	return set.Decide(&q).Allowed
}

// refusal is the answer to a request that is not admitted, with its outcome in the record.
type refusal struct {
	gateway.Refusal
	outcome audit.Outcome
}

func denial(text string) *refusal {
	return &refusal{outcome: audit.Denied, Refusal: gateway.Refusal{Text: text}}
}

// Admit implements [gateway.Exchange]: policy, limit and approval, in this order. A tool that the client did not call
// itself has an operation of its own for telemetry. A client may take minutes to answer a question about an approval.
// After that, the tool and the policy count as they are then.
func (x *exchange) Admit(ctx context.Context, a *gateway.Access) (context.Context, *gateway.Refusal) {
	e, _ := a.Note.(*entry)
	if e == nil {
		e = x.claim(a)
		if a.Nested && x.records {
			o := x.partOperation()
			o.Tool, o.Known, o.Server = a.Name, a.Known, a.Server
			ctx, e.nested = x.control.Telemetry.Start(ctx, &o)
		}
	}
	if x.policies == nil {
		return ctx, nil
	}
	set := x.policies
	if e.asked != "" {
		if now, report := x.control.policies(); now != nil && !report {
			set = now
		}
	}
	refused := x.refusalOf(ctx, a, e, set)
	switch {
	case refused == nil:
		return ctx, nil
	case x.report:
		e.Reason = "report only: " + refused.Text
		if log := x.control.Logger; log != nil {
			log.Warn("the policy would refuse a request", "principal", x.request.Message.Caller, "view", x.request.View,
				"action", a.Action, "server", a.Server, "name", protocol.Printable(a.Name, 200), "reason", refused.Text)
		}
		return ctx, nil
	case !refused.Again:
		e.refuse(refused)
	}
	return ctx, &refused.Refusal
}

// refusalOf returns the reason for which a policy does not admit a request, or nil.
func (x *exchange) refusalOf(ctx context.Context, a *gateway.Access, e *entry, set *policy.Set) *refusal {
	q := policyRequest(x.request, identity.FromContext(ctx))
	q.Action, q.Item, q.Arguments = policy.Action(a.Action), policyItem(&a.Item), a.Arguments
	q.AnyArguments = a.Continues && a.Arguments == nil // a request about a task
	verdict := set.Decide(&q)
	e.decide(&verdict)
	if verdict.Audit.Arguments && a.Arguments != nil {
		e.Arguments = x.control.mask(a.Arguments)
	}
	if !verdict.Allowed {
		text := "the policy does not permit this"
		if a.Arguments != nil {
			text += " with these arguments"
		}
		if len(verdict.Problems) > 0 { // the values that the policy could not judge
			text += ": " + strings.Join(verdict.Problems, "; ")
		}
		refused := denial(text)
		refused.Hidden = !set.MayList(&q, []policy.Item{q.Item})[0]
		return refused
	}
	needsApproval := verdict.Approve != policy.NoApproval
	if a.Continues { // the first request was counted and approved
		a.Once = a.Once || needsApproval
		return nil
	}
	// A call that needs approval counts when it runs, and not when the approval is asked for.
	if refused := x.takeRates(verdict.Rates, !needsApproval); refused != nil || !needsApproval {
		return refused
	}
	if x.report {
		return &refusal{outcome: audit.Deferred, Refusal: gateway.Refusal{Text: "this needs the approval of a person"}}
	}
	if refused := x.approve(ctx, a, e, &verdict); refused != nil {
		return refused
	}
	return x.takeRates(verdict.Rates, true)
}

// takeRates counts a request against the limits of the rules that permit it. It returns a refusal if one of them is
// used up. Without count, it counts nothing. A request that asks several servers counts once for each rule.
func (x *exchange) takeRates(all []policy.Rate, count bool) *refusal {
	if len(all) == 0 || x.report {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	limits := make([]rates.Limit, 0, len(all))
	for _, r := range all {
		if !slices.Contains(x.counted, r.Policy) {
			key := rates.Key{Principal: string(x.request.Message.Caller), Rule: r.Policy}
			limits = append(limits, rates.Limit{Key: key, N: r.Calls, Per: r.Per})
		}
	}
	wait := x.control.rates.Take(limits, count)
	if x.request.Searches && count && wait <= 0 {
		for _, l := range limits {
			x.counted = append(x.counted, l.Rule)
		}
	}
	if wait <= 0 {
		return nil
	}
	seconds := int(math.Ceil(wait.Seconds()))
	refused := denial(fmt.Sprintf("this caller has reached a limit of the policy: try again in %d s", seconds))
	refused.Retry = wait
	return refused
}

// Ended implements [gateway.Exchange].
func (x *exchange) Ended(a *gateway.Access, result json.RawMessage, err error) {
	e := x.entryOf(a)
	if e.Outcome == audit.Allowed { // the answer to a refused request is the end of the exchange
		recorded := err
		if a.Called != "" && err != nil && x.tracked.Cancelled() {
			recorded = errByOperator
		}
		e.end(result, recorded)
	}
	if a.Nested && x.records {
		x.control.Activity.Changed()
		outcome := outcomeOf(e, err)
		outcome.Message = x.control.maskText(outcome.Message)
		e.nested.End(outcome)
	}
}

const reasonRule = "the policy does not permit this"

// Hide implements [gateway.Exchange]. The record of the request has the item and its server, and the rules or the
// reason that hide it.
func (x *exchange) Hide(ctx context.Context, a *gateway.Access, reason string) {
	e := x.entryOf(a)
	if reason == "" {
		return
	}
	if a.Several {
		e.Server = ""
	}
	if x.policies != nil && !x.report {
		q := policyRequest(x.request, identity.FromContext(ctx))
		q.Action, q.Item, q.Arguments = policy.Action(a.Action), policyItem(&a.Item), a.Arguments
		verdict := x.policies.Decide(&q)
		if !verdict.Allowed || reason == gateway.NotInView && !x.policies.MayList(&q, []policy.Item{q.Item})[0] {
			e.decide(&verdict)
			reason = reasonRule
		}
	}
	e.ErrorKind = ""
	e.refuse(denial(reason))
}

// End implements [gateway.Exchange]. If the record cannot be written, the client does not get the result.
func (x *exchange) End(result json.RawMessage, err error) (json.RawMessage, error) {
	if !x.records {
		return result, err
	}
	result, err = x.keep(result, err)
	x.measure(err)
	return result, err
}

var errByOperator error = &interop.RPCError{Code: protocol.CodeRefused, Message: activity.ErrCancelled.Error()}
