package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/yosida95/uritemplate/v3"
)

const (
	maxTemplate  = 1 << 10 // maximum size of a template that is matched, in bytes
	maxTemplates = 1000    // maximum number of templates that are matched
	maxAsked     = 64      // maximum number of servers that are asked for an unlisted URI
	// askWait bounds the whole search. askedAtOnce servers are asked at a time. A server that has not answered after
	// askTurn no longer counts. Thus maxAsked servers are asked in half of askWait, even if most of them hang.
	askWait     = 30 * time.Second
	askedAtOnce = 8
	askTurn     = 2 * time.Second
)

// ask sends a request to one server, for the client in ctx.
func (v *view) ask(ctx context.Context, server string, m interop.Message) (json.RawMessage, error) {
	return v.gateway.attached.Fleet.Request(ctx, server, m)
}

// route passes a request to the server that its params name.
func (v *view) route(ctx context.Context, row *methodRow, m interop.Message) (json.RawMessage, error) {
	if server := v.scope.server; server != "" {
		return v.ask(ctx, server, m)
	}
	switch row.names {
	case byPrompt:
		return v.getPrompt(ctx, row, m)
	case byURI:
		return v.readURI(ctx, row, m)
	case byRef:
		return v.complete(ctx, m)
	case byTask:
		of, _, err := v.gateway.taskOwner(ctx, m)
		if err == nil && !v.scope.may(of.server, byTool) {
			err = invalidParams(m, "the server that has this task is not in this view")
		}
		if err != nil {
			return nil, err
		}
		return v.ask(ctx, of.server, m)
	}
	return nil, methodNotFound(m)
}

// getPrompt sends the request to the owner of the prompt.
func (v *view) getPrompt(ctx context.Context, row *methodRow, m interop.Message) (json.RawMessage, error) {
	name, err := oneString(m, m.Params, "name")
	if err != nil {
		return nil, err
	}
	of, ok := v.lookup(ctx, "prompts/list", v.askerOf(m.Caller, m.Client), name)
	if !ok {
		return nil, invalidParams(m, "no prompt named %q is available", protocol.Printable(name, 80))
	}
	return v.askOwner(ctx, row, of, name, m, wire.Edit{Key: "name", Value: wire.Quote(of.own)})
}

// lookup finds the owner of a listed name. It tries cached lists first, because servers need time to list.
func (v *view) lookup(ctx context.Context, list string, who asker, name string) (ownName, bool) {
	row := v.gateway.table[list]
	if of, ok := v.known(ctx, row, who, name); ok {
		return of, true
	}
	of, ok := v.merged(ctx, row, who, true).byName[name]
	if !ok && v.heard(ctx) {
		of, ok = v.merged(ctx, row, who, true).byName[name]
	}
	return of, ok
}

// askOwner sends a request to the owner under the owner's own name. The client used the name called. askOwner rewrites
// the URIs in the result to the form of the view.
func (v *view) askOwner(ctx context.Context, row *methodRow, of ownName, called string, m interop.Message, edit wire.Edit) (json.RawMessage, error) {
	var err error
	if of.own != called {
		if m.Params, err = wire.Rewrite(m.Params, edit); err != nil {
			return nil, invalidParams(m, "%v", err)
		}
	}
	raw, err := v.ask(ctx, of.server, m)
	if err != nil {
		return nil, err
	}
	return v.fit(row, of, called, v.askerOf(m.Caller, m.Client), raw), nil
}

// fit rewrites the URIs in a server's result to the form of the view.
func (v *view) fit(row *methodRow, of ownName, called string, who asker, raw json.RawMessage) json.RawMessage {
	if v.scope.server != "" || len(row.uris) == 0 || of.own == called && !v.mayLink(row, raw) {
		return raw
	}
	names := v.merged(context.Background(), v.gateway.table["resources/list"], who, false).names
	for _, path := range row.uris {
		raw = wire.EditStrings(raw, path, func(uri string) string {
			if row.names == byURI && uri == of.own {
				return called
			}
			if name, ok := names[ownName{of.server, uri}]; ok {
				return name
			}
			return v.shownURI(row, of.server, uri)
		})
	}
	return raw
}

