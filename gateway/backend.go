package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// A host serves both types.
var (
	_, _ host.Backend       = (*view)(nil), tappedView{}
	_, _ host.Settler       = (*view)(nil), tappedView{}
	_, _ host.HeaderChecker = (*view)(nil), tappedView{}
	_, _ host.Subscriber    = (*view)(nil), tappedView{}
	_, _ host.Unsubscriber  = (*view)(nil), tappedView{}
	_, _ host.Follower      = (*view)(nil), tappedView{}
	_, _ host.Namer         = (*view)(nil), tappedView{}
)

// Handle implements [host.Backend]. A request of a caller takes all steps of exchange.go. The row of the method then
// decides how it is handled. If it fails for lack of a sign-in, its client is asked to sign in.
func (v *view) Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	ctx, x, err := v.begin(ctx, m)
	if err != nil {
		return nil, err
	}
	if protocol.IsNote(m.Method) || m.Method == protocol.MethodDiscover {
		ctx, m = v.forServers(ctx, x.Message)
		return v.dispatch(ctx, m, back)
	}
	defer x.endIfPanics()
	var result json.RawMessage
	if err = x.checkSpelling(); err == nil {
		ctx, m := v.forServers(ctx, x.Message)
		result, err = v.dispatch(ctx, m, back)
		if err != nil && v.isSignIn(m, err) {
			result, err = v.afterSignIn(ctx, m, back, err)
		}
	}
	return x.end(ctx, result, err)
}

func (v *view) dispatch(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	row := v.gateway.table[m.Method]
	switch {
	case m.Method == protocol.MethodDiscover:
		return v.discover(ctx, m), nil
	case protocol.IsNote(m.Method):
		v.forwardNotification(ctx, m)
		return nil, nil
	case v.transparent && row != nil && !v.restricts(ctx, row):
		if m.Method == protocol.MethodToolsList && m.Client.Declared() != (interop.Declared{}) {
			v.toolsVary.Store(true)
		}
		return v.request(ctx, v.scope.server, m)
	case row == nil || row.Era != "" && row.Era != m.Era || row.Handler != methods.FromTools && !v.offers(row):
		return v.handleUnlisted(ctx, m)
	case row.Handler == methods.FromTools:
		return v.handleTools(ctx, m, back)
	case row.Handler == methods.FromAll && (!v.lacksCapability(row) || requesterOf(ctx).kind.rights != nil):
		return v.list(ctx, row, m)
	}
	return v.route(ctx, row, m)
}

// restricts reports whether a transparent view must treat a method as other views do. A policy limits all methods. The
// configuration of the server may limit its tools: it holds tools that changed since their approval, or excludes tools.
func (v *view) restricts(ctx context.Context, row *methods.Row) bool {
	if requesterOf(ctx).kind.rights != nil {
		return true
	}
	if row.Handler != methods.FromTools {
		return false
	}
	s, known := v.gateway.attached.Fleet.Server(v.scope.server)
	return !known || s.Changes.Guards() || s.Tools.Allow != nil || len(s.Tools.Deny) > 0
}

const (
	noteRoots   = "notifications/roots/list_changed"
	forwardWait = 5 * time.Second // bounds the forwarding of a notification
)

// forwardNotification forwards notifications that a client sends outside of any request. If the view has one server, it
// forwards all of them, otherwise only a change of the roots. They go to the servers that can ask the client in its
// session.
func (v *view) forwardNotification(ctx context.Context, m interop.Message) {
	if m.Client == nil || m.Method != noteRoots && v.scope.server == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, forwardWait)
	defer cancel()
	requester, x := requesterOf(ctx), exchangeOf(ctx)
	v.gateway.attached.Fleet.Tell(ctx, m.Client.Session, m, func(server string) bool {
		switch {
		case !v.scope.mayContainAny(server):
			return false
		case requester.kind.rights == nil:
			return true
		case m.Method != noteRoots: // as a request with a method that indus does not know
			return x.permits(ActionAdminister, Item{Kind: KindServer, Server: server})
		}
		return v.hasPart(server, requester)
	})
}

