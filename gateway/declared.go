package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// Servers may list more, or other, entries to clients that declare a capability. Clients that declare the same
// capabilities share the same lists. Clients that declare nothing share the lists for such clients.

const (
	// maxKinds bounds the remembered kinds of clients. Above it, all kinds but plainKind are dropped.
	maxKinds = 256
	// learnPatience is how long a request waits for the lists of its kind. Later lists are announced by list_changed.
	learnPatience = 10 * time.Second
	// learnTime bounds the requests to the servers, which may have to be started.
	learnTime = 2 * time.Minute
)

// kindKey identifies a kind of clients: the capabilities that they declare, and their class of rights.
type kindKey struct {
	declared interop.Declared // zero: nothing
	class    string           // see [Rights]; "": all
}

// clientKind is the state for all clients of a view that declare the same capabilities and have the same rights.
type clientKind struct {
	kindKey
	rights       Rights // nil: all
	shown        *shownTools
	local        *localTools                  // tools of the program; nil: none
	all          toolbox.Source               // local and shown
	source       toolbox.Source               // the tools that replace all, see View.Expose
	tools        host.Backend                 // answers tools/list, and calls of tools that belong to no server
	listsLearned atomic.Bool                  // servers were asked at least once
	listed       map[*methods.Row]*listedRows // if the view has parts of servers, see notifyLists; guarded by view.mu
}

func (v *view) newKind(key kindKey, r Rights) *clientKind {
	k := &clientKind{
		kindKey: key, rights: r, shown: &shownTools{view: v, declared: key.declared, rights: r},
		listed: map[*methods.Row]*listedRows{},
	}
	k.all = k.shown
	if v.scope.everything && v.gateway.opts.Local != nil {
		k.local = &localTools{Source: v.gateway.opts.Local, shown: k.shown}
		k.all = toolbox.Join(k.local, k.shown)
	}
	k.source = v.scope.exposed(&v.gateway.opts, k.shown, k.all)
	k.tools = host.Tools(k.source, &v.opts)
	return k
}

// listRequester identifies the client that requests a list.
type listRequester struct {
	caller toolbox.Principal
	client *interop.Client // nil: none
	kind   *clientKind
}

// requesterOf returns the client that sent a request.
func (v *view) requesterOf(ctx context.Context, m interop.Message) listRequester {
	if guard := v.gateway.opts.Guard; guard != nil {
		return v.requester(m, guard.Rights(ctx, &Request{View: v.name, Message: m}))
	}
	return v.requester(m, nil)
}

// requester returns the client that sent a request. r holds its rights.
func (v *view) requester(m interop.Message, r Rights) listRequester {
	key := kindKey{declared: m.Client.Declared()}
	if r != nil {
		key.class, _ = r.Class()
	}
	return listRequester{m.Caller, m.Client, v.kindOf(key, r)}
}

// calledTool returns the tool that a call names. Known reports that the caller's list has it. A tool that no server has
// is one of the program, or none.
func (r listRequester) calledTool(m interop.Message) (it Item, known bool) {
	raw, _ := wire.Lookup(m.Params, "name")
	name := wire.Text(raw)
	if d := r.kind.shown.toolNamesFor(m.Caller).byName[string(name)]; d != nil {
		return Item{Kind: KindTool, Server: d.Server, Name: d.Tool, Tool: d}, true
	}
	it = Item{Kind: KindTool, Name: string(name)}
	isNamed := func(d toolbox.Descriptor) bool { return d.Name == it.Name }
	return it, slices.ContainsFunc(r.kind.source.Snapshot(m.Caller).Tools, isNamed)
}

// kindOf returns the kind of the clients with this key. r holds their rights.
func (v *view) kindOf(key kindKey, r Rights) *clientKind {
	if key == (kindKey{}) && v.plainKind != nil {
		return v.plainKind
	}
	v.mu.Lock()
	k := v.kinds[key]
	v.mu.Unlock()
	if k != nil {
		return k
	}
	fresh := v.newKind(key, r)
	v.mu.Lock()
	defer v.mu.Unlock()
	k = v.kinds[key]
	if k != nil {
		return k
	}
	if len(v.kinds) > maxKinds {
		v.kinds = map[kindKey]*clientKind{{}: v.plainKind}
		v.kindsDropped = true
	}
	v.kinds[key] = fresh
	return fresh
}

// toolsKind returns the kind that the client's tools are taken from: its own kind, or the kind of clients that declare
// nothing if the tools are the same.
func (v *view) toolsKind(requester listRequester) *clientKind {
	k := requester.kind
	if s := v.gateway.attached.Snapshot(requester.caller); s.For(k.declared) != s {
		return k
	}
	return v.kindOf(kindKey{class: k.class}, k.rights)
}

// handleTools answers tools/list and tools/call.
func (v *view) handleTools(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	requester := requesterOf(ctx)
	k := requester.kind
	isList := m.Method == protocol.MethodToolsList
	if k.declared != (interop.Declared{}) && (isList || !k.listsLearned.Load() && isUnknownTool(k, m)) {
		v.learnLists(ctx, m.Client, m.Caller)
		k.listsLearned.Store(true) // only now, so that calls that arrive meanwhile wait too
	}
	k = v.toolsKind(requester)
	isProgram, tools := k.local != nil && !k.callsServer(m), k.tools
	if k.source != k.all {
		isProgram = true
		if ctx.Value(directKey{}) == v {
			tools = host.Tools(k.all, &v.opts)
		}
	}
	if isList || isProgram {
		return tools.Handle(ctx, m, back)
	}
	name, arguments, _, err := protocol.ReadCall(m.Params)
	if err != nil {
		return nil, protocol.InvalidParams(m.Method, "%v", err)
	}
	c := toolbox.Call{Name: name, Input: arguments, Caller: m.Caller, Wire: toolbox.Wire{JSON: m.Params}}
	result, err := k.shown.call(ctx, m, &c)
	if err != nil {
		return host.CallError(ctx, m, name, err, v.opts.Logger)
	}
	return result, nil
}

// callsServer reports whether a call names a listed tool of a server. Tools of the program come first.
func (k *clientKind) callsServer(m interop.Message) bool {
	name, _ := protocol.LookupString(m.Params, "name")
	isNamed := func(d toolbox.Descriptor) bool { return d.Name == name }
	return k.shown.toolNamesFor(m.Caller).byName[name] != nil &&
		!slices.ContainsFunc(k.local.Snapshot(m.Caller).Tools, isNamed)
}

// isUnknownTool reports whether a call names an unknown tool. It may be in a client's list from before a restart.
func isUnknownTool(k *clientKind, m interop.Message) bool {
	name, _ := protocol.LookupString(m.Params, "name")
	tools := k.source.Snapshot(m.Caller).Tools
	return !slices.ContainsFunc(tools, func(d toolbox.Descriptor) bool { return d.Name == name })
}

// learnLists asks the view's servers for unknown lists for clients like c, and waits for at most learnPatience.
func (v *view) learnLists(ctx context.Context, c *interop.Client, caller toolbox.Principal) {
	g := v.gateway
	v.toolsVary.Store(true)
	learn := g.attached.Fleet.Learn(c, caller, v.scope.mayContainAny)
	if learn == nil {
		return
	}
	done := make(chan struct{})
	var late atomic.Bool
	g.running.Go(func() {
		learning, cancel := context.WithTimeout(g.ctx, learnTime)
		defer cancel()
		learn(learning)
		close(done)
		if late.Load() {
			v.notifyLists("tools")
		}
	})
	select {
	case <-done:
		return
	case <-time.After(learnPatience):
	case <-ctx.Done():
	}
	late.Store(true)
}