// mayLink reports whether a result may contain URIs that are different in the view. It scans the bytes for the marks of
// links: such content has the type "resource" or "resource_link".
func (v *view) mayLink(row *methodRow, raw json.RawMessage) bool {
	if slices.Contains(row.uris[len(row.uris)-1], "resource") && !wire.Begins(raw, "resource") {
		return false
	}
	return v.collide.Load() || wire.Begins(raw, "ui:", "skill:", "indus:")
}

// readURI sends the request to the owner of a URI.
func (v *view) readURI(ctx context.Context, row *methodRow, m interop.Message) (json.RawMessage, error) {
	uri, err := oneString(m, m.Params, "uri")
	if err != nil {
		return nil, err
	}
	candidates := v.ownersOf(ctx, row.needs, v.askerOf(m.Caller, m.Client), uri)
	ask := func(ctx context.Context, of ownName) (json.RawMessage, error) {
		return v.askOwner(ctx, row, of, uri, m, wire.Edit{Key: "uri", Value: wire.Quote(of.own)})
	}
	switch len(candidates) {
	case 0:
		return nil, v.unknownURI(m, uri)
	case 1:
		return ask(ctx, candidates[0])
	}
	raw, err, known := firstKnown(ctx, candidates, ask)
	if !known {
		return nil, v.unknownURI(m, uri)
	}
	return raw, err
}

// firstKnown asks several servers at once and returns the reply of the first server, in their order, that knows the
// URI. The order of replies does not matter. Outstanding requests to the other servers are cancelled. A server that
// does not answer in time is skipped. known is false if every server answered that it does not know the URI.
func firstKnown(ctx context.Context, of []ownName, ask func(context.Context, ownName) (json.RawMessage, error)) (raw json.RawMessage, err error, known bool) {
	type answer struct {
		raw json.RawMessage
		err error
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, askWait)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	answers, turns := make([]chan answer, len(of)), make(chan struct{}, askedAtOnce)
	for i := range of {
		answers[i] = make(chan answer, 1)
	}
	asking.Go(func() {
		for i := range of {
			select {
			case turns <- struct{}{}:
			case <-ctx.Done():
				answers[i] <- answer{err: ctx.Err()}
				continue
			}
			over := sync.OnceFunc(func() { <-turns })
			late := time.AfterFunc(askTurn, over)
			asking.Go(func() {
				defer over()
				defer late.Stop()
				raw, err := ask(ctx, of[i])
				answers[i] <- answer{raw, err}
			})
		}
	})
	for _, answered := range answers {
		switch a := <-answered; {
		case a.err != nil && outer.Err() == nil && isLate(a.err):
			err = errLate
		case a.err == nil || !unknownThere(a.err):
			return a.raw, a.err, true
		}
	}
	return nil, err, err != nil
}

var errLate error = &interop.RPCError{Code: interop.CodeInternal, Message: "no server that answers in time has it, and not all do"}

// isLate reports whether a server did not answer in time.
func isLate(err error) bool {
	fault, ok := errors.AsType[*interop.Fault](err)
	return ok && fault.Kind == interop.Timeout || errors.Is(err, context.DeadlineExceeded)
}

func (v *view) unknownURI(m interop.Message, uri string) error {
	text := m.Method + ": no resource " + protocol.Printable(uri, 200) + " is available"
	if slices.ContainsFunc(v.servers(), v.gateway.attached.Fleet.Idle) {
		text += "; an idle server is asked for what it lists or has a template for, or by indus://SERVER/URI"
	}
	return &interop.RPCError{Code: protocol.CodeLegacyNotFound, Message: text}
}

// unknownThere reports whether an error may mean that the server does not know the URI, or that it could not be asked.
func unknownThere(err error) bool {
	var rpc *interop.RPCError
	if errors.As(err, &rpc) {
		return rpc.Code == protocol.CodeLegacyNotFound || rpc.Code == interop.CodeInvalidParams || rpc.Code == interop.CodeMethodNotFound
	}
	var fault *interop.Fault
	return errors.As(err, &fault) && fault.Kind == interop.NotConnected
}

