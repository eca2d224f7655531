package gateway

import (
	"context"
	"encoding/json"
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

// clientKind is clients that declare the same.
type clientKind struct {
	declared interop.Declared
	tools    host.Backend
	base     *shownTools
	source   toolbox.Source // what is shown in the place of base
	learned  atomic.Bool    // servers were asked at least once
}

// asker is who wants to see a list.
type asker struct {
	caller   toolbox.Principal
	client   *interop.Client // nil: none that declares something
	declared interop.Declared
}

func (v *view) askerOf(caller toolbox.Principal, c *interop.Client) asker {
	if k := v.kindOf(c); k != nil {
		return asker{caller, c, k.declared}
	}
	return asker{caller: caller}
}

// kindKey is what a client's kind depends on.
type kindKey struct {
	era          interop.Era
	asked        bool
	capabilities string
}

// kindOf is the kind of a client; nil: it declares nothing that servers are shown.
func (v *view) kindOf(c *interop.Client) *clientKind {
	if c == nil || len(c.Capabilities) <= len(`{}`) || len(c.Capabilities) > maxKind {
		return nil
	}
	v.mu.Lock()
	k, ok := v.kinds[kindKey{c.Era, c.Back != nil, string(c.Capabilities)}]
	v.mu.Unlock()
	if ok {
		return k
	}
	if d := c.Declared(); d != (interop.Declared{}) {
		k = &clientKind{declared: d, base: newShownTools(v, d)}
		k.source = v.scope.tools(k.base)
		k.tools = host.Tools(k.source, &v.opts)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.kinds) >= maxKinds {
		clear(v.kinds)
	}
	v.kinds[kindKey{c.Era, c.Back != nil, string(c.Capabilities)}] = k
	return k
}

// toolsFor is what answers a client's requests about tools.
func (v *view) toolsFor(c *interop.Client) host.Backend {
	if k := v.kindOf(c); k != nil && v.gateway.attached.SnapshotFor(k.declared) != nil {
		return k.tools
	}
	return v.tools
}

// handleTools answers tools/list and tools/call.
func (v *view) handleTools(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	if k := v.kindOf(m.Client); k != nil && (m.Method == protocol.MethodToolsList || !k.learned.Load() && isNews(k, m)) {
		v.learn(ctx, m.Client, m.Caller)
		k.learned.Store(true) // not before: calls that come meanwhile wait too
	}
	return v.toolsFor(m.Client).Handle(ctx, m, back)
}

// isNews reports whether a call is of a tool that nobody knows: a client may have been listed it before the gateway was
// started anew.
func isNews(k *clientKind, m interop.Message) bool {
	name, _ := protocol.LookupString(m.Params, "name")
	s := k.source.Snapshot(m.Caller)
	for i := range s.Tools {
		if s.Tools[i].Name == name {
			return false
		}
	}
	return true
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
			v.varying.Notify()
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
