package control

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// A list shows an entry if the policy permits some request for it. This is the decision of [exchange.Admit] for
// arguments that are not known yet. Clients that are equal in every attribute that the policies mention share their
// lists: they are one class.

// rights selects the entries of lists for the clients of one class.
type rights struct {
	control *Control
	class   string
	like    policy.Request // a request of such a client, without an item
	lasting bool           // the result does not change with time
}

// requestOrigin has what the rights of a request depend on.
type requestOrigin struct {
	policies        *policy.Set
	view            string
	identity        *identity.Identity
	caller          toolbox.Principal
	era             interop.Era
	client, address string
}

// maxRights bounds the rights that are cached.
const maxRights = 4000

// Rights implements [gateway.Guard].
func (c *Control) Rights(ctx context.Context, r *gateway.Request) gateway.Rights {
	set, report := c.policies()
	if set == nil || report {
		return nil
	}
	m, id := &r.Message, identity.FromContext(ctx)
	key := requestOrigin{policies: set, view: r.View, identity: id, caller: m.Caller, era: m.Era}
	if m.Client != nil {
		key.client, key.address = m.Client.Name, m.Client.Address
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.rights[key]; found != nil {
		return found
	}
	fresh := &rights{control: c, like: policyRequest(r, id)}
	fresh.class, fresh.lasting = set.ListKey(&fresh.like)
	if c.rights == nil || len(c.rights) >= maxRights {
		c.rights = map[requestOrigin]*rights{}
	}
	c.rights[key] = fresh
	return fresh
}

// Class implements [gateway.Rights].
func (r *rights) Class() (name string, lasting bool) { return r.class, r.lasting }

// Lists implements [gateway.Rights].
func (r *rights) Lists(items []gateway.Item) []bool {
	set, report := r.control.policies()
	if set == nil || report {
		return slices.Repeat([]bool{true}, len(items))
	}
	q, all := r.like, make([]policy.Item, len(items))
	for i := range items {
		all[i] = policyItem(&items[i])
	}
	q.Time = time.Now()
	return set.MayList(&q, all)
}

// policyRequest returns a request for the policy, without its item. The groups of an identity count for a request of
// its own caller only.
func policyRequest(r *gateway.Request, id *identity.Identity) policy.Request {
	m := &r.Message
	q := policy.Request{
		Principal: policy.Principal{Name: string(m.Caller)}, View: r.View, Era: string(m.Era), Time: time.Now(),
	}
	if id != nil && id.Principal == m.Caller {
		q.Principal.Groups = id.Groups
	}
	if m.Client != nil {
		q.Client, q.Address = m.Client.Name, m.Client.Address
	}
	return q
}

// policyItem returns an item as the policy sees it.
func policyItem(it *gateway.Item) policy.Item {
	out := policy.Item{
		Kind: policy.Kind(it.Kind), Server: it.Server, Name: it.Name, Template: it.Template, Changed: it.Changed,
	}
	if it.Tool != nil {
		out.Claims = claimsOf(it.Tool)
	}
	return out
}

// claimsOf returns the annotations of a tool as its owner wrote them.
func claimsOf(d *toolbox.Descriptor) (c policy.Claims) {
	if a := d.Annotations; a != nil {
		if a.ReadOnly {
			c.ReadOnly = &a.ReadOnly
		}
		if a.Idempotent {
			c.Idempotent = &a.Idempotent
		}
		c.Destructive, c.OpenWorld = a.Destructive, a.OpenWorld
		return c
	}
	annotations, ok := wire.Lookup(d.Wire.JSON, "annotations")
	if !ok {
		return c
	}
	claim := func(key string) *bool {
		value, _ := protocol.OneMember(annotations, key)
		switch string(value) {
		case "true":
			return new(true)
		case "false":
			return new(false)
		}
		return nil
	}
	return policy.Claims{
		ReadOnly: claim("readOnlyHint"), Destructive: claim("destructiveHint"),
		Idempotent: claim("idempotentHint"), OpenWorld: claim("openWorldHint"),
	}
}

// MayAdminister reports whether a caller may administer the gateway, from an IP address. The policy decides about
// Action::"administer" on the view of everything. Without a policy that is enforced, members of [identity.AdminGroup]
// may. A nil id is nobody.
func (c *Control) MayAdminister(id *identity.Identity, address string) bool {
	return c.mayManage(id, &policy.Request{
		Action: policy.Administer, Item: policy.Item{Kind: policy.View}, Address: address,
	})
}

// MayApprove reports whether a caller may decide about the approval of a call by another person. The policy decides
// about Action::"approve" on [Control.ApprovalItem], with client, view and era of the call. Without a policy that is
// enforced, members of [identity.AdminGroup] may.
func (c *Control) MayApprove(id *identity.Identity, call *approval.Item, address string) bool {
	return c.mayManage(id, &policy.Request{
		Action: policy.Approve, Item: c.ApprovalItem(call), View: call.View, Client: call.Client, Era: call.Era,
		Address: address,
	})
}

func (c *Control) mayManage(id *identity.Identity, q *policy.Request) bool {
	if id == nil {
		return false
	}
	set, report := c.policies()
	if set == nil || report {
		return slices.Contains(id.Groups, identity.AdminGroup)
	}
	q.Principal = policy.Principal{Name: string(id.Principal), Groups: id.Groups}
	return set.Decide(q).Allowed
}

// ApprovalItem returns the tool of a call that waits for an approval as the policy sees it: with the annotations of the
// definition that the approval is bound to.
func (c *Control) ApprovalItem(call *approval.Item) policy.Item {
	it := c.PolicyItem(call.Server, call.Tool)
	it.Changed = it.Changed || call.Changed != ""
	if call.Claims != nil {
		it.Claims = policy.Claims{}
		_ = json.Unmarshal(call.Claims, &it.Claims)
	}
	return it
}

// PolicyItem returns a tool of a server as the policy sees it: with its annotations, and with its changes. A tool that
// is not listed to any kind of client has only its name.
func (c *Control) PolicyItem(server, tool string) policy.Item {
	return policyItem(new(c.gateway.ToolItem(server, tool)))
}
