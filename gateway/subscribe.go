package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/gateway/internal/search"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// Subscribe implements [host.Subscriber]. It subscribes at the server that has the resource. If no server lists the
// resource, it subscribes at every server that agrees.
func (v *view) Subscribe(
	ctx context.Context, m interop.Message, uri string, notify func(interop.Message),
) (stop func(), err error) {
	ctx, x, err := v.begin(ctx, m)
	if err != nil {
		return nil, err
	}
	ctx = interop.WithClient(ctx, m.Client)
	_, err = x.handle(ctx, func(ctx context.Context) (json.RawMessage, error) {
		stop, err = v.subscribe(ctx, m, uri, notify)
		return nil, err
	})
	if err != nil && stop != nil { // it could not be recorded
		stop()
		stop = nil
	}
	return stop, err
}

func (v *view) subscribe(
	ctx context.Context, m interop.Message, uri string, notify func(interop.Message),
) (stop func(), err error) {
	requester := requesterOf(ctx)
	owners := v.ownersOf(ctx, []string{"resources", "subscribe"}, requester, uri)
	if len(owners) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, search.Wait)
		defer cancel()
	}
	stops, failed := make([]func(), len(owners)), v.unknownURI(m, uri)
	x := exchangeOf(ctx)
	var subscribing sync.WaitGroup
	for i, owner := range owners {
		it := Access{Item: partItem(nil, methods.ByURI, owner), Action: ActionSubscribe}
		if _, refused := x.admit(ctx, &it); refused != nil { // as if it were not there, unless a limit refuses it
			if refused.Retry > 0 {
				_, failed = refused.answer(m, nil)
			}
			continue
		}
		subscribing.Go(func() {
			stop, err := v.gateway.attached.Fleet.Subscribe(ctx, owner.server, owner.own, m.Caller, func(n interop.Message) {
				permitted := func(uri string) bool {
					return x.permits(ActionSubscribe, partItem(nil, methods.ByURI, ownName{owner.server, uri}))
				}
				if !permitted(owner.own) {
					return // the policy changed
				}
				n.Params = wire.EditStrings(n.Params, []string{"uri"}, func(updated string) string {
					if updated != owner.own && !permitted(updated) {
						return owner.own
					}
					return updated
				})
				n.Params = v.rewriteUpdate(owner, uri, requester, n.Params)
				notify(n)
			})
			stops[i] = stop
			if err != nil && len(owners) == 1 {
				failed = err
			}
		})
	}
	subscribing.Wait()
	if len(owners) == 0 {
		_ = v.unlistedURI(ctx, m, ActionSubscribe, uri)
	}
	stops = slices.DeleteFunc(stops, func(stop func()) bool { return stop == nil })
	if len(stops) == 0 {
		return nil, failed
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}, nil
}

// Unsubscribe answers for a resource to which the client is not subscribed, in the way the resource's server answers.
func (v *view) Unsubscribe(ctx context.Context, m interop.Message, uri string) error {
	ctx, x, err := v.begin(ctx, m)
	if err != nil {
		return err
	}
	_, err = x.handle(ctx, func(ctx context.Context) (json.RawMessage, error) {
		if err := x.checkSpelling(); err != nil {
			return nil, err
		}
		return nil, v.unsubscribe(ctx, m, uri)
	})
	return err
}

func (v *view) unsubscribe(ctx context.Context, m interop.Message, uri string) error {
	owners := v.ownersOf(ctx, []string{"resources"}, requesterOf(ctx), uri)
	subscribes := func(owner ownName) bool {
		return v.gateway.lists.Declares(owner.server, []string{"resources", "subscribe"})
	}
	if len(owners) == 1 { // more of them are not asked
		it := Access{Item: partItem(nil, methods.ByURI, owners[0]), Action: ActionSubscribe, Continues: true}
		if _, refused := exchangeOf(ctx).admit(ctx, &it); refused != nil {
			return v.unknownURI(m, uri)
		}
	}
	switch {
	case len(owners) == 0:
		return v.unlistedURI(ctx, m, ActionSubscribe, uri)
	case !slices.ContainsFunc(owners, subscribes):
		return protocol.MethodNotFound(m.Method)
	case len(owners) > 1: // no server lists it
		return v.unknownURI(m, uri)
	}
	params, err := wire.Rewrite(m.Params, wire.Edit{Key: "uri", Value: wire.Quote(owners[0].own)})
	if err != nil {
		return protocol.InvalidParams(m.Method, "%v", err)
	}
	m.Params = params
	return v.gateway.attached.Fleet.Unsubscribe(interop.WithClient(ctx, m.Client), owners[0].server, owners[0].own, m)
}

// rewriteUpdate rewrites a server's update to use the URI under which the view has the resource. The server may name a
// part of the resource. If that part is not in the view, the update names the resource.
func (v *view) rewriteUpdate(
	owner ownName, requested string, requester listRequester, params json.RawMessage,
) json.RawMessage {
	if v.scope.server != "" {
		return params
	}
	return wire.EditStrings(params, []string{"uri"}, func(uri string) string {
		switch {
		case uri == owner.own, (v.isPartial() || requester.kind.rights != nil) &&
			!v.admits(requester, nil, v.pagesFor(requester), methods.ByURI, ownName{owner.server, uri}):
			return requested
		case requested != owner.own:
			return protocol.OwnedURI(owner.server, uri)
		}
		list := v.mergedFor(context.Background(), v.gateway.table["resources/list"], requester, false)
		if name, ok := list.viewNames[ownName{owner.server, uri}]; ok {
			return name
		}
		if other, ok := list.byName[uri]; ok && other.server != owner.server {
			return protocol.OwnedURI(owner.server, uri)
		}
		return uri
	})
}
