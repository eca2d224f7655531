package identity

import (
	"context"
	"net/http"
	"sync/atomic"
)

// carrierKey is the key of a carrier in a context.
type carrierKey struct{}

// carrier holds the identity of one request. It is nil until [Guard.Authenticate] has admitted the request. The latest
// admission counts: a stream that stays open is authenticated again.
type carrier struct{ identity atomic.Pointer[Identity] }

// Carry returns a handler that lets requests carry their identity to next. [Guard.Authenticate] and [Guard.Principal]
// store the identity of a request that they admit in its context, and [FromContext] returns it. If Authenticate is
// called again for an open stream, FromContext returns the new identity from then on. Handlers of host.Host and
// gateway.Gateway keep the context of the request. gateway.Gateway and [Guard.Handler] do this themselves.
func Carry(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, Carrying(r))
	})
}

// Carrying returns a request that carries its identity, as [Carry] passes it to a handler.
func Carrying(r *http.Request) *http.Request {
	if carrierOf(r.Context()) != nil { // it keeps the carrier that it has
		return r
	}
	return r.WithContext(NewContext(r.Context(), nil))
}

func carrierOf(ctx context.Context) *carrier {
	c, _ := ctx.Value(carrierKey{}).(*carrier)
	return c
}

// NewContext returns a context with an identity, for requests that a program sends for a caller itself. With a nil id,
// it has none.
func NewContext(ctx context.Context, id *Identity) context.Context {
	c := &carrier{}
	c.identity.Store(id)
	return context.WithValue(ctx, carrierKey{}, c)
}

// store stores the identity of an admitted request, if the request has a carrier.
func store(ctx context.Context, id *Identity) {
	if c := carrierOf(ctx); c != nil {
		c.identity.Store(id)
	}
}

// FromContext returns the identity of the request that ctx belongs to. It returns nil if no [Guard] has admitted the
// request, or if the request did not pass [Carry] or [Guard.Handler], as on stdio. Nil alone does not mean that the
// caller is the local user: the principal of the request does. A host passes the principal with each message. Use the
// rights of the identity only if its Principal equals that principal.
func FromContext(ctx context.Context) *Identity {
	if c := carrierOf(ctx); c != nil {
		return c.identity.Load()
	}
	return nil
}
