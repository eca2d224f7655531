package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// Servers may list more, or other, entries to clients that declare a capability. Clients that declare the same
// capabilities share the same lists. Clients that declare nothing share the lists for such clients.

const (
	// maxKinds bounds the remembered kinds of clients that declare something. Above it, all kinds are dropped.
	maxKinds = 32
	// learnPatience is how long a request waits for the lists of its kind. Later lists are announced by list_changed.
	learnPatience = 10 * time.Second
	// learnTime bounds the requests to the servers, which may have to be started.
	learnTime = 2 * time.Minute
)

// clientKind is the state for all clients of a view that declare the same capabilities.
type clientKind struct {
	declared     interop.Declared // zero: nothing
	shown        *shownTools
	source       toolbox.Source             // the tools that replace shown, see View.Expose
	tools        host.Backend               // answers tools/list and tools/call
	listsLearned atomic.Bool                // servers were asked at least once
	listed       map[*methodRow]*listedRows // if the view has parts of servers, see [view.notifyLists]; guarded by view.mu
}

func (v *view) newKind(d interop.Declared) *clientKind {
	k := &clientKind{declared: d, shown: &shownTools{view: v, declared: d}, listed: map[*methodRow]*listedRows{}}
	k.source = v.scope.tools(&v.gateway.opts, k.shown)
	k.tools = host.Tools(k.source, &v.opts)
	return k
}

// listRequester identifies the client that requests a list.
type listRequester struct {
	caller toolbox.Principal
	client *interop.Client // nil: none
	kind   *clientKind
}

func (v *view) requesterOf(caller toolbox.Principal, c *interop.Client) listRequester {
	return listRequester{caller, c, v.kindOf(c)}
}

// kindOf returns the kind of a client.
func (v *view) kindOf(c *interop.Client) *clientKind {
	d := c.Declared()
	if d == (interop.Declared{}) && v.plainKind != nil {
		return v.plainKind
	}
	v.mu.Lock()
	k := v.kinds[d]
	v.mu.Unlock()
	if k != nil {
		return k
	}
	fresh := v.newKind(d)
	v.mu.Lock()
	defer v.mu.Unlock()
	k = v.kinds[d]
	if k != nil {
		return k
	}
	if len(v.kinds) > maxKinds {
		v.kinds = map[interop.Declared]*clientKind{{}: v.plainKind}
		v.kindsDropped = true
	}
	v.kinds[d] = fresh
	return fresh
}

// toolsKind returns the kind that the client's tools are taken from: its own kind, or plainKind if the tools are the
// same.
func (v *view) toolsKind(requester listRequester) *clientKind {
	if s := v.gateway.attached.Snapshot(requester.caller); s.For(requester.kind.declared) != s {
		return requester.kind
	}
	return v.plainKind
}

// handleTools answers tools/list and tools/call.
func (v *view) handleTools(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	requester := v.requesterOf(m.Caller, m.Client)
	k := requester.kind
	isList := m.Method == protocol.MethodToolsList
	if k != v.plainKind && (isList || !k.listsLearned.Load() && isUnknownTool(k, m)) {
		v.learnLists(ctx, m.Client, m.Caller)
		k.listsLearned.Store(true) // only now, so that calls that arrive meanwhile wait too
	}
	return v.toolsKind(requester).tools.Handle(ctx, m, back)
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
	late := make(chan struct{})
	g.running.Go(func() {
		learning, cancel := context.WithTimeout(g.ctx, learnTime)
		defer cancel()
		learn(learning)
		close(done)
		select {
		case <-late:
			v.notifyLists("tools")
		default:
		}
	})
	select {
	case <-done:
		return
	case <-time.After(learnPatience):
	case <-ctx.Done():
	}
	close(late)
}