// offers reports whether the view may have a method. A core method is always offered, because a server that has it may
// come. A method of an extension is offered if a server declares it.
func (v *view) offers(row *methods.Row) bool {
	if v.scope.server != "" || row.Needs[0] != "extensions" {
		return true
	}
	kind := row.Kind
	if kind == methods.ByTask {
		kind = methods.ByTool
	}
	return slices.ContainsFunc(v.servers(), func(server string) bool {
		return v.scope.mayContain(server, kind) && (v.gateway.lists.Declares(server, row.Needs) ||
			row.LegacyNeeds != nil && v.gateway.lists.Declares(server, row.LegacyNeeds))
	})
}

// lacksCapability reports whether the view's one server declares that it does not have a list. The server then answers
// itself.
func (v *view) lacksCapability(row *methods.Row) bool {
	d := v.gateway.lists.Description(v.scope.server)
	return d.Capabilities != nil && !protocol.Has(d.Capabilities, row.Needs)
}

// handleUnlisted answers a method that is not in the table, or not for this client.
func (v *view) handleUnlisted(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	server := v.scope.server
	if server == "" {
		return nil, protocol.MethodNotFound(m.Method)
	}
	result, err := v.request(ctx, server, m)
	if refused, ok := errors.AsType[*interop.HTTPError](err); ok {
		switch refused.Status { // go-sdk's legacy servers answer unknown methods with a text
		case http.StatusBadRequest, http.StatusNotFound, http.StatusNotImplemented:
			return nil, protocol.MethodNotFound(m.Method)
		}
	}
	return result, err
}

// Watch implements [host.Backend].
func (v *view) Watch(notify func(interop.Message)) (stop func()) {
	stops := []func(){v.plainKind.tools.Watch(v.onToolsChange(notify))}
	for feature, list := range v.changes {
		stops = append(stops, list.Watch(func() { notify(interop.Message{Method: listChanged(feature)}) }))
	}
	return sync.OnceFunc(func() {
		for _, stop := range stops {
			stop()
		}
	})
}

// onToolsChange wraps notify so that it is called only if a list of tools of the view changed. The view of everything
// always notifies, because it also has tools of no server.
func (v *view) onToolsChange(notify func(interop.Message)) func(interop.Message) {
	if v.scope.everything {
		return notify
	}
	changes := func() int {
		v.mu.Lock()
		kinds := slices.Collect(maps.Values(v.kinds))
		v.mu.Unlock()
		n := 0
		for _, k := range kinds {
			n += k.shown.changed()
		}
		return n
	}
	var mu sync.Mutex
	last := changes()
	return func(m interop.Message) {
		now := changes()
		mu.Lock()
		other := now != last
		last = now
		mu.Unlock()
		if other {
			notify(m)
		}
	}
}

// Info implements [host.Namer]: the serverInfo of a transparent view's server, or nil if the host's options apply.
func (v *view) Info() json.RawMessage {
	if !v.transparent {
		return nil
	}
	return v.gateway.lists.Description(v.scope.server).Info
}

// Settle waits until the tools for p are complete. It implements [host.Settler].
func (v *view) Settle(ctx context.Context, p toolbox.Principal) {
	if s, ok := v.plainKind.tools.(host.Settler); ok {
		s.Settle(ctx, p)
	}
}

// CheckHeader compares the Mcp-Param-* headers of a call with its params. It implements [host.HeaderChecker].
func (v *view) CheckHeader(ctx context.Context, m interop.Message, h http.Header) error {
	if c, ok := v.toolsKind(v.requesterOf(ctx, m)).tools.(host.HeaderChecker); ok {
		return c.CheckHeader(ctx, m, h)
	}
	return nil
}