// ownersOf returns the servers that may own a URI in the view: the server named in the URI, the server that lists it,
// or the first server with a matching template. Otherwise it returns all running servers with resources.
func (v *view) ownersOf(ctx context.Context, needs []string, who asker, uri string) []ownName {
	if server := v.scope.server; server != "" {
		return []ownName{{server, uri}}
	}
	templates := func() *merged { return v.merged(ctx, v.gateway.table["resources/templates/list"], who, true) }
	if server, own, ok := protocol.SplitURI(uri, v.isServer); ok {
		of := ownName{server, own}
		if v.admits(v.pagesFor(who), byURI, of) {
			return []ownName{of}
		}
		if _, ok = templates().match(own, server); ok && !climbs(own) {
			return []ownName{of}
		}
		return nil
	}
	if protocol.IsOwned(uri) { // its server is not in the view; no other server answers in its name
		return nil
	}
	if of, ok := v.lookup(ctx, "resources/list", who, uri); ok {
		return []ownName{of}
	}
	if of, ok := templates().match(uri, ""); ok && (!v.isPartial() || !climbs(uri)) {
		return []ownName{{of.server, uri}}
	}
	var all []ownName
	for _, server := range v.servers() {
		if len(all) < maxAsked && v.gateway.declares(server, needs) && !v.gateway.attached.Fleet.Idle(server) && v.admits(nil, byURI, ownName{server, uri}) {
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
func (m *merged) match(uri, server string) (ownName, bool) {
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
func (m *merged) templates() []template {
	routes := make([]template, 0, len(m.order))
	for _, name := range m.order { // includes servers that are down: no other server answers for them
		of := m.byName[name]
		scheme, _, _ := strings.Cut(of.own, "{")
		if len(name) > maxTemplate || len(routes) == maxTemplates || !strings.Contains(scheme, ":") {
			continue
		}
		if t, err := uritemplate.New(of.own); err == nil {
			routes = append(routes, template{of, of.own == name, t})
		}
	}
	return routes
}

// complete sends the request to the owner of the prompt or resource that it names.
func (v *view) complete(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	ref, err := oneMember(m, m.Params, "ref")
	if err != nil {
		return nil, err
	}
	kind, err := oneString(m, ref, "type")
	if err != nil {
		return nil, err
	}
	var of ownName
	key, found := "uri", false
	if kind == "ref/prompt" {
		key = "name"
	}
	name, err := oneString(m, ref, key)
	if err != nil {
		return nil, err
	}
	if key == "name" {
		of, found = v.lookup(ctx, "prompts/list", v.askerOf(m.Caller, m.Client), name)
	} else if of, found = v.lookup(ctx, "resources/templates/list", v.askerOf(m.Caller, m.Client), name); !found {
		if owners := v.ownersOf(ctx, []string{"resources"}, v.askerOf(m.Caller, m.Client), name); len(owners) == 1 {
			of, found = owners[0], true
		}
	}
	switch {
	case !found:
		return nil, invalidParams(m, "nothing named %q is available", protocol.Printable(name, 80))
	case !v.gateway.declares(of.server, []string{"completions"}): // another server declares it
		return json.RawMessage(`{"completion":{"values":[]}}`), nil
	}
	if of.own != name {
		if ref, err = wire.Rewrite(ref, wire.Edit{Key: key, Value: wire.Quote(of.own)}); err != nil {
			return nil, invalidParams(m, "%v", err)
		}
		if m.Params, err = wire.Rewrite(m.Params, wire.Edit{Key: "ref", Value: ref}); err != nil {
			return nil, invalidParams(m, "%v", err)
		}
	}
	return v.ask(ctx, of.server, m)
}

// isServer reports whether the view has a server with this id.
func (v *view) isServer(id string) bool { return slices.Contains(v.servers(), id) }
