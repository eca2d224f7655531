package identity

import (
	"context"
	"net/http"

	"github.com/indusagi/indus/internal/carried"
)

// Carry returns a handler that lets requests carry their identity to next. [Guard.Authenticate] and [Guard.Principal]
// store the identity of a request that they admit in its context, and [FromContext] returns it. If Authenticate is
// called again for an open stream, FromContext returns the new identity from then on. Handlers of host.Host and
// gateway.Gateway keep the context of the request. gateway.Gateway and [Guard.Handler] do this themselves.
func Carry(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, Carrying(r))
	})
}

// Carrying returns a request that carries its identity, as [Carry] passes it to a handler. The latest admission counts:
// a stream that stays open is authenticated again.
func Carrying(r *http.Request) *http.Request { return carried.Request(r) }

// NewContext returns a context with an identity, for requests that a program sends for a caller itself. With a nil id,
// it has none.
func NewContext(ctx context.Context, id *Identity) context.Context {
	return carried.NewContext(ctx, id)
}

// FromContext returns the identity of the request that ctx belongs to. It returns nil if no [Guard] has admitted the
// request, or if the request did not pass [Carry] or [Guard.Handler], as on stdio. Nil alone does not mean that the
// caller is the local user: the principal of the request does. A host passes the principal with each message. Use the
// rights of the identity only if its Principal equals that principal.
func FromContext(ctx context.Context) *Identity {
	id, _ := carried.Value(ctx).(*Identity)
	return id
}
