package control

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/canonical"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

const (
	// approvalKey is the key of the question in inputRequests.
	approvalKey = "indus-approval"
	// approvalProgress is the interval of progress notifications while the client of a legacy call is asked.
	approvalProgress = 3 * time.Second
	// maxShownArguments bounds the arguments in a question, in bytes.
	maxShownArguments = 4 << 10
)

// approve spends the grant for a request. If there is none, it asks for one in the way of the rule:
//
//	caller, either  a modern client gets an input_required result with the question, and nothing waits;
//	                a legacy client is asked on the stream of its call
//	other           the client is not asked: the answer names the approval
//
// A client that cannot be asked gets the same answer as with other, and so does a client whose answer decides nothing:
// many clients repeat the question until it is decided.
func (x *exchange) approve(ctx context.Context, a *gateway.Access, e *entry, v *policy.Verdict) *refusal {
	book := x.control.Approvals
	if book == nil {
		return denial("this needs the approval of a person, and there is no place to ask")
	}
	wanted := x.approvalItem(a, v)
	require := func() (approval.Item, approval.Outcome, error) {
		return book.Require(ctx, wanted, func(i *approval.Item) { x.describe(ctx, a, i) })
	}
	if a.HasState { // the server would refuse the state, and the grant would be spent for nothing
		has, err := book.HasGrant(ctx, wanted)
		if err != nil {
			return noApprovals(err)
		}
		if has {
			refused := denial(errStateForeign.Error())
			refused.Err = errStateForeign
			return refused
		}
	}
	found, outcome, err := require()
	answered := ""
	if err == nil && outcome == approval.Pending && x.takeAnswer(ctx, book, found.ID) {
		answered = found.ID
		found, outcome, err = require()
	}
	if err != nil {
		return noApprovals(err)
	}
	e.Approval, e.Approver = found.ID, found.By
	switch {
	case outcome == approval.Denied:
		return denied(found)
	case outcome != approval.Pending:
		a.Origin = wanted.Origin
		return nil
	case wanted.Way == approval.Other || !x.canAsk(a) || found.ID == answered || found.ID == e.asked:
		return x.control.waits(found)
	case x.request.Message.Era == interop.Modern:
		r := x.control.waits(found)
		r.Result = x.questionResult(a, found)
		return r
	}
	x.askNow(ctx, a, e, found)
	if err := ctx.Err(); err != nil {
		return &refusal{outcome: audit.Deferred, Refusal: gateway.Refusal{Text: context.Cause(ctx).Error()}}
	}
	if i, err := book.Item(ctx, found.ID); err == nil && i.State == approval.Refused {
		return denied(i) // also if the rules need no approval any more
	}
	e.asked = found.ID
	return &refusal{Refusal: gateway.Refusal{Again: true}}
}

// noApprovals returns the refusal of a request that needs approval while the approvals cannot be read or written.
func noApprovals(err error) *refusal {
	return denial("this needs the approval of a person: " + err.Error())
}

// approvalItem returns the approval that a request needs, without the texts of describe.
func (x *exchange) approvalItem(a *gateway.Access, v *policy.Verdict) approval.Item {
	i := approval.Item{
		Subject: approval.Subject{
			Principal: string(x.request.Message.Caller), View: x.request.View, Server: a.Server, Tool: a.Name,
			Arguments: sha256.Sum256(a.Arguments),
		},
		Way: approval.Way(v.Approve), Rule: strings.Join(v.RuleIDs, ", "),
	}
	if x.request.Message.Client != nil {
		i.Client = x.request.Message.Client.Name
	}
	i.Origin, _ = x.control.gateway.Program(a.Server)
	if a.Tool != nil {
		i.Definition = sha256.Sum256(canonical.JSON(a.Tool.Wire.JSON))
	} else {
		i.Definition = sha256.Sum256([]byte(string(a.Kind) + " " + string(a.Action)))
	}
	return i
}

