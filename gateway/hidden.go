package gateway

import (
	"context"
	"slices"

	"github.com/indusagi/indus/audit"
	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/policy"
	"github.com/indusagi/indus/toolbox"
)

// A caller gets the same answer for an item that is hidden from it and for one that does not exist. The record of the
// request has the difference: the item and its server, and the rules or the reason that hide it.

// explainUnknown records a call that ended before any decision, because its tool is not in the caller's list.
func (x *exchange) explainUnknown(ctx context.Context, err error) {
	if err == nil || x.message.Method != protocol.MethodToolsCall || !x.enforces() {
		return
	}
	x.mu.Lock()
	claimed := x.claimed
	x.mu.Unlock()
	name, ok := protocol.LookupString(x.message.Params, "name")
	if claimed || !ok {
		return
	}
	arguments, _ := wire.Lookup(x.message.Params, "arguments")
	it := &item{Item: policy.Item{Kind: policy.Tool, Name: name}, action: policy.Call, name: name, arguments: arguments}
	if x.view.resolveTool(it) {
		x.hide(ctx, it)
	}
}

// resolveTool sets the tool of an item as its server lists it, whoever may see it. It reports whether there is one.
func (v *view) resolveTool(it *item) bool {
	qualified := v.plainKind.shown.qualified(it.name)
	s := v.gateway.attached.Snapshot("")
	for _, kind := range append([]*toolbox.Snapshot{s}, s.Kinds...) {
		for i := range kind.Tools {
			if d := &kind.Tools[i]; d.Name == qualified {
				it.tool, it.Item = d, v.gateway.toolItem(d)
				return true
			}
		}
	}
	if slices.Contains(s.Held, qualified) {
		for _, server := range v.gateway.attached.Changed() {
			if server.Name == qualified {
				it.Item = v.gateway.PolicyItem(server.Server, server.Tool)
				return true
			}
		}
	}
	return false
}

// resolvePart sets the server and the own name of a prompt or a resource that some server lists. It reports whether
// there is one.
func (v *view) resolvePart(ctx context.Context, m interop.Message, it *item) bool {
	it.action = map[string]policy.Action{
		"prompts/get": policy.Get, "resources/subscribe": policy.Subscribe, "completion/complete": policy.Complete,
	}[m.Method]
	if it.action == "" {
		it.action = policy.Read
	}
	kind, lists := methods.ByURI, []string{"resources/list", "resources/templates/list"}
	if it.Kind == policy.Prompt {
		kind, lists = methods.ByPrompt, []string{"prompts/list"}
	}
	for _, list := range lists {
		row := v.gateway.table[list]
		all := v.mergedFor(ctx, row, listRequester{kind: v.plainKind}, false)
		owner, ok := all.byName[it.Name]
		if !ok && list == "resources/templates/list" {
			if owner, ok = all.match(it.Name, ""); ok {
				owner.own, row = it.Name, nil
			}
		}
		if ok {
			it.Item = partItem(row, kind, owner)
			return true
		}
	}
	return false
}

// hide records that an item is hidden from the caller, with the rules or the reason.
func (x *exchange) hide(ctx context.Context, it *item) {
	e := x.claim(it)
	q := x.view.policyRequest(ctx, x.message)
	q.Action, q.Item, q.Arguments = it.action, it.Item, it.arguments
	verdict := x.policies.Decide(&q)
	e.decide(&verdict)
	text := "the policy does not permit this"
	if verdict.Allowed {
		e.Policies = nil
		text = "it is not in this view"
		if it.Kind == policy.Tool && it.tool == nil {
			text = "it is held: it is new or changed since its server was approved"
		}
	}
	e.refuse(&refusal{outcome: audit.Denied, text: text})
}
