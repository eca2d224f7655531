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
	declared interop.Declared // zero: nothing
	shown    *shownTools
	source   toolbox.Source             // the tools that replace shown, see View.Expose
	tools    host.Backend               // answers tools/list and tools/call
	learned  atomic.Bool                // servers were asked at least once
	listed   map[*methodRow]*listedRows // if the view has parts of servers, see [view.tellLists]; guarded by view.mu
}

func (v *view) newKind(d interop.Declared) *clientKind {
	k := &clientKind{declared: d, shown: &shownTools{view: v, declared: d}, listed: map[*methodRow]*listedRows{}}
	k.source = v.scope.tools(&v.gateway.opts, k.shown)
	k.tools = host.Tools(k.source, &v.opts)
	return k
}

// asker identifies the client that requests a list.
type asker struct {
	caller toolbox.Principal
	client *interop.Client // nil: none
	kind   *clientKind
}

func (v *view) askerOf(caller toolbox.Principal, c *interop.Client) asker {
	return asker{caller, c, v.kindOf(c)}
}

// kindOf returns the kind of a client.
func (v *view) kindOf(c *interop.Client) *clientKind {
	d := c.Declared()
	if d == (interop.Declared{}) && v.plain != nil {
		return v.plain
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
	if k = v.kinds[d]; k != nil {
		return k
	}
	if len(v.kinds) > maxKinds {
		v.kinds = map[interop.Declared]*clientKind{{}: v.plain}
		v.crowded = true
	}
	v.kinds[d] = fresh
	return fresh
}

// shownTo returns the kind that the client's tools are taken from: its own kind, or plain if the tools are the same.
func (v *view) shownTo(who asker) *clientKind {
	if s := v.gateway.attached.Snapshot(who.caller); s.For(who.kind.declared) != s {
		return who.kind
	}
	return v.plain
}

// handleTools answers tools/list and tools/call.
func (v *view) handleTools(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	who := v.askerOf(m.Caller, m.Client)
	if k := who.kind; k != v.plain && (m.Method == protocol.MethodToolsList || !k.learned.Load() && isNews(k, m)) {
		v.learn(ctx, m.Client, m.Caller)
		k.learned.Store(true) // only now, so that calls that arrive meanwhile wait too
	}
	return v.shownTo(who).tools.Handle(ctx, m, back)
}

// isNews reports whether a call names an unknown tool. It may be in a client's list from before a restart.
func isNews(k *clientKind, m interop.Message) bool {
	name, _ := protocol.LookupString(m.Params, "name")
	tools := k.source.Snapshot(m.Caller).Tools
	return !slices.ContainsFunc(tools, func(d toolbox.Descriptor) bool { return d.Name == name })
}

// learn asks the view's servers for unknown lists for clients like c, and waits for at most learnPatience.
func (v *view) learn(ctx context.Context, c *interop.Client, caller toolbox.Principal) {
	g := v.gateway
	v.varied.Store(true)
	ask := g.attached.Fleet.Learn(c, caller, v.scope.has)
	if ask == nil {
		return
	}
	done := make(chan struct{})
	late := make(chan struct{})
	g.running.Go(func() {
		learning, cancel := context.WithTimeout(g.ctx, learnTime)
		defer cancel()
		ask(learning)
		close(done)
		select {
		case <-late:
			v.tellLists("tools")
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