// describe sets the parts of an item that a person who approves the request sees, and by which the policy judges that
// person.
func (x *exchange) describe(ctx context.Context, a *gateway.Access, i *approval.Item) {
	c := x.control
	i.Era = string(x.request.Message.Era)
	if a.Arguments != nil {
		i.Shown, i.Bytes = c.mask(a.Arguments), len(a.Arguments)
	}
	if origin, shown := c.gateway.Program(a.Server); origin != "" {
		i.Program = c.maskText(shown)
	}
	if a.Tool == nil {
		return
	}
	i.Claims, _ = json.Marshal(claimsOf(a.Tool))
	i.Title, i.Description = a.Tool.Title, a.Tool.Description // a tool of a server has its title in its definition
	if changes := c.Changes; changes != nil && a.Changed {
		i.Changed = changes(ctx, a.Server, a.Name)
	}
}

// waits returns the answer to a request that waits for an approval.
func (c *Control) waits(i approval.Item) *refusal {
	at := "by `" + cmp.Or(c.ApproveBy, "indus approvals allow") + " " + i.ID + "`"
	if page := c.ApproveAt; page != "" {
		at = "at " + page + " or " + at
	}
	return &refusal{outcome: audit.Deferred, Refusal: gateway.Refusal{Text: fmt.Sprintf(
		"waits for approval %s: a person approves it %s until %s; then ask again with the same arguments",
		i.ID, at, i.Expires.Local().Format("15:04:05 MST"))}}
}

// denied returns the answer to a request that was denied. Some clients decline each question by themselves, so a denial
// by the client of the caller is not called a person's.
func denied(i approval.Item) *refusal {
	by, reason := "a person", ""
	if i.Channel == approval.ByCaller {
		by = "the client of the caller"
	}
	if i.Reason != "" {
		reason = ": " + i.Reason
	}
	return denial(fmt.Sprintf("%s denied this call (approval %s)%s", by, i.ID, reason))
}

// canAsk reports whether the client of a request can be asked for its approval now.
func (x *exchange) canAsk(a *gateway.Access) bool {
	c := x.request.Message.Client
	if c == nil || c.Back == nil || x.request.Message.Era == interop.Modern && a.Nested {
		return false
	}
	if x.request.Message.Era == interop.Modern && !protocol.MayRequireInput(x.request.Message.Method) {
		return false
	}
	return protocol.CheckClientRequest(c.Capabilities, protocol.MethodElicit, nil) == nil
}

// question returns the params of the question to the client.
func (x *exchange) question(a *gateway.Access, i approval.Item) json.RawMessage {
	message := fmt.Sprintf("Allow this call?\nserver: %s\n%s: %s", a.Server, strings.ToLower(string(a.Kind)),
		protocol.Printable(a.Name, 200))
	if i.Description != "" {
		message += "\nits server describes it: " + protocol.Printable(i.Description, 200)
	}
	if i.Changed != "" {
		message += "\nit has changed since it was accepted:\n" + text.Lines(i.Changed)
	}
	if a.Arguments != nil {
		shown := text.PlainJSON(string(i.Shown))
		message += "\narguments: " + text.Clip(shown, maxShownArguments)
		if i.Partial || len(shown) > maxShownArguments {
			message += fmt.Sprintf(" (a part of %d bytes)", i.Bytes)
		}
	}
	message += fmt.Sprintf("\napproval %s, required by %s; it expires at %s", i.ID, i.Rule,
		i.Expires.Local().Format("15:04:05 MST"))
	schema := `{"type":"object","properties":{"approve":{"type":"boolean","title":"Allow this call once",` +
		`"default":false}},"required":["approve"]}`
	o := wire.Object{}
	if x.request.Message.Era == interop.Modern {
		o = o.Text("mode", "form")
	}
	return o.Text("message", message).Raw("requestedSchema", []byte(schema)).JSON()
}

// questionResult returns the result that asks a modern client (2026-07-28, basic/patterns/mrtr). The state holds the id
// of the approval, so nothing waits for the answer. The book knows when the approval expires.
func (x *exchange) questionResult(a *gateway.Access, i approval.Item) json.RawMessage {
	state := x.control.gateway.Seal(x.request.Message.Caller, i.ID)
	request := wire.Object{}.Text("method", protocol.MethodElicit).Raw("params", x.question(a, i)).JSON()
	return wire.Object{}.Text("resultType", "input_required").
		Raw("inputRequests", wire.Object{}.Raw(approvalKey, request).JSON()).Text("requestState", state).JSON()
}

