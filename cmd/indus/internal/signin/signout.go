package signin

import (
	"context"
	"slices"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/oauth"
)

// SignOut forgets who's sign-in to a server. It reports whether there was one; the error may be of the
// authorization server alone, and then it is forgotten here all the same.
func (t *Tokens) SignOut(ctx context.Context, s interop.Server, address, who string) (had bool, err error) {
	if t.store == nil {
		return false, nil
	}
	resource, err := oauth.Resource(address)
	if err != nil {
		return false, err
	}
	value, err := t.store.Get(ctx, oauth.Key{Resource: resource, Principal: who})
	if err != nil || value == nil {
		return false, err
	}
	c, err := t.client(s)
	if err != nil {
		return true, err
	}
	return true, c.SignOut(ctx, resource, who)
}

// SignedIn is a sign-in that is kept.
type SignedIn struct {
	Resource, Principal string
	oauth.Status
}

// All are the sign-ins that are kept.
func (t *Tokens) All(ctx context.Context) (out []SignedIn, err error) {
	if t.store == nil {
		return nil, nil
	}
	keys, err := t.store.Keys(ctx)
	for _, k := range keys {
		if k.Resource == "" || k.Client != "" {
			continue
		}
		value, err := t.store.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		out = append(out, SignedIn{k.Resource, k.Principal, oauth.StatusOf(value)})
	}
	return out, err
}

// Principals are the sign-ins of callers to a server that is called with theirs; nil where it is not.
func (t *Tokens) Principals(ctx context.Context, s interop.Server) ([]SignedIn, error) {
	if s.Pool.Per != interop.PerPrincipal {
		return nil, nil
	}
	all, err := t.All(ctx)
	return slices.DeleteFunc(all, func(o SignedIn) bool { return o.Principal == "" || !IsAt(s, o.Resource) }), err
}

// IsAt reports a server whose sign-ins are kept for a resource.
func IsAt(s interop.Server, resource string) bool {
	address, ok := Address(s)
	own, err := oauth.Resource(address)
	return ok && err == nil && own == resource
}

// Wants asks a server whether it leads to a sign-in.
func (t *Tokens) Wants(ctx context.Context, s interop.Server) (bool, error) {
	address, _ := Address(s)
	c, err := t.client(s)
	if err != nil {
		return false, err
	}
	d, err := c.Discover(ctx, address)
	return err == nil && !(d.Legacy && d.Assumed), err
}
