package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// Subscribe implements [host.Subscriber]. It subscribes at the server that has the resource. If no server lists the
// resource, it subscribes at every server that agrees.
func (v *view) Subscribe(ctx context.Context, m interop.Message, uri string, updated func(interop.Message)) (stop func(), err error) {
	who := v.askerOf(m.Caller, m.Client)
	ctx = interop.WithClient(ctx, m.Client)
	owners := v.ownersOf(ctx, []string{"resources", "subscribe"}, who, uri)
	if len(owners) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askWait)
		defer cancel()
	}
	stops, failed := make([]func(), len(owners)), v.unknownURI(m, uri)
	var asking sync.WaitGroup
	for i, of := range owners {
		asking.Go(func() {
			stop, err := v.gateway.attached.Fleet.Subscribe(ctx, of.server, of.own, m.Caller, func(n interop.Message) {
				n.Params = v.updateOf(of, uri, who, n.Params)
				updated(n)
			})
			if stops[i] = stop; err != nil && len(owners) == 1 {
				failed = err
			}
		})
	}
	asking.Wait()
	var agreed []func()
	for _, stop := range stops {
		if stop != nil {
			agreed = append(agreed, stop)
		}
	}
	if agreed == nil {
		return nil, failed
	}
	return func() {
		for _, stop := range agreed {
			stop()
		}
	}, nil
}

// Unsubscribe answers for a resource to which the client is not subscribed, in the way the resource's server answers.
func (v *view) Unsubscribe(ctx context.Context, m interop.Message, uri string) error {
	owners := v.ownersOf(ctx, []string{"resources"}, v.askerOf(m.Caller, m.Client), uri)
	switch {
	case len(owners) == 0:
		return v.unknownURI(m, uri)
	case !slices.ContainsFunc(owners, func(of ownName) bool { return v.gateway.declares(of.server, []string{"resources", "subscribe"}) }):
		return methodNotFound(m)
	case len(owners) > 1: // no server lists it
		return v.unknownURI(m, uri)
	}
	params, err := wire.Rewrite(m.Params, wire.Edit{Key: "uri", Value: wire.Quote(owners[0].own)})
	if err != nil {
		return invalidParams(m, "%v", err)
	}
	m.Params = params
	return v.gateway.attached.Fleet.Unsubscribe(interop.WithClient(ctx, m.Client), owners[0].server, owners[0].own, m)
}

// updateOf rewrites a server's update to use the URI under which the view has the resource. The server may name a part
// of the resource. If that part is not in the view, the update names the resource.
func (v *view) updateOf(of ownName, called string, who asker, params json.RawMessage) json.RawMessage {
	if v.scope.server != "" {
		return params
	}
	return wire.EditStrings(params, []string{"uri"}, func(uri string) string {
		switch {
		case uri == of.own, v.isPartial() && !v.admits(v.pagesFor(who), byURI, ownName{of.server, uri}):
			return called
		case called != of.own:
			return protocol.OwnedURI(of.server, uri)
		}
		list := v.merged(context.Background(), v.gateway.table["resources/list"], who, false)
		if name, ok := list.names[ownName{of.server, uri}]; ok {
			return name
		}
		if other, ok := list.byName[uri]; ok && other.server != of.server {
			return protocol.OwnedURI(of.server, uri)
		}
		return uri
	})
}
