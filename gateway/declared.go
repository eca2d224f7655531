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

// Servers may list more to clients that declare a capability, or something else. Clients that declare the same
// share what they are listed; those that declare nothing see what servers list to such.

const (
	// maxKinds bounds the kinds of clients that a view knows; beyond it all are forgotten.
	maxKinds = 32
	// maxKind bounds what one declares, in bytes: servers are shown no more.
	maxKind = 16 << 10
	// learnPatience is how long a list waits for what its servers list to clients of its kind. One that comes
	// later is announced by list_changed.
	learnPatience = 10 * time.Second
	// learnTime bounds the asking itself: servers may have to be started for it.
	learnTime = 2 * time.Minute
)

// clientKind is clients of a view that declare the same.
type clientKind struct {
	declared interop.Declared // zero: nothing
	shown    *shownTools
	source   toolbox.Source             // what is shown in the place of shown
	tools    host.Backend               // answers tools/list and tools/call
	learned  atomic.Bool                // servers were asked at least once
	listed   map[*methodRow]*listedRows // of a view of parts of servers, see [view.tellLists]; guarded by view.mu
}

func (v *view) newKind(d interop.Declared) *clientKind {
	k := &clientKind{declared: d, shown: &shownTools{view: v, declared: d}, listed: map[*methodRow]*listedRows{}}
	k.source = v.scope.tools(&v.gateway.opts, k.shown)
	k.tools = host.Tools(k.source, &v.opts)
	return k
}

// asker is who wants to see a list.
type asker struct {
	caller toolbox.Principal
	client *interop.Client // nil: none
	kind   *clientKind
}

func (v *view) askerOf(caller toolbox.Principal, c *interop.Client) asker {
	return asker{caller, c, v.kindOf(c)}
}

// kindKey is what a client's kind depends on.
type kindKey struct {
	era          interop.Era
	asked        bool
	capabilities string
}

// kindOf is the kind of a client.
func (v *view) kindOf(c *interop.Client) *clientKind {
	if c == nil || len(c.Capabilities) <= len(`{}`) || len(c.Capabilities) > maxKind {
		return v.plain
	}
	key := kindKey{c.Era, c.Back != nil, string(c.Capabilities)}
	v.mu.Lock()
	k := v.kinds[key]
	v.mu.Unlock()
	if k != nil {
		return k
	}
	if k = v.plain; c.Declared() != k.declared {
		k = v.newKind(c.Declared())
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.kinds) >= maxKinds {
		clear(v.kinds)
		v.crowded = true
	}
	v.kinds[key] = k
	return k
}

// shownTo is the kind of clients whose tools a client is shown: its own, or all's where it is shown the same.
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
		k.learned.Store(true) // not before: calls that come meanwhile wait too
	}
	return v.shownTo(who).tools.Handle(ctx, m, back)
}

// isNews reports whether a call is of a tool that nobody knows: a client may have been listed it before the gateway was
// started anew.
func isNews(k *clientKind, m interop.Message) bool {
	name, _ := protocol.LookupString(m.Params, "name")
	tools := k.source.Snapshot(m.Caller).Tools
	return !slices.ContainsFunc(tools, func(d toolbox.Descriptor) bool { return d.Name == name })
}

// learn asks the view's servers what they list to clients like c, where that is not known, and waits for a while.
func (v *view) learn(ctx context.Context, c *interop.Client, caller toolbox.Principal) {
	g := v.gateway
	v.varied.Store(true)
	if g.attached.Fleet.Knows(c.Declared(), v.scope.has) {
		return
	}
	done := make(chan struct{})
	late := make(chan struct{})
	g.running.Go(func() {
		learning, cancel := context.WithTimeout(g.ctx, learnTime)
		defer cancel()
		g.attached.Fleet.Learn(learning, c, caller, v.scope.has)
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
