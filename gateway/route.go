package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/gateway/internal/search"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/uris"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/yosida95/uritemplate/v3"
)

const (
	maxTemplate  = 1 << 10 // maximum size of a template that is matched, in bytes
	maxTemplates = 1000    // maximum number of templates that are matched
)

// request admits a request to one server, for the client in ctx, and sends it. The params name the item as the server
// does.
func (v *view) request(ctx context.Context, server string, m interop.Message) (json.RawMessage, error) {
	x := exchangeOf(ctx)
	if !x.guarded() {
		return v.gateway.send(ctx, nil, server, m)
	}
	it, err := v.itemOf(ctx, server, m)
	if err != nil && x.mode >= Records {
		return nil, err
	}
	if err != nil { // the guard refuses nothing: the server judges the params
		it = &Access{Item: Item{Kind: KindServer, Server: server}}
	}
	hasState, continues := x.continues(ctx, server, m.Params)
	it.HasState, it.Continues = hasState, it.Continues || continues
	ctx, refused := x.admit(ctx, it)
	if refused != nil {
		return refused.answer(m, v.unknown(m, it))
	}
	raw, err := v.gateway.send(ctx, it, server, m)
	if err != nil && search.IsOvertaken(ctx) {
		err = search.ErrOvertaken
	}
	x.guard.Ended(it, raw, err)
	return raw, err
}

// route passes a request to the server that its params name.
func (v *view) route(ctx context.Context, row *methods.Row, m interop.Message) (json.RawMessage, error) {
	if server := v.scope.server; server != "" {
		return v.request(ctx, server, m)
	}
	switch row.Kind {
	case methods.ByPrompt:
		return v.getPrompt(ctx, row, m)
	case methods.ByURI:
		return v.requestURI(ctx, row, m)
	case methods.ByRef:
		return v.complete(ctx, m)
	case methods.ByTask:
		origin, own, err := v.gateway.taskOwner(ctx, m)
		if err == nil && !v.scope.mayContain(origin.server, methods.ByTool) {
			it := administeredItem(origin.server)
			if v.gateway.setTask(ctx, m, it, origin, own) == nil {
				if x := exchangeOf(ctx); x.guarded() {
					x.hide(ctx, it, NotInView)
				}
			}
			err = protocol.InvalidParams(m.Method, "the server that has this task is not in this view")
		}
		if err != nil {
			return nil, err
		}
		return v.request(ctx, origin.server, m)
	}
	return nil, protocol.MethodNotFound(m.Method)
}

// getPrompt sends the request to the owner of the prompt.
func (v *view) getPrompt(ctx context.Context, row *methods.Row, m interop.Message) (json.RawMessage, error) {
	name, err := methods.String(m, m.Params, "name")
	if err != nil {
		return nil, err
	}
	owner, ok := v.lookup(ctx, "prompts/list", requesterOf(ctx), name)
	if !ok {
		it := &Access{Action: ActionGet, Item: Item{Kind: KindPrompt, Name: name}}
		return nil, v.unlisted(ctx, m, it)
	}
	return v.requestOwner(ctx, row, owner, name, m, wire.Edit{Key: "name", Value: wire.Quote(owner.own)})
}

// lookup finds the owner of a listed name. It tries cached lists first, because servers need time to list.
func (v *view) lookup(ctx context.Context, list string, requester listRequester, name string) (ownName, bool) {
	_ = v.gateway.attached.Wait(ctx) // until the fleet has its servers
	row := v.gateway.table[list]
	if owner, ok := v.cachedOwner(ctx, row, requester, name); ok {
		return owner, true
	}
	owner, ok := v.mergedFor(ctx, row, requester, true).byName[name]
	if !ok && v.awaitServers(ctx) {
		owner, ok = v.mergedFor(ctx, row, requester, true).byName[name]
	}
	return owner, ok
}

