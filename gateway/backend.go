package gateway

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

var _ host.Backend = (*view)(nil)

// Handle implements [host.Backend]: what becomes of a request says its row in methods.
func (v *view) Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	return v.relayed(ctx, m, back, v.handle)
}

func (v *view) handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	return v.tools.Handle(interop.WithClient(ctx, m.Client), m, back)
}

// Watch implements [host.Backend].
func (v *view) Watch(notify func(interop.Message)) (stop func()) { return v.tools.Watch(notify) }

// Settle waits until what p is shown is complete; see [host.NewFront].
func (v *view) Settle(ctx context.Context, p toolbox.Principal) {
	if s, ok := v.tools.(interface {
		Settle(context.Context, toolbox.Principal)
	}); ok {
		s.Settle(ctx, p)
	}
}

// CheckHeader compares the Mcp-Param-* headers of a call with its params; see [host.NewFront].
func (v *view) CheckHeader(m interop.Message, h http.Header) error {
	if c, ok := v.tools.(interface {
		CheckHeader(interop.Message, http.Header) error
	}); ok {
		return c.CheckHeader(m, h)
	}
	return nil
}
