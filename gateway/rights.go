package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway/internal/definition"
	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// A list shows an entry if the policy permits some request for it. This is the decision of [Gateway.admit] for
// arguments that are not known yet. Clients that are equal in every attribute that the policies mention share their
// lists: they are one class.

// rights selects the entries of lists for the clients of one class. Nil selects all.
type rights struct {
	gateway *Gateway
	class   string
	like    policy.Request // a request of such a client, without an item
	changes bool           // the result changes with time, and is not cached
}

// requestOrigin has what the rights of a request depend on.
type requestOrigin struct {
	policies        *policy.Set
	identity        *identity.Identity
	caller          toolbox.Principal
	era             interop.Era
	client, address string
}

// maxRights bounds the rights that are cached in a view.
const maxRights = 1000

// rightsOf returns the rights of the client of a request.
func (v *view) rightsOf(ctx context.Context, m interop.Message) *rights {
	set, report := v.gateway.policies()
	if set == nil || report {
		return nil
	}
	key := requestOrigin{policies: set, identity: identity.FromContext(ctx), caller: m.Caller, era: m.Era}
	if m.Client != nil {
		key.client, key.address = m.Client.Name, m.Client.Address
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.rights[key]
	if r != nil {
		return r
	}
	r = &rights{gateway: v.gateway, like: v.policyRequest(ctx, m)}
	class, lasting := set.ListKey(&r.like)
	r.class, r.changes = class, !lasting
	if v.rights == nil || len(v.rights) >= maxRights {
		v.rights = map[requestOrigin]*rights{}
	}
	v.rights[key] = r
	return r
}

// policyRequest returns a request of a client for the policy, without its item.
func (v *view) policyRequest(ctx context.Context, m interop.Message) policy.Request {
	q := policy.Request{
		Principal: policy.Principal{Name: string(m.Caller)}, View: v.name, Era: string(m.Era), Time: time.Now(),
	}
	if id := identity.FromContext(ctx); id != nil && id.Principal == m.Caller {
		q.Principal.Groups = id.Groups
	}
	if m.Client != nil {
		q.Client, q.Address = m.Client.Name, m.Client.Address
	}
	return q
}

// MayAdminister reports whether a caller may administer the gateway, from an IP address. The policy decides about
// Action::"administer" on the view of everything. Without a policy that is enforced, members of [identity.AdminGroup]
// may. A nil id is nobody.
func (g *Gateway) MayAdminister(id *identity.Identity, address string) bool {
	return g.mayManage(id, &policy.Request{
		Action: policy.Administer, Item: policy.Item{Kind: policy.View}, Address: address,
	})
}

// MayApprove reports whether a caller may decide about the approval of a call by another person. The policy decides
// about Action::"approve" on [Gateway.ApprovalItem], with client, view and era of the call. Without a policy that is
// enforced, members of [identity.AdminGroup] may.
func (g *Gateway) MayApprove(id *identity.Identity, call *approval.Item, address string) bool {
	return g.mayManage(id, &policy.Request{
		Action: policy.Approve, Item: g.ApprovalItem(call), View: call.View, Client: call.Client, Era: call.Era,
		Address: address,
	})
}

// ApprovalItem returns the tool of a call that waits for an approval as the policy sees it: with the annotations of the
// definition that the approval is bound to.
func (g *Gateway) ApprovalItem(call *approval.Item) policy.Item {
	it := g.PolicyItem(call.Server, call.Tool)
	it.Changed = it.Changed || call.Changed != ""
	if call.Claims != nil {
		it.Claims = policy.Claims{}
		_ = json.Unmarshal(call.Claims, &it.Claims)
	}
	return it
}

func (g *Gateway) mayManage(id *identity.Identity, q *policy.Request) bool {
	if id == nil {
		return false
	}
	set, report := g.policies()
	if set == nil || report {
		return slices.Contains(id.Groups, identity.AdminGroup)
	}
	q.Principal = policy.Principal{Name: string(id.Principal), Groups: id.Groups}
	return set.Decide(q).Allowed
}

func (r *rights) className() string {
	if r == nil {
		return ""
	}
	return r.class
}

// list reports for each item whether a list shows it.
func (r *rights) list(items ...policy.Item) []bool {
	if r != nil {
		if set, report := r.gateway.policies(); set != nil && !report {
			q := r.like
			q.Time = time.Now()
			return set.MayList(&q, items)
		}
	}
	all := make([]bool, len(items))
	for i := range all {
		all[i] = true
	}
	return all
}

// lists is list for one item.
func (r *rights) lists(it policy.Item) bool { return r == nil || r.list(it)[0] }

// permits reports whether the policy permits an action now, whatever the arguments are.
func (r *rights) permits(action policy.Action, it policy.Item) bool {
	if r == nil {
		return true
	}
	set, report := r.gateway.policies()
	if set == nil || report {
		return true
	}
	q := r.like
	q.Time, q.Action, q.Item, q.AnyArguments = time.Now(), action, it, true
	return set.Decide(&q).Allowed
}

// policies returns the policy that decides now, or nil if there is none.
func (g *Gateway) policies() (decides *policy.Set, report bool) {
	if g.opts.Control.Policy == nil {
		return nil, false
	}
	return g.opts.Control.Policy()
}

// PolicyItem returns a tool of a server as the policy sees it: with its annotations, and with its changes. A tool that
// is not listed to any kind of client has only its name.
func (g *Gateway) PolicyItem(server, tool string) policy.Item {
	s := g.attached.Snapshot("")
	for _, kind := range append([]*toolbox.Snapshot{s}, s.Kinds...) {
		for i := range kind.Tools {
			if d := &kind.Tools[i]; d.Server == server && d.Tool == tool {
				return g.toolItem(d)
			}
		}
	}
	return policy.Item{Kind: policy.Tool, Server: server, Name: tool}
}

// toolItem returns a tool as an item of the policy.
func (g *Gateway) toolItem(d *toolbox.Descriptor) policy.Item {
	return policy.Item{
		Kind: policy.Tool, Server: d.Server, Name: d.Tool, Claims: definition.Claims(d),
		Changed: (*g.alteredTools())[ownName{d.Server, d.Tool}],
	}
}

// alteredTools holds the tools that differ from their approved version.
type alteredTools map[ownName]bool

// alteredAge is how long a collected set of altered tools is used.
const alteredAge = time.Second

// alteredTools returns the tools that differ from their approved version. As long as these are the same tools, it
// returns the same pointer.
func (g *Gateway) alteredTools() *alteredTools {
	now := g.attached.Snapshot("")
	g.alteredMu.Lock()
	defer g.alteredMu.Unlock()
	if g.altered != nil && g.alteredIn == now && time.Since(g.alteredAt) < alteredAge {
		return g.altered
	}
	fresh := alteredTools{}
	for _, e := range g.attached.Changed() {
		fresh[ownName{e.Server, e.Tool}] = true
	}
	if g.altered == nil || !maps.Equal(*g.altered, fresh) {
		g.altered = &fresh
	}
	g.alteredAt, g.alteredIn = time.Now(), now
	return g.altered
}

// partItem returns a prompt, a resource or a template as an item of the policy.
func partItem(row *methods.Row, kind methods.NameKind, owner ownName) policy.Item {
	it := policy.Item{Kind: policy.Resource, Server: owner.server, Name: owner.own}
	switch {
	case kind == methods.ByPrompt:
		it.Kind = policy.Prompt
	case row != nil && row.ID == "uriTemplate":
		it.Template = true
	}
	return it
}

// rightsIn returns the rights of the client whose request ctx belongs to, and of no other client. The clients of a
// class are equal only until the policies change: whatever outlives the answer to a request needs the rights of its own
// client.
func rightsIn(ctx context.Context) *rights {
	x := exchangeOf(ctx)
	if x == nil || x.view.gateway.opts.Control.Policy == nil {
		return nil
	}
	return &rights{gateway: x.view.gateway, like: x.view.policyRequest(ctx, x.message)}
}

// mayAsk returns an error if a server may not ask the client.
func (r *rights) mayAsk(server string) error {
	if r.permits(policy.Ask, policy.Item{Kind: policy.Server, Server: server}) {
		return nil
	}
	return &interop.RPCError{
		Code: interop.CodeMethodNotFound, Message: "the policy does not permit that this server asks the client",
	}
}

// askPeer refuses the questions of servers that may not ask the client.
func (r *rights) askPeer(next interop.Peer) interop.Peer {
	return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		if m.Server != "" && !protocol.IsNote(m.Method) {
			if err := r.mayAsk(m.Server); err != nil {
				return nil, err
			}
		}
		return next(ctx, m)
	}
}