// requestOwner sends a request to the owner under the owner's own name. The client used the name requested.
// requestOwner rewrites the URIs in the result to the form of the view.
func (v *view) requestOwner(
	ctx context.Context, row *methods.Row, owner ownName, requested string, m interop.Message, edit wire.Edit,
) (json.RawMessage, error) {
	var err error
	if owner.own != requested {
		m.Params, err = wire.Rewrite(m.Params, edit)
		if err != nil {
			return nil, protocol.InvalidParams(m.Method, "%v", err)
		}
	}
	raw, err := v.request(ctx, owner.server, m)
	if err != nil {
		return nil, err
	}
	return v.rewriteURIs(row, owner, requested, requesterOf(ctx), raw), nil
}

// rewriteURIs rewrites the URIs in a server's result to the form of the view.
func (v *view) rewriteURIs(
	row *methods.Row, owner ownName, requested string, requester listRequester, raw json.RawMessage,
) json.RawMessage {
	if v.scope.server != "" || len(row.URIs) == 0 || owner.own == requested && !v.mayLink(row, raw) {
		return raw
	}
	names := v.mergedFor(context.Background(), v.gateway.table["resources/list"], requester, false).viewNames
	for _, path := range row.URIs {
		raw = wire.EditStrings(raw, path, func(uri string) string {
			if row.Kind == methods.ByURI && uri == owner.own {
				return requested
			}
			if name, ok := names[ownName{owner.server, uri}]; ok {
				return name
			}
			return v.shownURI(row, owner.server, uri)
		})
	}
	return raw
}

// mayLink reports whether a result may contain URIs that are different in the view. It scans the bytes for the marks of
// links: such content has the type "resource" or "resource_link".
func (v *view) mayLink(row *methods.Row, raw json.RawMessage) bool {
	if slices.Contains(row.URIs[len(row.URIs)-1], "resource") && !wire.Begins(raw, "resource") {
		return false
	}
	return v.urisCollide.Load() || wire.Begins(raw, "ui:", "skill:", "indus:")
}

// requestURI sends the request to the owner of a URI.
func (v *view) requestURI(ctx context.Context, row *methods.Row, m interop.Message) (json.RawMessage, error) {
	uri, err := methods.String(m, m.Params, "uri")
	if err != nil {
		return nil, err
	}
	candidates := v.ownersOf(ctx, row.Needs, requesterOf(ctx), uri)
	ask := func(ctx context.Context, i int) (json.RawMessage, error) {
		owner := candidates[i]
		return v.requestOwner(ctx, row, owner, uri, m, wire.Edit{Key: "uri", Value: wire.Quote(owner.own)})
	}
	switch len(candidates) {
	case 0:
		return nil, v.unlistedURI(ctx, m, ActionRead, uri)
	case 1:
		return ask(ctx, 0)
	}
	x := exchangeOf(ctx)
	x.Searches = true
	raw, first, err := search.First(ctx, len(candidates), ask)
	if first < 0 {
		return nil, v.unknownURI(m, uri)
	}
	x.AnsweredBy = candidates[first].server
	return raw, err
}

func (v *view) unknownURI(m interop.Message, uri string) error {
	text := m.Method + ": no resource " + protocol.Printable(uri, 200) + " is available"
	if slices.ContainsFunc(v.servers(), v.gateway.attached.Fleet.Idle) {
		text += "; use a URI that an idle server lists or has a template for, or indus://SERVER/URI"
	}
	return &interop.RPCError{Code: protocol.CodeLegacyNotFound, Message: text}
}

