package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway/internal/definition"
	"github.com/indusagi/indus/internal/canonical"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/secret"
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
func (g *Gateway) approve(ctx context.Context, x *exchange, it *item, e *entry, v *policy.Verdict) *refusal {
	book := g.opts.Control.Approvals
	if book == nil {
		return &refusal{outcome: audit.Denied, text: "this needs the approval of a person, and there is no place to ask"}
	}
	wanted := x.approvalItem(it, v)
	require := func() (approval.Item, approval.Outcome, error) {
		return book.Require(ctx, wanted, func(i *approval.Item) { x.describe(ctx, it, i) })
	}
	if it.hasState { // the server would refuse the state, and the grant would be spent for nothing
		has, err := book.HasGrant(ctx, wanted)
		if err != nil {
			return noApprovals(err)
		}
		if has {
			return &refusal{outcome: audit.Denied, text: errStateForeign.Error(), err: errStateForeign}
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
		it.origin = wanted.Origin
		return nil
	case wanted.Way == approval.Other || !x.canAsk(it) || found.ID == answered || found.ID == it.asked:
		return g.waits(found)
	case x.message.Era == interop.Modern:
		r := g.waits(found)
		r.result = x.questionResult(it, found)
		return r
	}
	g.askNow(ctx, x, it, e, found)
	if err := ctx.Err(); err != nil {
		return &refusal{outcome: audit.Deferred, text: context.Cause(ctx).Error()}
	}
	if i, err := book.Item(ctx, found.ID); err == nil && i.State == approval.Refused {
		return denied(i) // also if the rules need no approval any more
	}
	it.asked = found.ID
	return &refusal{again: true}
}

// noApprovals returns the refusal of a request that needs approval while the approvals cannot be read or written.
func noApprovals(err error) *refusal {
	return &refusal{outcome: audit.Denied, text: "this needs the approval of a person: " + err.Error()}
}

// approvalItem returns the approval that a request needs, without the texts of describe.
func (x *exchange) approvalItem(it *item, v *policy.Verdict) approval.Item {
	i := approval.Item{
		Subject: approval.Subject{
			Principal: string(x.message.Caller), View: x.view.name, Server: it.Server, Tool: it.Name,
			Arguments: sha256.Sum256(it.arguments),
		},
		Way: approval.Way(v.Approve), Rule: strings.Join(v.RuleIDs, ", "),
	}
	if x.message.Client != nil {
		i.Client = x.message.Client.Name
	}
	if s, ok := x.view.gateway.attached.Fleet.Server(it.Server); ok {
		i.Origin = definition.Origin(s)
	}
	if it.tool != nil {
		i.Definition = sha256.Sum256(canonical.JSON(it.tool.Wire.JSON))
	} else {
		i.Definition = sha256.Sum256([]byte(string(it.Kind) + " " + string(it.action)))
	}
	return i
}

// describe sets the parts of an item that a person who approves the request sees, and by which the policy judges that
// person.
func (x *exchange) describe(ctx context.Context, it *item, i *approval.Item) {
	g := x.view.gateway
	i.Era = string(x.message.Era)
	if it.arguments != nil {
		i.Shown, i.Bytes = g.mask(it.arguments), len(it.arguments)
	}
	if s, ok := g.attached.Fleet.Server(it.Server); ok {
		i.Program = g.maskText(definition.Program(s))
	}
	if it.tool == nil {
		return
	}
	i.Claims, _ = json.Marshal(it.Claims)
	i.Title, i.Description = it.tool.Title, it.tool.Description // a tool of a server has its title in its definition
	if changes := g.opts.Control.Changes; changes != nil && it.Changed {
		i.Changed = changes(ctx, it.Server, it.Name)
	}
}

// maxMasked bounds the arguments, results and texts that are masked, in bytes. Records and approvals hold less of them.
const maxMasked = 2 * audit.MaxContent

// mask masks secrets in arguments or a result for a person or a record. The end of long JSON is cut off.
func (g *Gateway) mask(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxMasked {
		raw = raw[:maxMasked]
	}
	if g.opts.Control.Mask != nil {
		return g.opts.Control.Mask(raw)
	}
	return secret.MaskLikely(raw)
}

// maskText is mask for a text: a server's error, or a URI.
func (g *Gateway) maskText(s string) string {
	if s == "" {
		return s
	}
	rest := ""
	if len(s) > maxMasked/2 { // its digest tells it from others with the same beginning
		rest = fmt.Sprintf("… (%d bytes, sha256:%x)", len(s), sha256.Sum256([]byte(s)))
		s = text.Cut(s, maxMasked/2)
	}
	masked, _ := wire.Unquote(g.mask(wire.Quote(s)))
	return masked + rest
}

// waits returns the answer to a request that waits for an approval.
func (g *Gateway) waits(i approval.Item) *refusal {
	at := "by `" + cmp.Or(g.opts.Control.ApproveBy, "indus approvals allow") + " " + i.ID + "`"
	if page := g.opts.Control.ApproveAt; page != "" {
		at = "at " + page + " or " + at
	}
	return &refusal{outcome: audit.Deferred, text: fmt.Sprintf(
		"waits for approval %s: a person approves it %s until %s; then ask again with the same arguments",
		i.ID, at, i.Expires.Local().Format("15:04:05 MST"))}
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
	return &refusal{outcome: audit.Denied, text: fmt.Sprintf("%s denied this call (approval %s)%s", by, i.ID, reason)}
}

// canAsk reports whether the client of a request can be asked for its approval now.
func (x *exchange) canAsk(it *item) bool {
	c := x.message.Client
	if c == nil || c.Back == nil || x.message.Era == interop.Modern && x.isNested(it) {
		return false
	}
	if x.message.Era == interop.Modern && !protocol.MayRequireInput(x.message.Method) {
		return false
	}
	return protocol.CheckClientRequest(c.Capabilities, protocol.MethodElicit, nil) == nil
}

// isNested reports whether the client called another tool, which calls this one. Only the result of the tool that the
// client called can be a question.
func (x *exchange) isNested(it *item) bool {
	name, _ := wire.Lookup(x.message.Params, "name")
	return x.message.Method == protocol.MethodToolsCall && string(wire.Text(name)) != it.name
}

// question returns the params of the question to the client.
func (x *exchange) question(it *item, i approval.Item) json.RawMessage {
	message := fmt.Sprintf("Allow this call?\nserver: %s\n%s: %s", it.Server, strings.ToLower(string(it.Kind)),
		protocol.Printable(it.Name, 200))
	if i.Description != "" {
		message += "\nits server describes it: " + protocol.Printable(i.Description, 200)
	}
	if i.Changed != "" {
		message += "\nit has changed since it was accepted:\n" + text.Lines(i.Changed)
	}
	if it.arguments != nil {
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
	if x.message.Era == interop.Modern {
		o = o.Text("mode", "form")
	}
	return o.Text("message", message).Raw("requestedSchema", []byte(schema)).JSON()
}

// questionResult returns the result that asks a modern client (2026-07-28, basic/patterns/mrtr). The state holds the id
// of the approval, so nothing waits for the answer. The book knows when the approval expires.
func (x *exchange) questionResult(it *item, i approval.Item) json.RawMessage {
	state := x.view.gateway.opts.Host.Keys.Seal(sealed.Token{
		Kind: sealed.Approval, Principal: string(x.message.Caller), Data: []byte(i.ID),
	})
	request := wire.Object{}.Text("method", protocol.MethodElicit).Raw("params", x.question(it, i)).JSON()
	return wire.Object{}.Text("resultType", "input_required").
		Raw("inputRequests", wire.Object{}.Raw(approvalKey, request).JSON()).Text("requestState", state).JSON()
}

// readAnswer removes the answer to a question of questionResult from a request. It returns the request for the server.
func (x *exchange) readAnswer(m interop.Message) interop.Message {
	g := x.view.gateway
	if g.opts.Control.Approvals == nil || m.Era != interop.Modern || !protocol.MayRequireInput(m.Method) {
		return m
	}
	state, _ := protocol.LookupString(m.Params, "requestState")
	if state == "" {
		return m
	}
	t, err := g.opts.Host.Keys.Open(state, sealed.Want{Kind: sealed.Approval, Principal: string(m.Caller)})
	if err != nil {
		return m // a state of a server, which its owner checks
	}
	responses, _ := wire.Lookup(m.Params, "inputResponses")
	answer, _ := wire.Lookup(responses, approvalKey)
	params, err := wire.Rewrite(m.Params, wire.Edit{Key: "requestState"}, wire.Edit{Key: "inputResponses"})
	if err != nil {
		return m
	}
	m.Params = params
	x.approvalID, x.answer = string(t.Data), answer
	return m
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
	d := approval.Decision{By: string(x.message.Caller), Channel: approval.ByCaller}
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
func (g *Gateway) askNow(ctx context.Context, x *exchange, it *item, e *entry, found approval.Item) {
	defer g.opts.Control.Telemetry.Wait(ctx)()
	x.setWaiting(e, found.ID)
	defer x.setWaiting(e, "")
	book := g.opts.Control.Approvals
	asking, cancel := context.WithTimeout(ctx, book.Left(found))
	defer cancel()
	answered := make(chan error, 1)
	g.running.Go(func() {
		m := interop.Message{Method: protocol.MethodElicit, Params: x.question(it, found)}
		answer, err := x.message.Client.Back(asking, m)
		if err == nil {
			x.decideByAnswer(asking, book, found.ID, answer)
		}
		answered <- err
	})
	decided := make(chan struct{})
	g.running.Go(func() {
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
	x.view.gateway.opts.Control.Activity.Changed()
}

// sendProgress notifies the client of a call that waits for an approval, if the call has a progress token.
func (x *exchange) sendProgress(ctx context.Context, n int, i approval.Item) {
	meta, _ := wire.Lookup(x.message.Params, "_meta")
	token, ok := wire.Lookup(meta, "progressToken")
	if !ok {
		return
	}
	params := wire.Object{}.Raw("progressToken", token).Raw("progress", fmt.Append(nil, n)).
		Text("message", "waits for approval "+i.ID)
	_, _ = x.message.Client.Back(ctx, interop.Message{Method: protocol.NoteProgress, Params: params.JSON()})
}

// continues reports whether params continue an exchange that a server began with an input_required result. The state is
// one that the gateway sealed for this server and caller after it had admitted the request. Before the request reaches
// the server, openState checks that it is the same request, and that the state is used once. hasState reports whether
// params have a state that openState will check.
func (x *exchange) continues(
	ctx context.Context, server string, params json.RawMessage,
) (hasState, continues bool) {
	if x.message.Era != interop.Modern || server == x.view.gateway.opts.Transparent {
		return false, false
	}
	raw, hasState := wire.Lookup(params, "requestState")
	state := string(wire.Text(raw))
	if state == "" || !jsontext.Value(params).IsValid(jsontext.AllowInvalidUTF8(true)) { // a repeated member hides another
		return hasState, false
	}
	want := sealed.Want{Kind: sealed.RequestState, Principal: string(x.message.Caller), AnyRequest: true}
	t, err := x.view.gateway.opts.Host.Keys.Open(state, want)
	if err != nil {
		return hasState, false
	}
	origin, _, err := openOrigin(ctx, t.Data)
	return hasState, err == nil && origin.server == server
}
