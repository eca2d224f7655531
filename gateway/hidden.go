package gateway

import (
	"context"
	"slices"
	"strings"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// A caller gets the same answer for an item that is hidden from it and for one that does not exist. The record of the
// request has the difference: the item and its server, and the rules or the reason that hide it.

const (
	reasonHeld = "it is held: it is new or changed since its server was approved"
)

// resolveTool sets the item of a tool that the caller does not see. It returns the reason for which the tool is not
// seen, if the policy permits the call, or "" if no server is known to have the tool.
func (v *view) resolveTool(it *Access) (reason string) {
	qualified := v.plainKind.shown.qualified(it.Called)
	s := v.gateway.attached.Snapshot("")
	for _, kind := range append([]*toolbox.Snapshot{s}, s.Kinds...) {
		for i := range kind.Tools {
			if d := &kind.Tools[i]; d.Name == qualified {
				it.Item = v.gateway.toolItem(d)
				return NotInView
			}
		}
	}
	if slices.Contains(s.Held, qualified) {
		for _, e := range v.gateway.attached.Changed() {
			if e.Name == qualified {
				it.Item = v.gateway.ToolItem(e.Server, e.Tool)
				return reasonHeld
			}
		}
	}
	server, own := v.ownerByPrefix(qualified)
	if server != "" && (server == s.DownOwner(qualified) || !v.scope.mayContain(server, methods.ByTool)) {
		it.Item = Item{Kind: KindTool, Server: server, Name: own}
		return NotInView
	}
	return ""
}

// ownerByPrefix returns the server that a qualified name names, and the rest of the name. The server is "" if there is
// none.
func (v *view) ownerByPrefix(qualified string) (server, own string) {
	for _, s := range v.gateway.attached.Fleet.Servers() {
		for _, prefix := range s.Prefixes() {
			if rest, ok := strings.CutPrefix(qualified, prefix); ok && s.MayOwn(qualified) {
				return s.ID, rest
			}
		}
	}
	return "", qualified
}

// resolvePart sets the item of a prompt or a resource that the caller does not see. It returns the reason, as
// resolveTool does. It reads the lists that the request has read, without a policy and at the view of everything. So
// the record does not depend on other requests.
func (v *view) resolvePart(it *Access, requester listRequester) (reason string) {
	whole := v.gateway.mainView
	kind := whole.kindOf(kindKey{declared: requester.kind.declared}, nil)
	unlimited := listRequester{requester.caller, requester.client, kind}
	list := func(name string) *mergedList {
		return whole.mergedFor(v.gateway.ctx, v.gateway.table[name], unlimited, false)
	}
	found := func(row *methods.Row, kind methods.NameKind, owner ownName) string {
		it.Item = partItem(row, kind, owner)
		return NotInView
	}
	if it.Kind == KindPrompt {
		if owner, ok := list("prompts/list").byName[it.Name]; ok {
			return found(nil, methods.ByPrompt, owner)
		}
		if server, own := v.ownerByPrefix(it.Name); server != "" && !v.scope.mayContain(server, methods.ByPrompt) {
			return found(nil, methods.ByPrompt, ownName{server, own})
		}
		return ""
	}
	if server, own, ok := protocol.SplitURI(it.Name, whole.isServer); ok {
		return found(nil, methods.ByURI, ownName{server, own})
	}
	for _, name := range []string{"resources/list", "resources/templates/list"} {
		if owner, ok := list(name).byName[it.Name]; ok && v.isServer(owner.server) {
			return found(v.gateway.table[name], methods.ByURI, owner)
		}
	}
	if owner, ok := list("resources/templates/list").match(it.Name, ""); ok && v.isServer(owner.server) {
		return found(nil, methods.ByURI, ownName{owner.server, it.Name})
	}
	return v.resolveUnlisted(it, requester)
}

// resolveUnlisted sets the item of a URI that no server lists, if the view or the policy keeps it from servers that
// would be asked for it. With several such servers, the item has no server.
func (v *view) resolveUnlisted(it *Access, requester listRequester) (reason string) {
	uri := it.Name
	for _, server := range v.servers() {
		owner := ownName{server, uri}
		hasURIs := v.gateway.lists.Declares(server, []string{"resources"})
		if !hasURIs || v.admits(requester, nil, nil, methods.ByURI, owner) {
			continue
		}
		if reason != "" {
			it.Several = true
			return reason
		}
		it.Item, reason = partItem(nil, methods.ByURI, owner), NotInView
	}
	return reason
}

// unlisted returns the answer to a request for an item that the client does not see, and records it.
func (v *view) unlisted(ctx context.Context, m interop.Message, it *Access) error {
	unknown := v.unknown(m, it) // with the caller's name
	x := exchangeOf(ctx)
	if x.guarded() {
		x.hide(ctx, it, v.resolvePart(it, requesterOf(ctx)))
	}
	return unknown
}