// ownersOf returns the servers that may own a URI in the view: the server named in the URI, the server that lists it,
// or the first server with a matching template. Otherwise it returns all running servers with resources.
func (v *view) ownersOf(ctx context.Context, needs []string, requester listRequester, uri string) []ownName {
	if server := v.scope.server; server != "" {
		return []ownName{{server, uri}}
	}
	templates := func() *mergedList {
		return v.mergedFor(ctx, v.gateway.table["resources/templates/list"], requester, true)
	}
	if server, own, ok := protocol.SplitURI(uri, v.isServer); ok {
		owner := ownName{server, own}
		if v.admits(requester, nil, v.pagesFor(requester), methods.ByURI, owner) {
			return []ownName{owner}
		}
		_, ok = templates().match(own, server)
		if ok && !uris.EscapesDirectory(own) && listsItem(requester.kind.rights, partItem(nil, methods.ByURI, owner)) {
			return []ownName{owner}
		}
		return nil
	}
	if protocol.IsOwned(uri) { // its server is not in the view; no other server answers in its name
		return nil
	}
	if owner, ok := v.lookup(ctx, "resources/list", requester, uri); ok {
		return []ownName{owner}
	}
	if owner, ok := templates().match(uri, ""); ok && (!v.isPartial() || !uris.EscapesDirectory(uri)) {
		if owner.own = uri; listsItem(requester.kind.rights, partItem(nil, methods.ByURI, owner)) {
			return []ownName{owner}
		}
	}
	var all []ownName
	for _, server := range v.servers() {
		if len(all) == search.MaxServers {
			break
		}
		if !v.gateway.lists.Declares(server, needs) || v.gateway.attached.Fleet.Idle(server) {
			continue
		}
		if v.admits(requester, nil, nil, methods.ByURI, ownName{server, uri}) {
			all = append(all, ownName{server, uri})
		}
	}
	return all
}

// template is an entry of resources/templates/list.
type template struct {
	ownName
	shared bool // its URIs are the same in the view
	*uritemplate.Template
}

// match returns the owner of the first template (RFC 6570) that expands to uri. server "" means any server.
func (m *mergedList) match(uri, server string) (ownName, bool) {
	m.mu.Lock()
	if m.routes == nil {
		m.routes = m.templates()
	}
	routes := m.routes
	m.mu.Unlock()
	for _, t := range routes {
		if (t.server == server || server == "" && t.shared) && t.Regexp().MatchString(uri) {
			return t.ownName, true
		}
	}
	return ownName{}, false
}

// templates returns the templates to match. They begin with a scheme, because an initial variable matches every URI.
func (m *mergedList) templates() []template {
	routes := make([]template, 0, len(m.allNames))
	for _, name := range m.allNames { // includes servers that are down: no other server answers for them
		owner := m.byName[name]
		scheme, _, _ := strings.Cut(owner.own, "{")
		if len(name) > maxTemplate || len(routes) == maxTemplates || !strings.Contains(scheme, ":") {
			continue
		}
		if t, err := uritemplate.New(owner.own); err == nil {
			routes = append(routes, template{owner, owner.own == name, t})
		}
	}
	return routes
}

// complete sends the request to the owner of the prompt or resource that it names.
func (v *view) complete(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	ref, err := readRef(m)
	if err != nil {
		return nil, err
	}
	requester, name := requesterOf(ctx), ref.name
	list := "resources/templates/list"
	if ref.key == "name" {
		list = "prompts/list"
	}
	owner, found := v.lookup(ctx, list, requester, name)
	if !found && ref.key == "uri" {
		if owners := v.ownersOf(ctx, []string{"resources"}, requester, name); len(owners) == 1 {
			owner, found = owners[0], true
		}
	}
	switch {
	case !found:
		it := &Access{Action: ActionComplete, Item: Item{Kind: KindResource, Name: name}}
		if ref.key == "name" {
			it.Kind = KindPrompt
		}
		_ = v.unlisted(ctx, m, it)
		return nil, protocol.InvalidParams(m.Method, "nothing named %q is available", protocol.Printable(name, 80))
	case !v.gateway.lists.Declares(owner.server, []string{"completions"}): // another server declares it
		return json.RawMessage(`{"completion":{"values":[]}}`), nil
	}
	if owner.own != name {
		ref.raw, err = wire.Rewrite(ref.raw, wire.Edit{Key: ref.key, Value: wire.Quote(owner.own)})
		if err == nil {
			m.Params, err = wire.Rewrite(m.Params, wire.Edit{Key: "ref", Value: ref.raw})
		}
		if err != nil {
			return nil, protocol.InvalidParams(m.Method, "%v", err)
		}
	}
	return v.request(ctx, owner.server, m)
}

// isServer reports whether the view has a server with this id.
func (v *view) isServer(id string) bool { return slices.Contains(v.servers(), id) }