// readAnswer removes the answer to a question of questionResult from the params that the server gets.
func (x *exchange) readAnswer() {
	m := &x.request.Message
	if x.control.Approvals == nil || m.Era != interop.Modern || !protocol.MayRequireInput(m.Method) {
		return
	}
	state, _ := protocol.LookupString(m.Params, "requestState")
	id, ok := x.control.gateway.Unseal(m.Caller, state)
	if !ok {
		return // a state of a server, which its owner checks
	}
	responses, _ := wire.Lookup(m.Params, "inputResponses")
	answer, _ := wire.Lookup(responses, approvalKey)
	params, err := wire.Rewrite(m.Params, wire.Edit{Key: "requestState"}, wire.Edit{Key: "inputResponses"})
	if err == nil {
		m.Params, x.approvalID, x.answer = params, id, answer
	}
}

// takeAnswer decides about the approval id with the answer of the client that readAnswer found. It reports whether
// there is such an answer. An answer to the question about another call decides nothing.
func (x *exchange) takeAnswer(ctx context.Context, book *approval.Book, id string) bool {
	x.mu.Lock()
	isOwn := x.approvalID == id && x.answer != nil
	if isOwn {
		x.approvalID = ""
	}
	x.mu.Unlock()
	if isOwn {
		x.decideByAnswer(ctx, book, id, x.answer)
	}
	return isOwn
}

// decideByAnswer stores the decision in the result of an elicitation. Without a decision the approval goes on waiting:
// a person dismissed the question, or the answer says nothing.
func (x *exchange) decideByAnswer(ctx context.Context, book *approval.Book, id string, answer json.RawMessage) {
	d := approval.Decision{By: string(x.request.Message.Caller), Channel: approval.ByCaller}
	switch action, _ := protocol.LookupString(answer, "action"); action {
	case "accept":
		content, _ := wire.Lookup(answer, "content")
		choice, _ := protocol.OneMember(content, "approve")
		switch string(choice) {
		case "true":
			d.Allow = true
		case "false":
		default:
			return
		}
	case "decline":
	default:
		return
	}
	_, _ = book.Decide(ctx, id, d) // Require shows whether the decision counts
}

// askNow asks the client of a legacy request on its stream, and waits for the first decision: of the client, or of
// another person. The client gets progress notifications meanwhile.
func (x *exchange) askNow(ctx context.Context, a *gateway.Access, e *entry, found approval.Item) {
	defer x.control.Waits(ctx)()
	x.setWaiting(e, found.ID)
	defer x.setWaiting(e, "")
	book := x.control.Approvals
	asking, cancel := context.WithTimeout(ctx, book.Left(found))
	defer cancel()
	answered := make(chan error, 1)
	x.control.running.Go(func() {
		m := interop.Message{Method: protocol.MethodElicit, Params: x.question(a, found)}
		answer, err := x.request.Message.Client.Back(asking, m)
		if err == nil {
			x.decideByAnswer(asking, book, found.ID, answer)
		}
		answered <- err
	})
	decided := make(chan struct{})
	x.control.running.Go(func() {
		defer close(decided)
		_, _ = book.Wait(asking, found.ID)
	})
	tick := time.NewTicker(approvalProgress)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
			x.sendProgress(asking, n, found)
			continue
		case <-answered:
		case <-decided:
		case <-asking.Done():
		}
		return
	}
}

// setWaiting stores the id of the approval that an item waits for, or "".
func (x *exchange) setWaiting(e *entry, id string) {
	x.mu.Lock()
	e.waiting = id
	x.mu.Unlock()
	x.control.Activity.Changed()
}

// sendProgress notifies the client of a call that waits for an approval, if the call has a progress token.
func (x *exchange) sendProgress(ctx context.Context, n int, i approval.Item) {
	meta, _ := wire.Lookup(x.request.Message.Params, "_meta")
	token, ok := wire.Lookup(meta, "progressToken")
	if !ok {
		return
	}
	params := wire.Object{}.Raw("progressToken", token).Raw("progress", fmt.Append(nil, n)).
		Text("message", "waits for approval "+i.ID)
	_, _ = x.request.Message.Client.Back(ctx, interop.Message{Method: protocol.NoteProgress, Params: params.JSON()})
}

// errStateForeign is returned if a call needs approval, and has a state that does not continue it.
var errStateForeign error = protocol.InvalidParams("requestState",
	"it is not the state of the last answer, or it was altered; send the request again without it")
