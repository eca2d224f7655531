package gateway

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// Subscribe is what [host.NewFront] describes: updates of a resource of the view, from the server
// that has it. Where nobody lists it, each server that agrees may be the one.
func (v *view) Subscribe(ctx context.Context, m interop.Message, uri string, updated func(interop.Message)) (stop func(), err error) {
	ctx = interop.WithClient(ctx, m.Client)
	owners := []ownName{{v.scope.single(), uri}}
	if owners[0].server == "" {
		owners = v.ownersOf(ctx, v.gateway.table["resources/subscribe"], m.Caller, uri)
	}
	if len(owners) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askWait)
		defer cancel()
	}
	stops, failed := make([]func(), len(owners)), unknownURI(m, uri)
	var asking sync.WaitGroup
	for i, of := range owners {
		asking.Go(func() {
			stop, err := v.gateway.attached.Fleet.Subscribe(ctx, of.server, of.own, m.Caller, func(n interop.Message) {
				n.Params = v.updateOf(of, uri, m.Caller, n.Params)
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

// updateOf is a server's update for who subscribed to what is called so in the view. The URI is that
// of the resource, or of a part of it.
func (v *view) updateOf(of ownName, called string, caller toolbox.Principal, params json.RawMessage) json.RawMessage {
	if v.scope.single() != "" {
		return params
	}
	return editStrings(params, []string{"uri"}, func(uri string) string {
		switch {
		case uri == of.own:
			return called
		case called != of.own:
			return ownedURI(of.server, uri)
		}
		list := v.merged(context.Background(), v.gateway.table["resources/list"], caller, false)
		if name, ok := list.names[ownName{of.server, uri}]; ok {
			return name
		}
		if other, ok := list.byName[uri]; ok && other.server != of.server {
			return ownedURI(of.server, uri)
		}
		return uri
	})
}
